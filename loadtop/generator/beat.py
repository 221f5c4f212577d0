"""The regular look at a worker's own load: how late is the event loop, and which requests have taken too long?"""

import asyncio
from time import monotonic, perf_counter_ns

from loadtop.generator.crowd import CLOSING_NS, Crowd

BEAT_S = 0.05
_FINEST_NS = 1_000_000
"""Requests are given up to within this: what event loops count in."""
_SHARE = 20
"""Looking for late requests, which takes as long as there are connections, takes one part of so many at most."""


class Beat:
    """From ``start`` to ``stop``: looks at the event loop every :data:`BEAT_S` seconds, and gives requests up after
    ``timeout_s`` seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, crowd: Crowd, timeout_s: float) -> None:
        self._loop = loop
        self._crowd = crowd
        self._timeout_ns = round(timeout_s * 1e9)
        self._delay_s = 0.0
        self._due = 0.0
        self._stopped = False
        self._look_timer: asyncio.TimerHandle | None = None
        self._sweep_timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._look_again()
        self._sweep_in(min(self._timeout_ns, CLOSING_NS))

    def stop(self) -> None:
        self._stopped = True
        for timer in (self._look_timer, self._sweep_timer):
            if timer is not None:
                timer.cancel()

    def take_delay_s(self) -> float:
        """The longest delay of the event loop since the last call, in seconds."""
        delay, self._delay_s = self._delay_s, 0.0
        return delay

    def _look_again(self) -> None:
        self._due = monotonic() + BEAT_S
        self._look_timer = self._loop.call_later(BEAT_S, self._look)

    def _look(self) -> None:
        self._delay_s = max(self._delay_s, monotonic() - self._due)
        self._look_again()

    def _sweep(self) -> None:
        """Give up what is overdue, and come back when the next request is."""
        at = perf_counter_ns()
        late, following = self._crowd.overdue(at, self._timeout_ns)
        pause = max(_FINEST_NS, _SHARE * (perf_counter_ns() - at))
        for connection in late:
            self._crowd.give_up(connection)
        self._sweep_in(max(following - perf_counter_ns(), pause))

    def _sweep_in(self, nanoseconds: int) -> None:
        if not self._stopped:  # giving the last one up can end the load
            self._sweep_timer = self._loop.call_later(nanoseconds / 1e9, self._sweep)
