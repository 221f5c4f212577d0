"""Reads a far machine over SSH: one process of OpenSSH's client, one channel, one round trip per reading.

Nothing is copied there. The user's own configuration holds: aliases, jump hosts, agent, known_hosts; host keys are
always checked. A lost connection is made again with growing pauses; until then each reading fails with the reason.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace

from collectors.errors import FetchError, TransportError
from collectors.linux.sockets import LISTENERS, TABLES
from collectors.machine import Missing, Page, Reading, Request
from collectors.transport.shell import frames
from collectors.transport.shell.frames import Far, Kept, Orders
from collectors.transport.ssh.connection import ASK_S, ASKING, CONNECT_S, Prompt, SshLine, terminal_prompt
from collectors.transport.ssh.forwarding import FarPages
from loadtop.i18n import Message

SILENCE_S = 30.0  # then a far shell is given up. OpenSSH itself finds out within 15 s that a line is dead
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
SOCKETS_EVERY_S = 10.0
"""Accept queues are read that often where no perl can ask the kernel for them: to start ``ss``, or to walk the kernel's
table of connections, costs as much as all the rest. With perl they come with every sample."""

PSS_EVERY = 20  # samples after which proportional memory is asked for,
PSS_BATCH = 16  # or processes of which it is wanted
_SOCKETS = (LISTENERS, *(wanted.path for wanted in TABLES))


class DeniedError(TransportError):
    """Nothing that needs no answer of the user opens the machine."""


class SshTransport:
    """One far machine: ``place`` is ``ssh://[USER@]HOST[:PORT]``, ``ssh`` the client's command with any options."""

    def __init__(self, place: str, *, ssh: Sequence[str] = ("ssh",)) -> None:
        self.source = place
        self.address = ""  # the name or address that ssh connects to; empty before the first connection
        self._ssh = tuple(ssh)
        self._line: SshLine | None = None
        self._pages: FarPages | None = None
        self._far = Far(0, 4, "")
        self._orders = Orders()
        self._kept = Kept()
        self._heard = True
        self._sockets: dict[str, str | Missing] = {}
        self._sockets_at = 0.0
        self._pss_wanted: list[int] = []
        self._turn = 0
        self._problem: Message | None = None
        self._failures = 0
        self._again_at = 0.0
        self._lost = ""

    async def connect(self) -> None:
        """Connect for the first time. Where that needs a password or a second factor and there is a terminal, ssh asks
        on it. Raises :class:`TransportError`: one line with what to do."""
        try:
            try:
                await self._open()
            except DeniedError:
                async with ASKING:
                    with terminal_prompt() as terminal:
                        if terminal is None:
                            raise
                        await self._open(terminal)
        except TransportError as error:
            raise error.at(self.source) from None

    async def read(self, request: Request) -> Reading:
        line = self._line or await self._reopen()
        sockets = self._sockets_due(request)
        try:
            reading, unexplained = await self._exchange(line, request, sockets=sockets)
            files = dict(reading.files)
            if unexplained:
                files |= await self._explain(line, unexplained)
        except TransportError as error:
            raise await self._lose(error.message) from None
        self._failures = 0
        self._keep_sockets(request, files, fresh=sockets)
        own, page_kb = frozenset((self._far.pid,)), self._far.page_kb
        if not request.processes:
            return replace(reading, files=files, page_kb=page_kb, own=own)
        self._ask_pss(line, request)
        return replace(reading, files=files, page_kb=page_kb, own=own, pss=line.take_pss())

    async def fetch(self, url: str, timeout_s: float) -> Page:
        if self._pages is None:
            raise FetchError("no connection to the machine")
        return await self._pages.get(url, timeout_s)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        if self._pages is None:
            raise FetchError("no connection to the machine")
        return await self._pages.ask(address, question, timeout_s)

    async def reach(self, address: str) -> str:
        if self._pages is None:
            raise FetchError("no connection to the machine")
        return await self._pages.reach(address)

    async def close(self) -> None:
        line, self._line = self._line, None
        pages, self._pages = self._pages, None
        if pages is not None:
            with contextlib.suppress(OSError):
                await pages.close()
        if line is not None:
            await asyncio.shield(line.close())

    async def _exchange(self, line: SshLine, request: Request, *, sockets: bool) -> tuple[Reading, list[str]]:
        """One frame. After one that was not read to its end (a cancelled reading), everything is sent anew."""
        mark = line.next_mark()
        orders = self._orders.sample(request, self._kept.pids, mark, sockets=sockets, queues=self._far.queues)
        if not self._heard:
            orders = f"n\n{orders}"
        self._heard = False
        frame = await line.exchange(orders, mark, SILENCE_S)
        found = frames.parse_frame(frame, mark, request, self._kept)
        self._heard = True
        return found

    async def _explain(self, line: SshLine, paths: Sequence[str]) -> dict[str, str | Missing]:
        """Look again at files that awk could not read, because it does not tell why."""
        mark = line.next_mark()
        frame = await line.exchange(frames.second_look(paths, mark), mark, SILENCE_S)
        found = frames.parse_looked(frame)
        told = {path: found.get(path, Missing("cannot be read")) for path in paths}
        self._kept.instead |= told
        return told

    async def _open(self, terminal: Prompt | None = None) -> SshLine:
        line = await SshLine.open(self.source, self._ssh, terminal)
        try:
            async with contextlib.AsyncExitStack() as unfinished:  # also where the wait is cancelled, nothing goes on
                unfinished.push_async_callback(line.close)
                mark = line.next_mark()
                patience = CONNECT_S if terminal is None else ASK_S
                answer = await line.exchange(f"m {mark}\ni\nm {mark}.\n", mark, patience)
                self._far = frames.parse_far(answer)
                unfinished.pop_all()
        except TransportError as error:
            denied = any("Permission denied" in message for message in line.messages)
            raise (DeniedError(error.message, fix=error.fix) if denied else error) from None
        self._line = line
        self.address = line.control.address
        self._pages = FarPages(line, self._ssh)
        self._orders, self._kept, self._heard, self._pss_wanted = Orders(), Kept(), True, []
        self._sockets, self._sockets_at = {}, 0.0
        self._problem = None
        return line

    async def _reopen(self) -> SshLine:
        if time.monotonic() < self._again_at:
            raise self._missing()
        try:
            return await self._open()
        except TransportError as error:
            raise await self._lose(error.message) from None

    async def _lose(self, problem: Message) -> TransportError:
        """Note the problem, and when to try again."""
        if self._problem is None:
            self._lost = time.strftime("%H:%M:%S")
        self._problem = problem
        self._again_at = time.monotonic() + PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures += 1
        await self.close()
        return self._missing()

    def _missing(self) -> TransportError:
        return TransportError(
            "no connection since {time}: {why}; retry in {seconds:.0f} s",
            time=self._lost,
            why=self._problem,
            seconds=max(0.0, self._again_at - time.monotonic()),
        )

    def _sockets_due(self, request: Request) -> bool:
        if not request.processes or not any(file.path in _SOCKETS for file in request.files):
            return False
        return self._far.queues == "perl" or time.monotonic() - self._sockets_at >= SOCKETS_EVERY_S - 0.1

    def _keep_sockets(self, request: Request, files: dict[str, str | Missing], *, fresh: bool) -> None:
        """Between two readings of the accept queues the newest one stands."""
        if not request.processes:
            return
        wanted = [file.path for file in request.files if file.path in _SOCKETS]
        if fresh:
            self._sockets_at = time.monotonic()
            self._sockets = {path: files[path] for path in wanted}
            if self._far.queues == "perl" and isinstance(files.get(LISTENERS), Missing):
                self._far, self._sockets_at = replace(self._far, queues="ss"), -SOCKETS_EVERY_S
        else:
            files.update({path: self._sockets[path] for path in wanted if path in self._sockets})

    def _ask_pss(self, line: SshLine, request: Request) -> None:
        """Several at a time, because each question costs a process there."""
        self._pss_wanted += [pid for pid in request.pss if pid not in self._pss_wanted]
        self._turn += 1
        due = self._turn % PSS_EVERY == 0 or len(self._pss_wanted) > PSS_BATCH
        if due and self._pss_wanted and not line.pss_asked:
            line.ask_pss(self._pss_wanted)
            self._pss_wanted = []
