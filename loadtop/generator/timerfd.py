"""A timer of the kernel that epoll can wait for (timerfd_create(2)), Linux only."""

import os
import struct

_CLOCK_MONOTONIC = 1
_ABSOLUTE = 1
_SECOND = 1_000_000_000


class TimerFd:
    """The descriptor ``number`` becomes readable when the time that was set last has come. Raises ``OSError`` where
    the system has no such timers."""

    def __init__(self) -> None:
        try:
            import ctypes

            library = ctypes.CDLL(None, use_errno=True)
            self._set_time = library.timerfd_settime
            self.number: int = library.timerfd_create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        except (AttributeError, ImportError) as error:
            raise OSError(f"no timerfd: {error}") from error
        if self.number < 0:
            raise OSError(ctypes.get_errno(), "no timerfd")
        self._when = ctypes.create_string_buffer(32)

    def set(self, at: int) -> None:
        """Ring at ``at``, in nanoseconds of ``perf_counter_ns`` or ``monotonic_ns``: they are one clock on Linux."""
        # A time of 0 would switch the timer off; any other time in the past rings at once.
        seconds, nanoseconds = divmod(max(at, 1), _SECOND)
        self._when.raw = struct.pack("qqqq", 0, 0, seconds, nanoseconds)
        self._set_time(self.number, _ABSOLUTE, self._when, None)

    def close(self) -> None:
        if self.number >= 0:
            os.close(self.number)
            self.number = -1
