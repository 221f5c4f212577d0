"""Runs a function in the network namespace that a process is in (setns(2), which needs root)."""

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_NEW_NET = 0x40000000  # CLONE_NEWNET of Linux

T = TypeVar("T")


def run(pid: str, function: Callable[[], T]) -> T:
    """What the function returns. It runs in a thread of its own, since only that one may change its namespace. Raises
    ``OSError`` where this user may not enter it or the process has ended."""
    with ThreadPoolExecutor(1, "loadtop-network") as thread:
        return thread.submit(_enter, pid, function).result()


def _enter(pid: str, function: Callable[[], T]) -> T:
    place = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(place, _NEW_NET):
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
    finally:
        os.close(place)
    return function()
