"""Memory and swap occupancy from /proc/meminfo, in kB.

Source: Linux, Documentation/filesystems/proc.rst, "meminfo". MemAvailable came with 3.14 and is not guessed
where it is missing.
"""

from collections.abc import Mapping
from functools import lru_cache

from collectors.parsing import counts, needed
from collectors.reading import Reading, Wanted
from loadtop.model import Memory, Swap

MEMINFO = "/proc/meminfo"
FILES = (Wanted(MEMINFO, lines="^(Mem|Swap|Buffers|Cached|Dirty|Writeback:|SReclaimable|Shmem:)"),)
_NAMES = frozenset(
    (
        "MemTotal",
        "MemFree",
        "MemAvailable",
        "Buffers",
        "Cached",
        "Dirty",
        "Writeback",
        "SReclaimable",
        "Shmem",
        "SwapTotal",
        "SwapFree",
        "SwapCached",
    )
)


def parse(meminfo: str) -> Memory:
    """Gauges of memory; needs MemTotal and MemFree."""
    table = _table(meminfo)
    return Memory(
        total_kb=needed(table, "MemTotal", MEMINFO),
        free_kb=needed(table, "MemFree", MEMINFO),
        available_kb=table.get("MemAvailable"),
        buffers_kb=table.get("Buffers"),
        cached_kb=table.get("Cached"),
        dirty_kb=table.get("Dirty"),
        writeback_kb=table.get("Writeback"),
        reclaimable_kb=table.get("SReclaimable"),
        shared_kb=table.get("Shmem"),
    )


def parse_swap(meminfo: str) -> Swap:
    """Occupancy of swap; a kernel with no swap in use prints a total of 0."""
    table = _table(meminfo)
    return Swap(
        total_kb=needed(table, "SwapTotal", MEMINFO),
        free_kb=needed(table, "SwapFree", MEMINFO),
        cached_kb=table.get("SwapCached"),
    )


def collect(reading: Reading) -> Memory:
    return parse(reading.text(MEMINFO))


def collect_swap(reading: Reading) -> Swap:
    return parse_swap(reading.text(MEMINFO))


@lru_cache(maxsize=1)
def _table(meminfo: str) -> Mapping[str, int]:
    """The values of a text that is asked twice in a row: for memory and for swap."""
    return counts(meminfo, _NAMES, ":")
