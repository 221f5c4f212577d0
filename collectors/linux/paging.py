"""Swap traffic, major faults and reclaim from /proc/vmstat.

Counters are in pages; swap traffic is given in kB. Kernels before 4.8 print reclaim per zone
(``pgscan_direct_normal``) and before 4.10 one ``allocstall``; before 5.9 one ``workingset_refault``, which counts pages
of files only (Linux, mm/vmstat.c of these versions).
"""

from collections.abc import Mapping

from collectors.parsing import counts, needed
from collectors.reading import Wanted
from loadtop.model import Paging

VMSTAT = "/proc/vmstat"
FILES = (
    Wanted(VMSTAT, lines="^(pswp|pgmajfault|oom_kill|pgscan_direct|pgsteal_direct|allocstall|workingset_refault)"),
)
_ZONES = ("dma", "dma32", "normal", "high", "movable", "device")
_PER_ZONE = ("pgscan_direct", "pgsteal_direct", "allocstall")
_REFAULTS = ("workingset_refault", "workingset_refault_anon", "workingset_refault_file")
_OTHERS = ("pswpin", "pswpout", "pgmajfault", "oom_kill")
_NAMES = frozenset((*_OTHERS, *_REFAULTS, *_PER_ZONE, *(f"{name}_{zone}" for name in _PER_ZONE for zone in _ZONES)))


def parse(vmstat: str, page_kb: int) -> Paging:
    """Counters since boot; needs those of swap traffic. ``page_kb`` is the size of that machine's pages."""
    table = counts(vmstat, _NAMES)
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


def _over_zones(table: Mapping[str, int], name: str) -> int | None:
    """The counter, or the sum over zones where the kernel counts each."""
    zones = [value for zone in _ZONES if (value := table.get(f"{name}_{zone}")) is not None]
    return table.get(name, sum(zones) if zones else None)
