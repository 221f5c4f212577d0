"""A timer that is right to some microseconds, for arrivals that have their time.

Event loops count in milliseconds, which is longer than many answers take. On Linux a timerfd wakes the event loop
when the time has come (timerfd_create(2)); elsewhere its own timers have to do.
"""

import asyncio
import contextlib
import os
import select
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

from loadtop.generator.hub import HubLoop
from loadtop.generator.timerfd import TimerFd


class Alarm(Protocol):
    """Calls back once when the clock (``perf_counter_ns``) has reached the time that was set last."""

    def set(self, at: int) -> None: ...

    def close(self) -> None: ...


def make_alarm(loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> Alarm:
    """The best alarm that this system has."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return KernelAlarm(loop, ring)
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


class KernelAlarm:
    """An alarm by the kernel's high-resolution timers. Raises ``OSError`` where there are none."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._timer = timer = TimerFd()
        self.set = timer.set
        self._loop = loop
        self._ring = ring
        if isinstance(loop, HubLoop):
            loop.hub.handlers[timer.number] = self
            loop.hub.watch(timer.number, select.EPOLLIN)
        else:
            loop.add_reader(timer.number, self._expired)

    def close(self) -> None:
        if self._timer.number >= 0:
            if not isinstance(self._loop, HubLoop):
                self._loop.remove_reader(self._timer.number)
            self._timer.close()

    def handle(self, event: int) -> None:  # noqa: ARG002 - a timer has only one thing to say
        """Told by a :class:`loadtop.generator.hub.Hub`: the time has come."""
        self._expired()

    def _expired(self) -> None:
        try:
            os.read(self._timer.number, 8)
        except BlockingIOError:
            return
        self._ring()
