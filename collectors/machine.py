"""A machine that can be sampled; and the one whose samples are parsed from texts of /proc, near or far."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from collectors.cgroup_watch import CgroupWatch
from collectors.errors import AbsentError, ParseError
from collectors.linux import cpu, disks, facts, load, memory, networks, paging, pressure, tcp
from collectors.linux.process_table import ProcessTable
from collectors.page import Page
from collectors.reading import Missing, Reading, Request, Wanted
from collectors.transport import Transport
from loadtop.model import HostFacts, HostSample, Outcome, State
from loadtop.servers.apache.record import GROUP as HTTPD

T = TypeVar("T")
_STATS = "/proc/PID/stat"
_ALWAYS = (
    *cpu.FILES,
    *paging.FILES,
    *disks.FILES,
    *networks.FILES,
    *pressure.FILES,
    *memory.FILES,
    Wanted(load.LOADAVG),
    *tcp.COUNTERS,
    Wanted(tcp.LISTENERS),
)
"""The files of every sample."""

SLOW_EVERY = 30
"""Line speeds and the list of whole disks are read again after this many samples, or when a new device shows."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a process listens: an address (``0.0.0.0`` and ``::`` are all of them) and a port."""

    address: str
    port: int


class Machine(Protocol):
    """One machine. Calls of :meth:`sample` do not overlap; the others may run beside it."""

    async def sample(self) -> HostSample:
        """Everything but servers' pages, with an empty name. Raises :class:`~collectors.errors.TransportError`."""
        ...

    def servers(self, group: str) -> tuple[int, ...]:
        """The first process of each running server of a group, as of the newest sample."""
        ...

    def tested(self, group: str) -> tuple[int, ...]:
        """The same without those that were set aside."""
        ...

    def set_aside(self, pids: frozenset[int]) -> None:
        """Take the servers with these first processes for others than those under test from the next sample on."""
        ...

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        """Where a process listens, as far as that may be read."""
        ...

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """A page, fetched from that machine. Raises :class:`~collectors.errors.FetchError`."""
        ...

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        """All that a stream socket of that machine answers: ``HOST:PORT``, or the path of a unix socket. Raises
        :class:`~collectors.errors.FetchError`."""
        ...

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        """The texts of files now, by path. Raises :class:`~collectors.errors.TransportError`."""
        ...

    def follow(self, path: str) -> None:
        """Read a file with every sample from now on."""
        ...

    def followed(self, path: str) -> str | Missing:
        """The text of such a file in the newest sample."""
        ...

    async def close(self) -> None: ...


class Outcomes:
    """Runs collectors one by one, and notes how each fared and how long it took, with the ``seconds`` that it took to
    read its files where these are known."""

    def __init__(self, seconds: Mapping[str, float] | None = None) -> None:
        self._seconds = seconds
        self.found: list[Outcome] = []

    def collect(
        self,
        name: str,
        collector: Callable[[], T],
        files: Iterable[Wanted] = (),
        note: Callable[[], str] = lambda: "",
    ) -> T | None:
        """What the collector gives, or ``None`` with the reason noted. ``note`` says what it lacks where it gives."""
        began = time.perf_counter()
        state, reason = State.OK, ""
        part: T | None = None
        try:
            part = collector()
            reason = note()
        except AbsentError as absent:
            state, reason = State.ABSENT, str(absent)
        except ParseError as error:
            state, reason = State.FAILED, str(error)
        took = time.perf_counter() - began
        if self._seconds:
            took += sum(self._seconds.get(wanted.path, 0.0) for wanted in files)
        self.found.append(Outcome(name, state, reason, round(took, 6)))
        return part


