"""A Linux machine, local or remote: samples parsed from the texts of its /proc."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec.structs import replace

from collectors.errors import ParseError
from collectors.kind import Kind
from collectors.linux import container, cpu, devices, memory, sockets
from collectors.linux.cgroup import CgroupCollector
from collectors.linux.container import Container
from collectors.linux.core_speeds import CoreSpeeds
from collectors.linux.namespaces import BOOT_ID
from collectors.linux.other_networks import OtherNetworks
from collectors.linux.processes import ProcessTable
from collectors.linux.queueing import Shaping
from collectors.machine import Endpoint, Missing, Outcomes, Reading, Request, Transport, Wanted
from collectors.parsing import excerpt
from collectors.routing import OWN_ADDRESSES, own_addresses, shown_addresses
from loadtop.model import Cpu, HostFacts, HostSample, Memory, Network

HOSTNAME = "/proc/sys/kernel/hostname"
KERNEL = "/proc/sys/kernel/osrelease"
SYSTEM = "/etc/os-release"
_FACTS = (Wanted(HOSTNAME), Wanted(KERNEL), Wanted(SYSTEM), BOOT_ID, *OWN_ADDRESSES)
_ALWAYS = (  # the files of every sample
    *cpu.FILES,
    *cpu.LOAD_FILES,
    *memory.FILES,
    *memory.PAGING_FILES,
    *devices.DISK_FILES,
    *devices.NETWORK_FILES,
    *memory.PRESSURE_FILES,
    *sockets.COUNTERS,
    Wanted(sockets.LISTENERS, sockets.LISTENER_BYTES),
)

SLOW_EVERY, SLOW_EVERY_MOST = 30, 120
"""Samples after which disks, mounts, and speeds of interfaces and cores are read again, at first and at last, twice as
many each time; also when a device appears."""


class LinuxMachine:
    """A machine with /proc, read through a transport. Keeps the state that a sample needs from earlier ones."""

    def __init__(self, transport: Transport, kinds: Sequence[Kind]) -> None:
        self._transport = transport
        self.fetch, self.ask, self.ask_again = transport.fetch, transport.ask, transport.ask_again
        self.reach = transport.reach
        self.close, self.profile = transport.close, transport.profile
        self._table = ProcessTable(kinds)
        self.servers, self.tested, self.lineage = self._table.roots, self._table.tested, self._table.lineage
        self.set_aside = self._table.set_aside
        self._cgroups = CgroupCollector()
        self._container = Container()
        self._core_speeds = CoreSpeeds()
        self._shaping = Shaping()
        self._other_networks = OtherNetworks()
        self._facts: HostFacts | None = None
        self._speeds: dict[str, int | None] = {}
        self._blocks: frozenset[str] | None = None
        self._interfaces: frozenset[str] = frozenset()
        self._slow_in, self._slow_every = 0, SLOW_EVERY
        self._tables = False
        self._followed: dict[str, str | Missing] = {}
        self._ports = frozenset[int]()

    async def sample(self) -> HostSample:
        began = time.perf_counter()
        request = self._request()
        reading = await self._transport.read(request)
        self._container.find(reading)
        if self._facts is None and (limits := self._container.files()):
            more = await self._transport.read(Request(limits))  # or the first sample would be of the whole machine
            reading = replace(reading, files={**more.files, **reading.files})
        return self._parse(reading, began)

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:
        if not pids:
            return {}
        held = sockets.held_by(pids)
        texts = await self.texts((held, *sockets.LISTENING_TABLES))
        tables = (text for wanted in sockets.LISTENING_TABLES if isinstance(text := texts[wanted.path], str))
        try:
            listeners = [socket for table in tables for socket in sockets.parse_table(table)]
        except ParseError:
            return {}
        holders = sockets.parse_holders(texts[held.path])
        found = defaultdict[int, tuple[Endpoint, ...]](tuple)
        for socket in listeners:
            for pid in () if socket.inode is None else holders.get(socket.inode, ()):
                found[pid] += (Endpoint(socket.address, socket.port),)
        return found

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        return (await self._transport.read(Request(tuple(files), ports=self._ports))).files

    def prefer(self, ports: frozenset[int]) -> None:
        self._ports = ports

    def follow(self, path: str) -> None:
        self._followed.setdefault(path, Missing("not read yet"))

    def followed(self, path: str) -> str | Missing:
        return self._followed.get(path, Missing("not requested"))

    def _request(self) -> Request:
        files = list(_ALWAYS)
        if self._tables:
            files += sockets.TABLES
        if self._facts is None:
            files += _FACTS
        slow = self._slow_in <= 0
        files += self._core_speeds.files(slow=slow)
        files += self._shaping.files(slow=slow)
        if slow:
            files += [Wanted(devices.BLOCKS), Wanted(devices.INTERFACES), *container.FILES]
            files += [wanted for name in sorted(self._interfaces) for wanted in devices.line_files(name)]
        serving = self._table.serving()
        first = {container.FIRST: ""} if self._container.limited else {}
        files += self._cgroups.files(serving or first, slow=slow)
        files += self._other_networks.files(serving, slow=slow)
        files += self._container.files()
        files += [Wanted(path) for path in self._followed]
        table, different = self._table, tuple(dict.fromkeys(files))
        waits, threads = table.want_waits(), table.want_threads()
        return Request(different, True, table.asleep(), table.want_pss(), waits, threads, self._ports)

    def _parse(self, reading: Reading, began: float) -> HostSample:
        self._learn_slow(reading)
        self._shaping.learn(reading)
        self._other_networks.learn(reading)
        self._followed |= {path: reading.files[path] for path in self._followed if path in reading.files}
        self._tables = isinstance(reading.files.get(sockets.LISTENERS), Missing)
        self._container.learn(reading)
        run = Outcomes(reading.seconds)
        text, optional = reading.text, reading.optional

        def networks() -> tuple[Network, ...]:
            connections = None if tcp is None else tcp.established
            own = self._shaping.applied(devices.parse_networks(text(devices.DEV), self._speeds), connections)
            return own + self._other_networks.limited(reading)

        def memory_of_machine() -> Memory:
            return self._container.memory(reading, memory.parse(text(memory.MEMINFO)))

        tcp = run.collect("tcp", lambda: sockets.collect(reading), (*sockets.COUNTERS, *sockets.TABLES))
        groups = run.collect("cgroup", lambda: self._cgroups.collect(reading)) or ()
        sample = HostSample(
            host="",
            at=reading.at,
            cpu=(processor := run.collect("cpu", lambda: cpu.parse(text(cpu.STAT)), cpu.FILES)),
            core_speeds=self._core_speeds.collect(reading, processor),
            scheduler=run.collect(
                "scheduler", lambda: cpu.parse_load(text(cpu.LOADAVG), optional(cpu.STAT)), cpu.LOAD_FILES
            ),
            memory=(gauges := run.collect("memory", memory_of_machine, memory.FILES)),
            swap=run.collect("swap", lambda: self._container.swap(reading, memory.parse_swap(text(memory.MEMINFO)))),
            paging=run.collect(
                "paging", lambda: memory.parse_paging(text(memory.VMSTAT), reading.page_kb), memory.PAGING_FILES
            ),
            pressure=run.collect("pressure", lambda: memory.collect_pressure(reading), memory.PRESSURE_FILES),
            disks=run.collect(
                "disks",
                lambda: devices.parse_disks(text(devices.DISKSTATS), optional(devices.SWAPS), self._blocks),
                devices.DISK_FILES,
            ),
            networks=run.collect("networks", networks, devices.NETWORK_FILES),
            tcp=tcp,
            processes=run.collect(
                "processes",
                lambda: self._table.update(reading, processor.total if processor else None),
                (Wanted("/proc/PID/stat"),),
                self._table.lacks,
            ),
            sleeping=self._table.sleeping,
            blocked_threads=self._table.blocked,
            timeouts_ms=self._table.timeouts_ms,
            cgroup=groups[0] if groups else None,
            more_cgroups=groups[1:],
            outcomes=tuple(run.found),
            facts=self._facts or _facts(reading, self._transport.source, processor, gauges),
            took_s=round(time.perf_counter() - began, 6),
        )
        self._facts = sample.facts
        seen = frozenset(line.name for line in sample.networks or () if "@" not in line.name)
        if not seen <= self._interfaces:
            self._slow_in, self._slow_every = 0, SLOW_EVERY
        self._interfaces = seen
        return sample

    def _learn_slow(self, reading: Reading) -> None:
        self._slow_in -= 1
        blocks = reading.files.get(devices.BLOCKS)
        if blocks is None:
            return
        self._slow_in, self._slow_every = self._slow_every, min(2 * self._slow_every, SLOW_EVERY_MOST)
        self._blocks = None if isinstance(blocks, Missing) else devices.parse_blocks(blocks)
        virtual = devices.parse_virtual(reading.optional(devices.INTERFACES) or "")
        self._speeds = {}
        for name in self._interfaces:
            speed, uevent = (reading.optional(wanted.path) or "" for wanted in devices.line_files(name))
            self._speeds[name] = devices.parse_speed(speed, uevent, virtual=name in virtual)


def _facts(reading: Reading, source: str, processor: Cpu | None, gauges: Memory | None) -> HostFacts:
    """The facts that do not change while a machine runs; an unreadable name is an empty string."""
    return HostFacts(
        hostname=_line(reading.optional(HOSTNAME)),
        source=source,
        system=_system(reading.optional(SYSTEM) or ""),
        kernel=_line(reading.optional(KERNEL)),
        cores=len(processor.cores) or 1 if processor else 1,
        memory_kb=gauges.total_kb if gauges else None,
        page_kb=reading.page_kb,
        boot_id=_line(reading.optional(BOOT_ID.path)),
        addresses=shown_addresses(own_addresses(*(reading.files.get(each.path) for each in OWN_ADDRESSES))),
    )


def _system(os_release: str) -> str:
    """The system's name for people from the text of os-release (its manual page is os-release(5)), or ``Linux``."""
    for line in os_release.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "PRETTY_NAME" and value.strip("\"' "):
            return value.strip().strip("\"'")[:100]
    return "Linux"


def _line(text: str | None) -> str:
    line = (text or "").strip()
    return line if line.isprintable() and len(line) < 256 else excerpt(line)
