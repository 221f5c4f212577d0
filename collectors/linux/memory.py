"""Memory and swap occupancy from /proc/meminfo, in kB.

Source: Linux, Documentation/filesystems/proc.rst, "meminfo". MemAvailable came with 3.14 and is not guessed.
"""

from collections.abc import Mapping
from functools import lru_cache

from collectors.parsing import counts, needed
from collectors.reading import Wanted
from loadtop.model import Memory, Swap

MEMINFO = "/proc/meminfo"
FILES = (Wanted(MEMINFO, lines="^(Mem|Swap|Buffers|Cached|Dirty|Writeback:|SReclaimable|Shmem:)"),)
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


def parse(meminfo: str) -> Memory:
    """Needs MemTotal and MemFree."""
    table = _table(meminfo)
    return Memory(
        total_kb=needed(table, "MemTotal", MEMINFO),
        free_kb=needed(table, "MemFree", MEMINFO),
        **{field: table.get(name) for field, name in _OPTIONAL.items()},
    )


def parse_swap(meminfo: str) -> Swap:
    """A kernel with no swap in use prints a total of 0."""
    table = _table(meminfo)
    total, free = (needed(table, name, MEMINFO) for name in ("SwapTotal", "SwapFree"))
    return Swap(total, free, table.get("SwapCached"))


@lru_cache(maxsize=1)
def _table(meminfo: str) -> Mapping[str, int]:
    """Cached: the same text is asked for memory and then for swap."""
    return counts(meminfo, _NAMES, ":")
