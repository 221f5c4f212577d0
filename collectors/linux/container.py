"""The limits of a container: those of the control group of its first process.

Its /proc/meminfo is that of the whole machine (unless something like lxcfs prints another). Where the group of process
1 has a tighter limit, that and the swap that goes with it are taken for the machine's. Sources: Linux,
Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst (``memsw`` counts memory and swap together).
"""

import math

from collectors.errors import ParseError
from collectors.linux.cgroup import (
    MOUNTS,
    UNLIMITED_BYTES,
    GroupDirectories,
    locate,
    number,
    parse_membership,
    parse_mounts,
    read_limits,
    tightest_memory,
)
from collectors.machine import Reading, Wanted
from collectors.parsing import counts
from loadtop.model import Memory, Swap

FIRST = 1  # the process that is the container's, and on a whole machine init
FILES = (Wanted(f"/proc/{FIRST}/cgroup", 16384), Wanted(MOUNTS))

_MEMORY_FILES = {
    1: ("memory.stat", "memory.memsw.limit_in_bytes"),
    2: ("memory.stat", "memory.swap.max", "memory.swap.current"),
}
_CACHED = {
    1: ("total_active_file", "total_inactive_file"),
    2: ("active_file", "inactive_file", "slab_reclaimable"),
}
"""What can be given up, as in MemAvailable. Names in memory.stat are those of version 1 with all groups below."""

_GAUGES = {
    1: {"cached_kb": "total_cache", "dirty_kb": "total_dirty", "writeback_kb": "total_writeback",
        "shared_kb": "total_shmem"},
    2: {"cached_kb": "file", "dirty_kb": "file_dirty", "writeback_kb": "file_writeback",
        "reclaimable_kb": "slab_reclaimable", "shared_kb": "shmem"},
}  # fmt: skip


class Container:
    """The group of the first process over time. It is found when :data:`FILES` are read. Its own files are read once
    after that, and with every sample as long as it has a limit."""

    def __init__(self) -> None:
        self._place: GroupDirectories | None = None
        self._unread = False
        self.limited = False
        self._directory = ""  # of the group that sets the limit of memory

    def find(self, reading: Reading) -> None:
        """Locate the group from a reading that contains :data:`FILES`. Other readings are ignored."""
        membership, mounts = (reading.optional(wanted.path) for wanted in FILES)
        if membership is None or mounts is None:
            return
        try:
            place = locate(parse_membership(membership), parse_mounts(mounts))
        except ParseError:
            place = None
        if place != self._place:
            self._place, self.limited, self._directory = place, False, ""
        self._unread = True

    def files(self) -> tuple[Wanted, ...]:
        """What the next sample is to read."""
        if self._place is None or not (self._unread or self.limited):
            return ()
        names = _MEMORY_FILES[self._place.version]
        directories = (self._directory,) if self._directory else self._place.memory
        return (*self._place.files(), *(Wanted(f"{each}/{name}", 16384) for each in directories for name in names))

    def learn(self, reading: Reading) -> None:
        """Note from a reading whether the group has limits, and which of its ancestors limits the memory. Readings
        without :meth:`files` are ignored."""
        place = self._place
        if place is None or not any(wanted.path in reading.files for wanted in place.files()):
            return
        limit, directory = tightest_memory(reading, place)
        limits = read_limits(reading, place)
        self._unread = False
        self.limited = limits.cpu_quota_us is not None or limits.memory_limit_kb is not None
        self._directory = directory if limit < math.inf else ""

    def memory(self, reading: Reading, whole: Memory) -> Memory:
        """The memory of the container, where its machine has ``whole``."""
        if self._place is None or not self._directory:
            return whole
        limits, version = read_limits(reading, self._place), self._place.version
        limit, used = limits.memory_limit_kb, limits.memory_used_kb
        if not limit or used is None or limit >= whole.total_kb:
            return whole
        stat = self._stat(reading, (*_CACHED[version], *_GAUGES[version].values()))
        free = min(whole.free_kb, max(0, limit - used))
        available = min(limit, free + sum(stat.get(name, 0) for name in _CACHED[version]) // 1024)
        if whole.available_kb is not None:
            available = min(available, whole.available_kb)
        gauges = {field: stat[name] // 1024 for field, name in _GAUGES[version].items() if name in stat}
        return Memory(limit, free, available, **gauges)

    def swap(self, reading: Reading, whole: Swap) -> Swap:
        """The swap space that the container may use, where its machine has ``whole``."""
        if self._place is None or not self._directory:
            return whole
        at = f"{self._directory}/memory."
        if self._place.version == 2:
            limit, used = number(reading, f"{at}swap.max"), number(reading, f"{at}swap.current")
        else:
            both, limit = number(reading, f"{at}memsw.limit_in_bytes"), number(reading, f"{at}limit_in_bytes")
            limit = None if both is None or limit is None or both >= UNLIMITED_BYTES else max(0, both - limit)
            used = self._stat(reading, ("total_swap",)).get("total_swap")
        if used is None:
            return whole
        total = whole.total_kb if limit is None else min(whole.total_kb, limit // 1024)
        return Swap(total, max(0, total - used // 1024))

    def _stat(self, reading: Reading, names: tuple[str, ...]) -> dict[str, int]:
        return counts(reading.optional(f"{self._directory}/memory.stat") or "", names)
