"""The worker's event loop on Linux: one epoll set whose load sockets are served directly, and timers precise to µs.

An event loop makes a callback of every event and asks the kernel again after each round of callbacks. That costs more
than handling a short response. Here events of load sockets are handled as epoll returns them, and asyncio's loop runs
only when it has something to do: a timer that is due, another descriptor, or a new callback.
"""

import asyncio
import contextlib
import os
import select
import struct
import time
from collections.abc import Callable
from contextvars import Context
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector, SelectorKey
from time import monotonic, perf_counter_ns
from typing import TYPE_CHECKING, Any, TypeVarTuple

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_Ts = TypeVarTuple("_Ts")

READ_BYTES = 1 << 18
_MAX_EVENTS = 42  # events taken from the kernel at once: as many as fit in Python's own allocator (512 bytes)
_TIMER_FD_MIN_S = 0.005
"""Shorter waits do without a timerfd. Polling with a timeout reads the clock twice, a seventh of the poll's cost."""
_TFD_TIMER_ABSTIME = 1


class TimerFd:
    """A kernel timer (timerfd_create(2)): its descriptor ``number`` becomes readable at the time that was set last.
    Raises OSError where the system has no such timers."""

    def __init__(self) -> None:
        try:
            import ctypes

            library = ctypes.CDLL(None, use_errno=True)
            self._set_time = library.timerfd_settime
            self.number: int = library.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        except (AttributeError, ImportError) as error:
            raise OSError(f"no timerfd: {error}") from error
        if self.number < 0:
            raise OSError(ctypes.get_errno(), "no timerfd")
        self._timespec = ctypes.create_string_buffer(32)

    def set(self, at: int) -> None:
        """Expire at ``at`` ns of ``perf_counter_ns`` or ``monotonic_ns``, which are the same clock on Linux."""
        # 0 would switch the timer off; any other time in the past expires at once.
        self._timespec.raw = struct.pack("qqqq", 0, 0, *divmod(max(at, 1), 1_000_000_000))
        self._set_time(self.number, _TFD_TIMER_ABSTIME, self._timespec, None)

    def close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
            self.number = -1


class EpollSelector(DefaultSelector):
    """A selector that serves its ``handlers`` itself and returns only the events of what the event loop registered. All
    handlers read into ``buffer``, one after the other; ``view`` is a memoryview of it."""

    def __init__(self) -> None:
        super().__init__()
        self._epoll = select.epoll.fromfd(os.dup(self.fileno()))  # the same set of descriptors
        self._timer: TimerFd | None = None
        self.loop_pending = False  # whether the event loop has new callbacks or timers
        self.buffer = bytearray(READ_BYTES)
        self.view = memoryview(self.buffer)
        self.handlers: dict[int, Callable[[int], None]] = {}
        """Called with the events of their descriptor. That of a closed socket may stay: it gets no more events."""
        self.watch = self._epoll.register
        self.rewatch = self._epoll.modify

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        """Serve the handlers until the event loop has something to do, at most ``timeout`` seconds."""
        self.loop_pending = False
        poll, handlers = self._epoll.poll, self.handlers
        left = timeout
        end = 0.0 if timeout is None else monotonic() + timeout
        for_loop: list[tuple[SelectorKey, int]] = []
        while True:
            events = poll(left, _MAX_EVENTS)
            for number, event in events:
                try:
                    handler = handlers[number]
                except KeyError:
                    if (key := self.get_map().get(number)) is not None:
                        for_loop.append((key, _selector_events(event) & key.events))
                else:
                    handler(event)
            if self.loop_pending or for_loop or not events:
                return for_loop
            if left is not None:
                left = end - monotonic()
                if left <= 0:
                    return for_loop
                if left > _TIMER_FD_MIN_S and self._set_timer(end):
                    left = None

    def _set_timer(self, end: float) -> bool:
        """Make :meth:`select` return at ``end`` (of ``monotonic``) by a kernel timer; False where there are none."""
        if self._timer is None:
            try:
                self._timer = TimerFd()
            except OSError:
                return False
            self.handlers[self._timer.number] = self._time_over
            self.watch(self._timer.number, select.EPOLLIN | select.EPOLLET)
        self._timer.set(int(end * 1e9))
        return True

    def _time_over(self, event: int) -> None:  # noqa: ARG002 - a handler
        self.loop_pending = True

    def register(self, fileobj: "FileDescriptorLike", events: int, data: Any = None) -> SelectorKey:
        key = super().register(fileobj, events, data)
        self.handlers.pop(key.fd, None)
        return key

    def close(self) -> None:
        super().close()
        self._epoll.close()
        if self._timer is not None:
            self._timer.close()


class EpollLoop(asyncio.SelectorEventLoop):
    """asyncio's event loop over an :class:`EpollSelector`."""

    def __init__(self) -> None:
        self.selector = EpollSelector()
        super().__init__(self.selector)

    def call_soon(
        self, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self.selector.loop_pending = True
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*_Ts], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self.selector.loop_pending = True
        return super().call_at(when, callback, *args, context=context)


class PreciseTimer:
    """Calls ``callback`` once when ``perf_counter_ns`` reaches the time that was set last.

    On Linux a timerfd makes it precise to microseconds. Elsewhere it uses the event loop's timers, which count in
    milliseconds: longer than many responses take.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._timer: TimerFd | None = None
        self.set: Callable[[int], None] = self._call_later
        with contextlib.suppress(OSError):
            self._timer = timer = TimerFd()
            self.set = timer.set
            if isinstance(loop, EpollLoop):
                loop.selector.handlers[timer.number] = self._time_over
                loop.selector.watch(timer.number, select.EPOLLIN)
            else:
                loop.add_reader(timer.number, self._time_over, select.EPOLLIN)

    def _call_later(self, at: int) -> None:
        self.close()
        self._handle = self._loop.call_later(max(0.001, (at - perf_counter_ns()) / 1e9), self._callback)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        if self._timer is not None and self._timer.number >= 0:
            if not isinstance(self._loop, EpollLoop):
                self._loop.remove_reader(self._timer.number)
            self._timer.close()

    def _time_over(self, event: int) -> None:  # noqa: ARG002 - a handler
        if self._timer is not None:
            try:
                os.read(self._timer.number, 8)
            except OSError:  # it was set again, or closed, after its event had been fetched
                return
            self._callback()


def _selector_events(event: int) -> int:
    """Errors and hang-ups count as readable and writable, so that the next call reports them."""
    found = EVENT_READ if event & ~select.EPOLLOUT else 0
    return found | (EVENT_WRITE if event & ~select.EPOLLIN else 0)
