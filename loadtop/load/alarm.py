"""A timer that is right to some microseconds, for arrivals that have their time.

Event loops count in milliseconds, which is longer than many answers take. On Linux a timerfd wakes the event loop
when the time has come (timerfd_create(2)); elsewhere its own timers have to do.
"""

import asyncio
import os
import select
import struct
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

from loadtop.load.hub import HubLoop

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_NONBLOCK = os.O_NONBLOCK
_SECOND = 1_000_000_000


class Alarm(Protocol):
    """Calls back once when the clock (``perf_counter_ns``) has reached the time that was set last."""

    def set(self, at: int) -> None: ...

    def close(self) -> None: ...


def make_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """The best alarm that this system has."""
    if sys.platform == "linux":
        try:
            return TimerFd(loop, ring)
        except (OSError, AttributeError, ImportError):
            pass
    return LoopTimer(loop, ring)


class LoopTimer:
    """An alarm that is right to a millisecond or two, everywhere."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at: int) -> None:
        self.close()
        self._timer = self._loop.call_later(max(0.001, (at - perf_counter_ns()) / 1e9), self._ring)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class TimerFd:
    """An alarm by the kernel's high-resolution timers. Raises ``OSError`` where the C library has none."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        self._set_time = library.timerfd_settime
        self._number: int = library.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK | os.O_CLOEXEC)
        if self._number < 0:
            raise OSError(ctypes.get_errno(), "no timerfd")
        self._when = ctypes.create_string_buffer(32)
        self._loop = loop
        self._ring = ring
        if isinstance(loop, HubLoop):
            loop.hub.handlers[self._number] = self
            loop.hub.watch(self._number, select.EPOLLIN)
        else:
            loop.add_reader(self._number, self._expired)

    def set(self, at: int) -> None:
        # A time of 0 would switch the timer off; any other time in the past rings at once.
        seconds, nanoseconds = divmod(max(at, 1), _SECOND)
        self._when.raw = struct.pack("qqqq", 0, 0, seconds, nanoseconds)
        self._set_time(self._number, _ABSOLUTE, self._when, None)

    def close(self) -> None:
        if self._number >= 0:
            if not isinstance(self._loop, HubLoop):
                self._loop.remove_reader(self._number)
            os.close(self._number)
            self._number = -1

    def handle(self, event: int) -> None:  # noqa: ARG002 - a timer has only one thing to say
        """Told by a :class:`loadtop.load.hub.Hub`: the time has come."""
        self._expired()

    def _expired(self) -> None:
        try:
            os.read(self._number, 8)
        except BlockingIOError:
            return
        self._ring()
