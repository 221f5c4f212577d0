"""Reads a remote host through a shell there: one process that leads to it, one round trip per reading.

Nothing is copied there. A lost connection is made again with growing pauses; until then each reading fails with the
reason. How the shell is started, and how its machine's servers are reached, is that of SSH or of a command.
"""

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from collectors.errors import FetchError, TransportError
from collectors.linux.peers import CLOCKS
from collectors.linux.profile import LIMIT_S
from collectors.linux.sockets import LISTENERS, TABLES
from collectors.machine import Missing, Page, Reading, Request
from collectors.transport.shell import frames
from collectors.transport.shell.connection import CONNECT_S, ShellConnection
from collectors.transport.shell.frames import Kept, Orders, RemoteShell
from collectors.transport.shell.pages import RemotePages
from collectors.transport.shell.questions import Questions
from collectors.transport.shell.remote_clocks import RemoteClocks
from collectors.transport.status_client import plain_request
from loadtop.i18n import Message
from loadtop.model import PROFILE_S

ANSWER_S = 30.0  # a shell that takes longer is given up; OpenSSH itself finds out within 15 s that a connection is dead
PAUSES_S = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
SOCKETS_EVERY_S = 10.0
"""Accept queues are read that often where no perl can ask the kernel for them: to start ``ss``, or to walk the kernel's
table of connections, costs as much as all the rest. With perl they come with every sample."""

PSS_EVERY = 20  # samples after which proportional memory is asked for,
PSS_BATCH = 16  # or processes of which it is wanted
_SOCKETS = (LISTENERS, *(wanted.path for wanted in TABLES))


