"""Memory and swap from /proc/meminfo (kB); swap traffic, major faults and reclaim from /proc/vmstat (pages).

Source: Linux, Documentation/filesystems/proc.rst, "meminfo", and mm/vmstat.c. MemAvailable came with 3.14 and is not
guessed. Kernels before 4.8 print reclaim per zone (``pgscan_direct_normal``) and before 4.10 one ``allocstall``; before
5.9 one ``workingset_refault``, which counts pages of files only.
"""

from collections.abc import Mapping
from functools import lru_cache

from collectors.machine import Wanted
from collectors.parsing import counts, needed
from loadtop.model import Memory, Paging, Swap

MEMINFO = "/proc/meminfo"
VMSTAT = "/proc/vmstat"
FILES = (Wanted(MEMINFO, lines="^(Mem|Swap|Buffers|Cached|Dirty|Writeback:|SReclaimable|Shmem:)"),)
PAGING_FILES = (
    Wanted(VMSTAT, lines="^(pswp|pgmajfault|oom_kill|pgscan_direct|pgsteal_direct|allocstall|workingset_refault)"),
)
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
    """Cached: the same text is asked for memory and then for swap."""
    return counts(meminfo, _NAMES, ":")


def _over_zones(table: Mapping[str, int], name: str) -> int | None:
    """The counter, or the sum over zones where the kernel counts each."""
    zones = [value for zone in _ZONES if (value := table.get(f"{name}_{zone}")) is not None]
    return table.get(name, sum(zones) if zones else None)
