"""Memory and swap from /proc/meminfo (kB); swap traffic, major faults and reclaim from /proc/vmstat (pages); pressure.

Sources: Linux, Documentation/filesystems/proc.rst, "meminfo", and mm/vmstat.c. MemAvailable came with 3.14 and is not
guessed. Kernels before 4.8 print reclaim per zone (``pgscan_direct_normal``) and before 4.10 one ``allocstall``; before
5.9 one ``workingset_refault``, which counts pages of files only.

Pressure stall totals (PSI) come from /proc/pressure, or from the files of a control group in the same format: Linux,
Documentation/accounting/psi.rst (4.20 and later). ``total`` is the stall in microseconds since boot;
the averages in the same lines lag by 10 s and more and are not read. The ``full`` line of cpu means nothing for a whole
machine and is left out.
"""

from collections.abc import Mapping
from functools import lru_cache

from collectors.errors import AbsentError, ParseError
from collectors.machine import NO_FILE, UNSUPPORTED, Missing, Reading, Wanted
from collectors.parsing import complete_lines, count, counts, excerpt, needed
from loadtop.i18n import Message
from loadtop.model import Memory, Paging, Pressure, Swap

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
FILES = (Wanted(MEMINFO, lines="^(Mem|Swap|Buffers|Cached|Dirty|Writeback:|SReclaimable|Shmem:)"),)
PAGING_FILES = (
    Wanted(VMSTAT, lines="^(pswp|pgmajfault|oom_kill|pgscan_direct|pgsteal_direct|allocstall|workingset_refault)"),
)
PRESSURE_FILES = tuple(Wanted(f"/proc/pressure/{resource}", 4096) for resource in ("cpu", "memory", "io"))
_OPTIONAL = {
    "available_kb": "MemAvailable",
    "buffers_kb": "Buffers",
    "cached_kb": "Cached",
    "dirty_kb": "Dirty",
    "writeback_kb": "Writeback",
    "reclaimable_kb": "SReclaimable",
    "shared_kb": "Shmem",
}
_NAMES = frozenset(("MemTotal", "MemFree", "SwapTotal", "SwapFree", "SwapCached", *_OPTIONAL.values()))
_ZONES = ("dma", "dma32", "normal", "high", "movable", "device")
_PER_ZONE = ("pgscan_direct", "pgsteal_direct", "allocstall")
_REFAULTS = ("workingset_refault", "workingset_refault_anon", "workingset_refault_file")
_OTHERS = ("pswpin", "pswpout", "pgmajfault", "oom_kill")
_EVENTS = frozenset((*_OTHERS, *_REFAULTS, *_PER_ZONE, *(f"{name}_{zone}" for name in _PER_ZONE for zone in _ZONES)))


def parse(meminfo: str) -> Memory:
    table = _table(meminfo)
    total, free = (needed(table, name, MEMINFO) for name in ("MemTotal", "MemFree"))
    return Memory(total, free, **{field: table.get(name) for field, name in _OPTIONAL.items()})


def parse_swap(meminfo: str) -> Swap:
    """A kernel with no swap in use prints a total of 0."""
    table = _table(meminfo)
    total, free = (needed(table, name, MEMINFO) for name in ("SwapTotal", "SwapFree"))
    return Swap(total, free, table.get("SwapCached"))


def parse_paging(vmstat: str, page_kb: int) -> Paging:
    """Counters since boot; needs those of swap traffic. ``page_kb`` is the size of that machine's pages."""
    table = counts(vmstat, _EVENTS)
    return Paging(
        swap_in_kb=page_kb * needed(table, "pswpin", VMSTAT),
        swap_out_kb=page_kb * needed(table, "pswpout", VMSTAT),
        major_faults=table.get("pgmajfault"),
        direct_scanned_pages=_over_zones(table, "pgscan_direct"),
        direct_reclaimed_pages=_over_zones(table, "pgsteal_direct"),
        allocation_stalls=_over_zones(table, "allocstall"),
        refaults_anon_pages=table.get("workingset_refault_anon"),
        refaults_file_pages=table.get("workingset_refault_file", table.get("workingset_refault")),
        oom_kills=table.get("oom_kill"),
    )


@lru_cache(maxsize=1)
def _table(meminfo: str) -> Mapping[str, int]:
    """Cached, because memory and swap are parsed from the same text."""
    return counts(meminfo, _NAMES, ":")


def _over_zones(table: Mapping[str, int], name: str) -> int | None:
    """The counter, or the sum over zones where the kernel counts each."""
    zones = [value for zone in _ZONES if (value := table.get(f"{name}_{zone}")) is not None]
    return table.get(name, sum(zones) if zones else None)


def parse_pressure(cpu: str | None, memory: str | None, io: str | None) -> Pressure:
    read = [_totals(text) if text is not None else dict[str, int]() for text in (cpu, memory, io)]
    of_cpu, of_memory, of_io = read
    return Pressure(
        cpu_some_us=of_cpu.get("some"),
        memory_some_us=of_memory.get("some"),
        memory_full_us=of_memory.get("full"),
        io_some_us=of_io.get("some"),
        io_full_us=of_io.get("full"),
    )


def collect_pressure(reading: Reading) -> Pressure:
    texts = [reading.optional(wanted.path) for wanted in PRESSURE_FILES]
    if texts == [None, None, None]:
        missing = reading.files.get(PRESSURE_FILES[0].path)
        reason = missing.reason if isinstance(missing, Missing) else "not read"
        if reason == NO_FILE:
            raise AbsentError("no /proc/pressure: the kernel is older than 4.20 or built without PSI")
        if reason == UNSUPPORTED:
            raise AbsentError(
                "PSI is disabled in this kernel: boot with psi=1",
                fix=Message(
                    "add psi=1 to the kernel's command line (Debian: GRUB_CMDLINE_LINUX in /etc/default/grub and "
                    "update-grub, Red Hat: grubby --update-kernel=ALL --args=psi=1) and reboot"
                ),
            )
        raise AbsentError(Missing(reason).message)
    return parse_pressure(*texts)


@lru_cache(maxsize=1024)
def _totals(text: str) -> Mapping[str, int]:
    totals: dict[str, int] = {}
    for line in complete_lines(text):
        kind, *pairs = line.split() or [""]
        if kind not in ("some", "full"):
            raise ParseError(f"pressure: unexpected line {excerpt(line)}")
        total = next((pair[6:] for pair in pairs if pair.startswith("total=")), None)
        if total is None:
            raise ParseError(f"pressure: the {kind} line has no total")
        totals.setdefault(kind, count(total, f"pressure, total of {kind}"))
    if not totals:
        raise ParseError("pressure: no complete line")
    return totals
