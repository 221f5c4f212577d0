"""Reads this machine's /proc, and its accept queues and queueing disciplines from the kernel, in a separate thread.

Proportional memory is read in a second thread: the kernel takes a lock of the process for it that a process deep in
swap can hold for long, and a sample must not wait for that. Its texts come with a later reading.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from collectors import host_names
from collectors.errors import TransportError
from collectors.linux.locks import OPEN_FILES
from collectors.linux.peers import CLOCKS
from collectors.linux.profile import LIMIT_S
from collectors.linux.queueing import QDISCS
from collectors.linux.sockets import FEW, HELD, HOLDERS, LISTENERS, LISTENING, OPEN
from collectors.linux.unix_sockets import STREAMS
from collectors.machine import IDLE_EVERY, Missing, Reading, Request, Wanted
from collectors.parsing import pids as pids_among
from collectors.transport import files as file_system
from collectors.transport import network_of_process, rtnetlink, sock_diag, unix_diag
from collectors.transport.exchange import exchange, itself, no_other_way
from collectors.transport.shell.frames import profiler
from collectors.transport.status_client import StatusClient
from collectors.transport.tcp_clocks import TcpClocks
from collectors.transport.thread_looks import ThreadLooks
from loadtop.model import PROFILE_S
from loadtop.model.places import LOCAL

_STAT_BYTES = 4096
_NEW_THREADS = 500  # that are read of a process before it is known how many it has: anyone can start thousands


class LocalTransport:
    """``root`` is a directory with the ``/proc`` and ``/sys`` of tests."""

    def __init__(self, *, root: str = "") -> None:
        self._root = root
        self._own = frozenset((os.getpid(),))
        self._page_kb = os.sysconf("SC_PAGE_SIZE") // 1024
        self.source = LOCAL
        self._reader = ThreadPoolExecutor(1, "loadtop-proc")
        self._pss_reader = ThreadPoolExecutor(1, "loadtop-pss")
        self._pss: Future[dict[int, str | Missing]] | None = None
        self._turn = 0
        self._waits_read: dict[int, str] = {}
        self._threads = ThreadLooks(root)
        self._clocks = TcpClocks(beside=self._threads.look)
        self._of_the_kernel = {
            QDISCS: rtnetlink.disciplines,
            CLOCKS: self._clocks.text,
            STREAMS.path: unix_diag.streams,
        }
        self._client = StatusClient()
        self.fetch, self.ask, self.ask_again, self.reach = self._client.get, exchange, no_other_way, itself

    async def read(self, request: Request) -> Reading:
        pss: dict[int, str | Missing] = {}
        if request.processes and self._pss is not None and self._pss.done():
            pss, self._pss = self._pss.result(), None
        if request.pss and self._pss is None:
            self._pss = self._pss_reader.submit(self._read_pss, request.pss)
        loop = asyncio.get_running_loop()
        try:
            # Other requests have threads of their own: a sample does not wait for a resolver.
            return await loop.run_in_executor(self._reader if request.processes else None, self._read, request, pss)
        except OSError as error:
            raise TransportError(
                "cannot read {path}: {error}", path=f"{self._root}/proc", error=error.strerror
            ) from error

    async def profile(self, pids: Sequence[int]) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *("sh", "-c", profiler(), "sh", *map(str, (os.getpid(), PROFILE_S, *pids))),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise TransportError("cannot run {program}: {error}", program="sh", error=error.strerror) from None
        try:
            async with asyncio.timeout(LIMIT_S):
                printed, _ = await process.communicate()
        except TimeoutError:
            raise TransportError("no response for {seconds:.0f} s", seconds=LIMIT_S) from None
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return printed.decode("utf-8", "replace")

    async def close(self) -> None:
        self._clocks.close()
        await self._client.close()
        self._reader.shutdown(wait=False, cancel_futures=True)
        self._pss_reader.shutdown(wait=False, cancel_futures=True)

    def _read(self, request: Request, pss: dict[int, str | Missing]) -> Reading:
        files: dict[str, str | Missing] = {}
        seconds: dict[str, float] = {}
        self._clocks.tested = request.ports
        at = time.clock_gettime(time.CLOCK_BOOTTIME)
        before = time.perf_counter()
        for wanted in request.files:
            files[wanted.path] = self._text(wanted, request.ports)
            now = time.perf_counter()
            seconds[wanted.path], before = now - before, now
        if not request.processes:
            return Reading(at, files, self._page_kb, own=self._own, seconds=seconds)
        with os.scandir(f"{self._root}/proc") as entries:
            pids = pids_among(entry.name for entry in entries)
        texts: dict[int, str] = {}
        self._turn += 1
        for pid in pids:
            if pid in request.asleep and (pid + self._turn) % IDLE_EVERY:
                continue
            text = file_system.read_whole(f"{self._root}/proc/{pid}/stat", _STAT_BYTES, once=True)
            if isinstance(text, str):
                texts[pid] = text
        waits = {  # one thread is always read: it is one small file, and many run for less than a tick
            pid: self._schedstats(pid, threads)
            for pid, threads in request.waits.items()
            if pid in texts and (threads == 1 or texts[pid] != self._waits_read.get(pid))
        }
        self._waits_read = {pid: texts[pid] for pid in request.waits.keys() & texts.keys()}
        wchan = self._threads.exchange(request.threads)
        seconds["/proc/PID/stat"] = time.perf_counter() - before
        return Reading(at, files, self._page_kb, texts, pids, pss, self._own, seconds, waits, wchan)

    def _schedstats(self, pid: int, threads: int) -> str:
        """A line for each thread of a process, as in :class:`~collectors.machine.Reading`."""
        directory = f"{self._root}/proc/{pid}/task"
        try:
            tasks = os.listdir(directory) if threads > 1 else [str(pid)]  # noqa: PTH208 - many, often
        except OSError:
            return ""
        if len(tasks) > threads + _NEW_THREADS:
            return ""
        texts = {
            task: file_system.read_whole(f"{directory}/{task}/schedstat", _STAT_BYTES, once=True) for task in tasks
        }
        return "".join(f"{task} {text}" for task, text in texts.items() if isinstance(text, str))

    def _text(self, wanted: Wanted, ports: frozenset[int]) -> str | Missing:
        what, words = wanted.made_of
        ask = self._of_the_kernel.get(wanted.path)
        if wanted.path == LISTENERS:
            ask = partial(sock_diag.listeners, ports)
        elif what == QDISCS and words:
            ask = partial(network_of_process.run, words, rtnetlink.disciplines)
        if ask is None or self._root:
            return text_of(wanted, self._root, ports)
        try:
            return ask()[: wanted.limit]
        except OSError as error:
            return file_system.missing(error)

    def _read_pss(self, pids: tuple[int, ...]) -> dict[int, str | Missing]:
        path = f"{self._root}/proc/{{}}/smaps_rollup"
        return {pid: file_system.read_whole(path.format(pid), _STAT_BYTES, once=True) for pid in pids}


def text_of(wanted: Wanted, root: str = "", ports: Collection[int] = ()) -> str | Missing:
    """A file, a directory of links, addresses of a name, files that processes have open, or open sockets (first those
    at ``ports``) and who holds them."""
    what, words = wanted.made_of
    if not what:
        return file_system.read(wanted, root)
    if what == HOLDERS and words:
        return file_system.holders(words.split(","), root)
    if what == HELD and words:
        return file_system.held_by(words.split(","), root)
    if what == OPEN_FILES and words:
        return file_system.open_files(words.split(","), root)
    if what in (OPEN, FEW, LISTENING):
        with contextlib.suppress(OSError):
            if not root:
                return sock_diag.open_sockets(
                    f"/{words}", wanted.limit, ports, listening=what == LISTENING, few=what == FEW
                )
        return file_system.open_sockets(f"/{words}", wanted.limit, root)
    if what == host_names.RESOLVER and not root:
        return host_names.resolved_here(words)
    return Missing("not available here")