class ShellTransport(ABC):
    """One remote host. ``source`` is the place of it for people; ``names`` are names and addresses that lead to it
    from here, as far as they are known once it is connected. Where it may be ``published``, others can lead to it too,
    through a port that was mapped to one of a container."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.names: frozenset[str] = frozenset()
        self.published = False
        self._connection: ShellConnection | None = None
        self._pages: RemotePages | None = None
        self._remote = RemoteShell(0, 4, "")
        self._orders = Orders()
        self._questions = Questions()
        self._kept = Kept()
        self._heard = True
        self._sockets: dict[str, str | Missing] = {}
        self._sockets_at = 0.0
        self._clocks = RemoteClocks()
        self._pss: asyncio.Future[str] | None = None
        self._pss_wanted: list[int] = []
        self._turn = 0
        self._problem: Message | None = None
        self._failures = 0
        self._again_at = 0.0
        self._lost = ""
        self._reading = asyncio.Lock()

    @abstractmethod
    async def start(self) -> tuple[ShellConnection, RemotePages]:
        """Start the loop there, and what brings pages from there. Raises :class:`TransportError`."""

    async def connect(self) -> None:
        """Connect for the first time. Raises :class:`TransportError`: one line with what to do."""
        try:
            await self.open(CONNECT_S)
        except TransportError as error:
            raise error.at(self.source) from None

    async def read(self, request: Request) -> Reading:
        async with self._reading:
            return await self._read(request)

    async def _read(self, request: Request) -> Reading:
        connection = self._connection or await self._reopen()
        sockets, clocks = self._sockets_due(request), self._clocks.due
        try:
            reading, unexplained = await self._exchange(connection, request, sockets=sockets, clocks=clocks)
            files = dict(reading.files)
            if unexplained:
                files |= await self._explain(connection, unexplained)
        except TransportError as error:
            raise await self._lose(error.message) from None
        self._failures = 0
        self._keep_sockets(request, files, fresh=sockets)
        if CLOCKS in files and self._remote.queues == "ss":
            files[CLOCKS] = self._clocks.add(files[CLOCKS] if clocks else None)
        pages = frozenset[int]() if self._pages is None else self._pages.pids
        own, page_kb = pages | {self._remote.pid}, self._remote.page_kb
        if not request.processes:
            return replace(reading, files=files, page_kb=page_kb, own=own)
        return replace(reading, files=files, page_kb=page_kb, own=own, pss=self._next_pss(connection, request))

    async def fetch(self, url: str, timeout_s: float) -> Page:
        page = await self._questions.page(url, timeout_s)
        if page is None:
            page = await self._pages_there().get(url, timeout_s)
            if request := plain_request(url):
                self._questions.answered(request[0])
        return page

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        answer = await self._questions.ask(address, question, timeout_s)
        if answer is None:
            answer = await self._pages_there().ask(address, question, timeout_s)
            self._questions.answered(address)
        return answer

    async def ask_again(self, address: str, question: bytes, replies: int, timeout_s: float) -> Page | None:
        return await self._questions.ask_again(address, question, replies, timeout_s)

    async def reach(self, address: str) -> str:
        return await self._pages_there().reach(address)

    def _pages_there(self) -> RemotePages:
        if self._pages is None:
            raise FetchError("no connection to the host")
        return self._pages

    async def profile(self, pids: Sequence[int]) -> str:
        if self._connection is None:
            raise TransportError("no connection to the host")
        connection = self._connection
        answer = connection.ask_beside("a", (PROFILE_S, *pids))
        await asyncio.wait((answer,), timeout=2 * LIMIT_S)
        if not answer.done():
            connection.give_up(answer)
            raise TransportError("no response for {seconds:.0f} s", seconds=2 * LIMIT_S)
        if answer.cancelled():
            raise TransportError("no connection to the host")
        return answer.result()

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        pages, self._pages = self._pages, None
        if pages is not None:
            with contextlib.suppress(OSError):
                await pages.close()
        if connection is not None:
            await asyncio.shield(connection.close())

    async def _exchange(
        self, connection: ShellConnection, request: Request, *, sockets: bool, clocks: bool
    ) -> tuple[Reading, list[str]]:
        """One frame. After one that was not read to its end (a cancelled reading), everything is sent again."""
        mark = connection.next_mark()
        queues = self._remote.queues
        orders = self._orders.sample(
            request,
            self._kept.pids,
            mark,
            sockets=sockets,
            queues=queues,
            clocks=clocks,
            questions=self._questions.orders() if request.processes else (),
        )
        if not self._heard:
            orders = f"n\n{orders}"
        self._heard = False
        complete: str | None = None
        try:
            frame = complete = await connection.exchange(orders, mark, ANSWER_S)
        finally:
            if request.processes:
                self._questions.settle(complete, mark)
        found = frames.parse_frame(frame, mark, request, self._kept)
        self._heard = True
        return found

    async def _explain(self, connection: ShellConnection, paths: Sequence[str]) -> dict[str, str | Missing]:
        """Read files that could not be read again, because the program that reads them gives no reason."""
        mark = connection.next_mark()
        frame = await connection.exchange(frames.second_look(paths, mark), mark, ANSWER_S)
        found = frames.parse_looked(frame)
        told = {path: found.get(path, Missing("cannot be read")) for path in paths}
        self._kept.instead |= told
        return told

    async def open(self, patience_s: float) -> ShellConnection:
        """Connect; the shell there has so long for its first answer. Raises :class:`TransportError`."""
        connection, pages = await self.start()
        async with contextlib.AsyncExitStack() as unfinished:  # also where the wait is cancelled, nothing continues
            unfinished.push_async_callback(connection.close)
            mark = connection.next_mark()
            answer = await connection.exchange(f"m {mark}\ni\nm {mark}.\n", mark, patience_s)
            self._remote = frames.parse_remote(answer)
            unfinished.pop_all()
        self._connection, self._pages = connection, pages
        self._questions = Questions(perl=self._remote.queues == "perl")
        self._orders, self._kept, self._heard = Orders(), Kept(), True
        self._pss, self._pss_wanted = None, []
        self._sockets, self._sockets_at, self._clocks = {}, 0.0, RemoteClocks()
        self._problem = None
        return connection

    async def _reopen(self) -> ShellConnection:
        if time.monotonic() < self._again_at:
            raise self._missing()
        try:
            return await self.open(CONNECT_S)
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
        wanted = [file.path for file in request.files if file.path in _SOCKETS]
        if not request.processes or not wanted:
            return False
        if self._remote.queues == "perl" or any(path not in self._sockets for path in wanted):
            return True
        return time.monotonic() - self._sockets_at >= SOCKETS_EVERY_S - 0.1

    def _keep_sockets(self, request: Request, files: dict[str, str | Missing], *, fresh: bool) -> None:
        """Between two readings of the accept queues the newest one stands."""
        if not request.processes:
            return
        wanted = [file.path for file in request.files if file.path in _SOCKETS]
        if fresh:
            self._sockets_at = time.monotonic()
            self._sockets = {path: files[path] for path in wanted}
            if self._remote.queues == "perl" and isinstance(files.get(LISTENERS), Missing):
                self._remote, self._sockets_at = replace(self._remote, queues="ss"), -SOCKETS_EVERY_S
        else:
            files.update({path: self._sockets[path] for path in wanted if path in self._sockets})

    def _next_pss(self, connection: ShellConnection, request: Request) -> Mapping[int, str | Missing]:
        """Ask for proportional memory, of several processes at a time because each question costs a process there.
        Returns the last answer, once."""
        told: Mapping[int, str | Missing] = {}
        if self._pss is not None and self._pss.done():
            told, self._pss = frames.parse_pss(self._pss.result()), None
        self._pss_wanted += [pid for pid in request.pss if pid not in self._pss_wanted]
        self._turn += 1
        due = self._turn % PSS_EVERY == 0 or len(self._pss_wanted) > PSS_BATCH
        if due and self._pss_wanted and self._pss is None:
            self._pss, self._pss_wanted = connection.ask_beside("b", self._pss_wanted), []
        return told
