"""A Linux machine, near or far: samples parsed from the texts of its /proc."""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence

from collectors.errors import ParseError
from collectors.kind import Kind
from collectors.linux import cpu, disks, facts, load, memory, networks, paging, pressure, tcp
from collectors.linux.cgroup import CgroupCollector
from collectors.linux.process_table import ProcessTable
from collectors.machine import Endpoint, Outcomes
from collectors.reading import Missing, Page, Reading, Request, Transport, Wanted
from loadtop.model import HostFacts, HostSample, Role

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


class LinuxMachine:
    """A machine with /proc, read through a transport. Keeps what one sample must know of those before it."""

    def __init__(self, transport: Transport, kinds: Sequence[Kind]) -> None:
        """``kinds`` are the kinds of servers whose processes have a group of their own."""
        self._transport = transport
        self._table = ProcessTable(kinds)
        self._web = [kind.group for kind in kinds if kind.role is Role.WEB]
        self._cgroup = CgroupCollector()
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
        files += self._cgroup.files(tuple(pid for group in self._web for pid in self.tested(group)))
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
        rows = run.collect("processes", lambda: self._table.update(reading), (Wanted(_STATS),), self._table.lacks)
        limits = run.collect("cgroup", lambda: self._cgroup.collect(reading))
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
