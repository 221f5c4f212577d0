"""The regular look at a worker's own load: how late is the event loop, and which requests have taken too long?"""

import asyncio
from time import monotonic, perf_counter_ns

from loadtop.load.crowd import Crowd

BEAT_S = 0.05


class Beat:
    """Looks every :data:`BEAT_S` seconds from ``start`` to ``stop``; gives requests up after ``timeout_s`` seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, crowd: Crowd, timeout_s: float) -> None:
        self._loop = loop
        self._crowd = crowd
        self._timeout_ns = round(timeout_s * 1e9)
        self._delay_s = 0.0
        self._due = 0.0
        self._sweep_at = 0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._due = monotonic() + BEAT_S
        self._timer = self._loop.call_later(BEAT_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def take_delay_s(self) -> float:
        """The longest delay of the event loop since the last call, in seconds."""
        delay, self._delay_s = self._delay_s, 0.0
        return delay

    def _look(self) -> None:
        now = monotonic()
        self._delay_s = max(self._delay_s, now - self._due)
        self.start()
        at = perf_counter_ns()
        if at >= self._sweep_at:
            late, self._sweep_at = self._crowd.overdue(at, self._timeout_ns)
            for connection in late:
                self._crowd.give_up(connection)
