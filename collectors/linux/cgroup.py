"""The control groups of the servers under test: limits, how often they were hit, and pressure; version 1 and 2.

Sources: Linux, Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst. A limit holds
for a group and all below it, so the tightest over a group and its ancestors counts, with the counters of its group.
``memory.high`` counts as a limit beside ``memory.max``: a group over it is slowed down until it is below.
"""

import math
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from collectors.errors import AbsentError, ParseError
from collectors.linux import io_limits
from collectors.linux.memory import parse_pressure
from collectors.machine import Missing, Reading, Wanted
from collectors.parsing import complete_lines, count_or_none, counts, excerpt
from loadtop.model import Cause, CgroupLimits

MOUNTS = "/proc/self/mountinfo"
PRESSURES = ("cpu.pressure", "memory.pressure", "io.pressure")
UNLIMITED_BYTES = 1 << 62  # version 1 prints the largest multiple of a page for "no limit"; nothing real comes near

MOST_SERVERS = 8  # whose groups are read

_CPU = {1: ("cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.stat"), 2: ("cpu.max", "cpu.stat")}
_MEMORY = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt"),
    2: ("memory.max", "memory.high", "memory.current", "memory.events"),
}
SETTINGS = (
    *("cgroup", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.max"),
    *("memory.limit_in_bytes", "memory.max", "memory.high"),
)
"""Files that change only when someone sets a limit, or moves a process to another group."""

_BYTES = 16384  # of a file
_STAT = ("nr_periods", "nr_throttled", "throttled_usec", "throttled_time")
_ESCAPES = {r"\040": " ", r"\011": "\t", r"\012": "\n", r"\043": "#", r"\134": "\\"}
_ESCAPE = re.compile("|".join(map(re.escape, _ESCAPES)))


class Mount(Struct, frozen=True):
    """One mounted hierarchy: where, which group is its top, and its controllers; that of version 2 has ``""``."""

    point: str
    top: str
    controllers: frozenset[str]


class GroupDirectories(Struct, frozen=True):
    """The directories of a group for each resource, followed by those of its ancestors. In version 1, a process can be
    in several groups, as for memory and for the processor: ``path`` has all of them then."""

    path: str
    version: int
    cpu: tuple[str, ...]
    memory: tuple[str, ...]
    io: tuple[str, ...]
    pressure: str | None

    def files(self) -> tuple[Wanted, ...]:
        names = [f"{directory}/{name}" for directory in self.cpu for name in _CPU[self.version]]
        names += [f"{directory}/{name}" for directory in self.memory for name in _MEMORY[self.version]]
        if self.pressure is not None:
            names += [f"{self.pressure}/{name}" for name in PRESSURES]
        return tuple(Wanted(name, _BYTES) for name in names)

    def io_files(self) -> tuple[Wanted, ...]:
        files = io_limits.FILES[self.version]
        return tuple(Wanted(f"{directory}/{name}", _BYTES) for directory in self.io for name in files)


def parse_membership(cgroup: str) -> dict[str, str]:
    """The group of a process for each controller, from lines of ``number:controllers:path``; ``""`` is version 2."""
    groups: dict[str, str] = {}
    for line in complete_lines(cgroup):
        number, first, rest = line.partition(":")
        names, second, path = rest.partition(":")
        if not (first and second and number.isdecimal() and path.startswith("/")):
            raise ParseError(f"/proc/PID/cgroup: unexpected line {excerpt(line)}")
        groups |= dict.fromkeys(names.split(","), path)
    if not groups:
        raise ParseError("/proc/PID/cgroup has no complete line")
    return groups


def parse_mounts(mountinfo: str) -> tuple[Mount, ...]:
    """The mounted hierarchies, in the order of /proc/PID/mountinfo (Linux, Documentation/filesystems/proc.rst)."""
    found: list[Mount] = []
    for line in complete_lines(mountinfo):
        before, dash, after = line.partition(" - ")
        words, ends = before.split(" "), after.split(" ")
        if not dash or len(words) < 6 or len(ends) < 3 or ends[0] not in ("cgroup", "cgroup2"):
            continue
        controllers = "" if ends[0] == "cgroup2" else ends[2]
        found.append(Mount(_unescaped(words[4]), _unescaped(words[3]), frozenset(controllers.split(","))))
    return tuple(found)


def locate(groups: Mapping[str, str], mounts: Iterable[Mount]) -> GroupDirectories | None:
    """Where the files of a group are; ``None`` where its hierarchy is not mounted, or only a part that it is not in."""
    found: dict[str, tuple[str, ...]] = {}
    for mount in mounts:
        for name in mount.controllers & groups.keys():
            found[name] = _directories(mount, groups[name]) or found.get(name, ())
    unified, cpu, memory, io = (found.get(name, ()) for name in ("", "cpu", "memory", "blkio"))
    pressure = unified[0] if unified else None
    if cpu or memory or io:
        each = (("memory", memory), ("cpu", cpu), ("blkio", io))
        paths = dict.fromkeys(groups[name] for name, directories in each if directories)
        own = [path for path in paths if path != "/"]
        return GroupDirectories(" and ".join(own) or "/", 1, cpu, memory, io, pressure)
    return GroupDirectories(groups[""], 2, unified, unified, unified, pressure) if unified else None


def read_limits(reading: Reading, place: GroupDirectories, server: str = "") -> CgroupLimits:
    """Return the limits that hold for the group of a ``server``, from a reading with its
    :meth:`GroupDirectories.files`, and perhaps those for I/O; ``None`` for missing values. Of equal limits, the group's
    own counts: its directory comes first."""
    quotas = ((*_quota(reading, directory, place.version), directory) for directory in place.cpu)
    _, quota, period, cpu_directory = min(quotas, key=itemgetter(0), default=(math.inf, None, None, ""))
    stat = counts(reading.optional(f"{cpu_directory}/cpu.stat") or "", _STAT)
    nanoseconds = stat.get("throttled_time")
    limit, memory_directory = tightest_memory(reading, place)
    used, failures = _memory_use(reading, memory_directory, place.version)
    stalls = [reading.optional(f"{place.pressure}/{name}") for name in PRESSURES] if place.pressure else []
    return CgroupLimits(
        path=place.path,
        version=place.version,
        cpu_quota_us=quota,
        cpu_period_us=period,
        periods=stat.get("nr_periods"),
        throttled_periods=stat.get("nr_throttled"),
        throttled_us=stat.get("throttled_usec", None if nanoseconds is None else nanoseconds // 1000),
        memory_limit_kb=None if limit == math.inf else math.floor(limit) // 1024,
        memory_used_kb=None if used is None else used // 1024,
        memory_failures=failures,
        pressure=parse_pressure(*stalls) if any(text is not None for text in stalls) else None,
        servers=(server,) if server else (),
        io=io_limits.read_limits(reading, place.io, place.version),
    )


def tightest_memory(reading: Reading, place: GroupDirectories) -> tuple[float, str]:
    """The tightest memory limit of a group and its ancestors in bytes, infinite where there is none, and the directory
    of the group that has it."""
    limits = ((_memory_limit(reading, directory, place.version), directory) for directory in place.memory)
    return min(limits, key=itemgetter(0), default=(math.inf, ""))


class CgroupCollector:
    """The groups of some processes over time. Each sample determines which files the next one reads. The mounts are
    taken from each reading that contains :data:`MOUNTS`."""

    def __init__(self) -> None:
        self._mounts: tuple[Mount, ...] | Missing = Missing("not read")
        self._followed: dict[int, _Followed] = {}

    def files(self, servers: Mapping[int, str], *, slow: bool) -> tuple[Wanted, ...]:
        """What the next sample is to read. ``servers`` are the first processes of servers and what their processes are
        listed under, the most important first; of too many, the rest is left out. ``slow``: also what hardly ever
        changes."""
        followed = (_Followed(pid, name) for pid, name in islice(servers.items(), MOST_SERVERS))
        self._followed = {each.pid: self._followed.get(each.pid, each) for each in followed}
        return tuple(dict.fromkeys(wanted for each in self._followed.values() for wanted in each.files(slow)))

    def collect(self, reading: Reading) -> tuple[CgroupLimits, ...]:
        """The limits of the first server's group, then of those of the others. Raises :class:`AbsentError` with the
        reason where there is none (yet)."""
        mountinfo = reading.files.get(MOUNTS)
        if mountinfo is not None:
            self._mounts = mountinfo if isinstance(mountinfo, Missing) else parse_mounts(mountinfo)
        if not self._followed:
            raise AbsentError("no server found", cause=Cause.NOTHING)
        found: dict[str, CgroupLimits] = {}
        problem: AbsentError | ParseError | None = None
        for each in self._followed.values():
            try:
                limits = each.limits(reading, self._mounts)
            except (AbsentError, ParseError) as error:
                problem = problem or error
                continue
            known = found.setdefault(limits.path, limits)
            if known is not limits:
                servers = tuple(dict.fromkeys(known.servers + limits.servers))
                found[limits.path] = replace(known, servers=servers)
        if problem is not None and not found:
            raise problem
        return tuple(found.values())


class _Followed:
    """The group of one process. Its limits on I/O, which few have, are read with every sample only if there are any."""

    def __init__(self, pid: int, server: str) -> None:
        self.pid, self._server = pid, server
        self._membership = Wanted(f"/proc/{pid}/cgroup", _BYTES)
        self._located: tuple[str, tuple[Mount, ...]] | None = None
        self._place: GroupDirectories | None = None
        self._reads_io = self._io_due = True

    def files(self, slow: bool) -> tuple[Wanted, ...]:
        if self._place is None:
            return (self._membership,)
        self._reads_io = slow or self._io_due
        return (self._membership, *self._place.files(), *(self._place.io_files() if self._reads_io else ()))

    def limits(self, reading: Reading, mounts: tuple[Mount, ...] | Missing) -> CgroupLimits:
        """Raises :class:`AbsentError` while its files are not read, and where they cannot be."""
        place = self._place
        self._locate(reading, mounts)
        if self._place is None:
            raise AbsentError(
                "the control groups of the server are not mounted on this host",
                fix="sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup",
            )
        if self._place != place:
            self._io_due = True
            raise AbsentError("not read yet", cause=Cause.PENDING)
        found = read_limits(reading, self._place, self._server)
        if self._reads_io:
            self._io_due = bool(found.io)
        return found

    def _locate(self, reading: Reading, mounts: tuple[Mount, ...] | Missing) -> None:
        """Locate the files for the next sample. Mounts and groups rarely change."""
        if isinstance(mounts, Missing):
            raise AbsentError(mounts.at(MOUNTS))
        text = reading.text(self._membership.path)
        if (text, mounts) != self._located:
            self._place = locate(parse_membership(text), mounts)
            self._located = text, mounts


def _directories(mount: Mount, path: str) -> tuple[str, ...]:
    """The directory of a group and those of its ancestors up to the top of the mount; empty where it is not below."""
    if "/../" in f"{path}/":
        return ()
    top = mount.top.rstrip("/")
    if path != top and not path.startswith(f"{top}/"):
        return ()
    parts = [part for part in path[len(top) :].split("/") if part]
    point = mount.point.rstrip("/")
    return tuple("/".join((point, *parts[:depth])) for depth in range(len(parts), -1, -1))


def _quota(reading: Reading, directory: str, version: int) -> tuple[float, int | None, int | None]:
    """The number of processors that a group may use, with its quota and period in microseconds."""
    if version == 2:
        quota, period = (*map(count_or_none, _words(reading, f"{directory}/cpu.max")), None, None)[:2]
    else:
        quota, period = (number(reading, f"{directory}/cpu.cfs_{name}_us") for name in ("quota", "period"))
    return (quota / period, quota, period) if quota and period else (math.inf, None, None)


def _memory_limit(reading: Reading, directory: str, version: int) -> float:
    """In bytes; infinite where there is none."""
    names = ("memory.max", "memory.high") if version == 2 else ("memory.limit_in_bytes",)
    limits = (number(reading, f"{directory}/{name}") for name in names)
    return min((limit for limit in limits if limit is not None and limit < UNLIMITED_BYTES), default=math.inf)


def _memory_use(reading: Reading, directory: str, version: int) -> tuple[int | None, int | None]:
    if version == 1:
        used, failures = (number(reading, f"{directory}/memory.{name}") for name in ("usage_in_bytes", "failcnt"))
        return used, failures
    events = counts(reading.optional(f"{directory}/memory.events") or "", ("high", "max"))
    hits = [events[name] for name in ("high", "max") if name in events]
    return number(reading, f"{directory}/memory.current"), sum(hits) if hits else None


def _words(reading: Reading, path: str) -> list[str]:
    return next(complete_lines(reading.optional(path) or ""), "").split()


def number(reading: Reading, path: str) -> int | None:
    """The number in a file with one number; ``None`` for ``max``, -1, or a missing file."""
    words = _words(reading, path)
    return count_or_none(words[0]) if words else None


def _unescaped(word: str) -> str:
    """A path from mountinfo, which prints spaces and the like in octal (Linux, fs/proc_namespace.c, ``mangle``)."""
    return _ESCAPE.sub(lambda match: _ESCAPES[match[0]], word)
