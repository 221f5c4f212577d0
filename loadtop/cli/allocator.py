"""The memory allocator of glibc, for tests of many hours."""

import ctypes
import sys

_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # see mallopt(3)
_RETURNED_BYTES = 1 << 20


def return_memory() -> None:
    """From now on give large blocks back to the system at once, and use one arena for all threads: they hold the same
    lock anyway. Otherwise the process keeps the most that any thread ever needed, some 15 MB. Other C libraries keep
    their ways."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, _RETURNED_BYTES)