class ProcMachine:
    """A machine with /proc, read through a transport. Keeps what one sample must know of those before it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._table = ProcessTable()
        self._group = CgroupWatch()
        self._facts: HostFacts | None = None
        self._link_mbit: dict[str, int | None] = {}
        self._blocks: frozenset[str] | None = None
        self._interfaces: frozenset[str] = frozenset()
        self._slow_in = 0
        self._tables = False
        self._followed: dict[str, str | Missing] = {}
        self._reading = asyncio.Lock()

    async def sample(self) -> HostSample:
        began = time.perf_counter()
        request = self._request()
        async with self._reading:
            reading = await self._transport.read(request)
        return self._parse(reading, began)

    def servers(self, group: str) -> tuple[int, ...]:
        return self._table.roots(group)

    def tested(self, group: str) -> tuple[int, ...]:
        return tuple(pid for pid in self._table.roots(group) if pid not in self._table.aside)

    def set_aside(self, pids: frozenset[int]) -> None:
        self._table.aside = pids

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        links = f"/proc/{pid}/fd/"
        texts = await self.texts((Wanted(links), *tcp.TABLES))
        opened = texts[links]
        lines = opened.splitlines() if isinstance(opened, str) else []
        inodes = {line[8:-1] for line in lines if line.startswith("socket:[")}
        tables = (text for wanted in tcp.TABLES if isinstance(text := texts[wanted.path], str))
        try:
            sockets = [socket for table in tables for socket in tcp.parse_table(table)]
        except ParseError:
            return ()
        return tuple(Endpoint(socket.address, socket.port) for socket in sockets if str(socket.inode) in inodes)

    async def fetch(self, url: str, timeout_s: float) -> Page:
        return await self._transport.fetch(url, timeout_s)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        return await self._transport.ask(address, question, timeout_s)

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        async with self._reading:
            return (await self._transport.read(Request(tuple(files)))).files

    def follow(self, path: str) -> None:
        self._followed.setdefault(path, Missing("not read yet"))

    def followed(self, path: str) -> str | Missing:
        return self._followed.get(path, Missing("not asked for"))

    async def close(self) -> None:
        await self._transport.close()

    def _request(self) -> Request:
        files = list(_ALWAYS)
        if self._tables:
            files += tcp.TABLES
        if self._facts is None:
            files += facts.FILES
        if self._slow_in <= 0:
            files += [Wanted(disks.BLOCKS), *(networks.speed_file(name) for name in sorted(self._interfaces))]
        files += self._group.files(self.tested(HTTPD))
        files += [Wanted(path) for path in self._followed]
        return Request(tuple(files), True, self._table.asleep(), self._table.want_pss())

    def _parse(self, reading: Reading, began: float) -> HostSample:
        self._learn_slow(reading)
        self._followed |= {path: reading.files[path] for path in self._followed if path in reading.files}
        self._tables = isinstance(reading.files.get(tcp.LISTENERS), Missing)
        run = Outcomes(reading.seconds)
        processor = run.collect("cpu", lambda: cpu.collect(reading), cpu.FILES)
        scheduler = run.collect("scheduler", lambda: load.collect(reading), (Wanted(load.LOADAVG),))
        gauges = run.collect("memory", lambda: memory.collect(reading), memory.FILES)
        swap = run.collect("swap", lambda: memory.collect_swap(reading))
        counters = run.collect("paging", lambda: paging.collect(reading), paging.FILES)
        stalls = run.collect("pressure", lambda: pressure.collect(reading), pressure.FILES)
        devices = run.collect("disks", lambda: disks.collect(reading, self._blocks), disks.FILES)
        lines = run.collect("networks", lambda: networks.collect(reading, self._link_mbit), networks.FILES)
        namespace = run.collect("tcp", lambda: tcp.collect(reading), (*tcp.COUNTERS, *tcp.TABLES))
        rows = run.collect("processes", lambda: self._table.update(reading), (Wanted(_STATS),), self._table.note)
        limits = run.collect("cgroup", lambda: self._group.collect(reading))
        if self._facts is None:
            self._facts = facts.collect(reading, self._transport.source, processor, gauges)
        seen = frozenset(line.name for line in lines or ())
        if not seen <= self._interfaces:
            self._slow_in = 0
        self._interfaces = seen
        return HostSample(
            host="",
            at=reading.at,
            facts=self._facts,
            took_s=round(time.perf_counter() - began, 6),
            cpu=processor,
            scheduler=scheduler,
            memory=gauges,
            swap=swap,
            paging=counters,
            pressure=stalls,
            disks=devices,
            networks=lines,
            tcp=namespace,
            processes=rows,
            cgroup=limits,
            outcomes=tuple(run.found),
        )

    def _learn_slow(self, reading: Reading) -> None:
        self._slow_in -= 1
        blocks = reading.files.get(disks.BLOCKS)
        if blocks is None:
            return
        self._slow_in = SLOW_EVERY
        self._blocks = None if isinstance(blocks, Missing) else disks.parse_blocks(blocks)
        self._link_mbit = networks.speeds(reading, self._interfaces)
