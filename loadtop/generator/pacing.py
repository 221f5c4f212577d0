"""When the next request is sent: at once where one has ended (closed model), or by the clock (open model)."""

import heapq
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.generator.connection import Connection
from loadtop.generator.crowd import Crowd
from loadtop.generator.exchange import Exchange
from loadtop.generator.share import ENDLESS
from loadtop.generator.tally import Tally

LATE_NS = 2_000_000
"""An arrival that was sent this much after its time is late: no timer of an event loop is off by more."""

FINEST_NS = 50_000
"""Arrivals closer than this to each other are sent together."""

MOST_AT_ONCE = 64
"""Arrivals that are sent in one go. Then answers and timers have their turn, also where more is due than goes out."""


class Picker:
    """Takes exchanges in proportion to their weights, spread evenly (stride scheduling)."""

    def __init__(self, exchanges: list[tuple[Exchange, float]]) -> None:
        self._queue = [(1 / weight, number, 1 / weight, each) for number, (each, weight) in enumerate(exchanges)]
        heapq.heapify(self._queue)
        self.only = exchanges[0][0] if len(exchanges) == 1 else None

    def pick(self) -> Exchange:
        if self.only is not None:
            return self.only
        place, number, stride, exchange = self._queue[0]
        heapq.heapreplace(self._queue, (place + stride, number, stride, exchange))
        return exchange


class Pacing:
    """What both models share. ``left`` requests may still be sent."""

    def __init__(self, crowd: Crowd, picker: Picker, left: int) -> None:
        self.crowd = crowd
        self.left = left
        self.short_way = False
        self._picker = picker

    def shorten(self) -> None:
        """Allow the short way again; only the closed model with one target has one."""

    def proceed(self, connection: Connection, at: int) -> None:
        raise NotImplementedError

    def advance(self) -> int | None:
        """Give free connections something to do. When to come back, or ``None`` where only an answer is a reason to."""
        raise NotImplementedError

    def overdue(self, at: int) -> int:  # noqa: ARG002 - only the open model has any
        """Arrivals that should have been sent by ``at`` and were not."""
        return 0

    def cede(self, fraction: float) -> int | None:
        """Give a part of the requests that are left away; how many, or ``None`` where there is no limit."""
        if self.left > ENDLESS >> 1:
            return None
        given = int(self.left * fraction)
        self.left -= given
        return given

    def stop(self) -> None:
        """Send nothing more."""
        self.left = 0

    def _begin(self, connection: Connection, at: int, started: int, intended: int) -> None:
        self.left -= 1
        connection.started = started
        connection.intended = intended
        connection.exchange = self._picker.pick()
        self.crowd.begin(connection, at)


class ClosedPacing(Pacing):
    """As many requests at once as there are connections; the next one begins when one ends, as with ab."""

    def __init__(self, crowd: Crowd, picker: Picker, left: int) -> None:
        super().__init__(crowd, picker, left)
        # The short way leaves no trace of the single request: a journal needs the long one.
        self._may_shorten = picker.only is not None and crowd.tally.journal is None
        self.short_way = self._may_shorten

    def shorten(self) -> None:
        self.short_way = self._may_shorten

    def proceed(self, connection: Connection, at: int) -> None:
        if self.left > 0 and not connection.leaving:
            self._begin(connection, at, at, 0)
        else:
            self.crowd.rest(connection)

    def advance(self) -> int | None:
        while self.left > 0:
            connection = self.crowd.free()
            if connection is None:
                break
            at = perf_counter_ns()
            self._begin(connection, at, at, 0)
        return None


class OpenPacing(Pacing):
    """Constant arrivals of ``rate`` per second, whether the server keeps up or not.

    An arrival that finds no connection free waits; its latency is also counted from when it should have been sent
    ("coordinated omission", Gil Tene). ``offset`` (0 to 1) shifts the arrivals by a part of their distance.
    ``caught_up`` is called when arrivals had to wait for a connection and the last of them has been sent: from then on
    it is the clock again that says when the next is due.
    """

    def __init__(
        self,
        crowd: Crowd,
        picker: Picker,
        left: int,
        rate: float,
        offset: float,
        tally: Tally,
        caught_up: Callable[[], object],
    ) -> None:
        super().__init__(crowd, picker, left)
        self.rate = rate
        self._interval = 1e9 / rate
        self._next = perf_counter_ns() + offset * self._interval
        self._tally = tally
        self._caught_up = caught_up
        self._behind = False

    def set_rate(self, rate: float, at: int) -> None:
        """From now on; what is overdue stays overdue."""
        if self._next > at:
            self._next = at + min(self._next - at, 1e9 / rate)
        self.rate = rate
        self._interval = 1e9 / rate

    def overdue(self, at: int) -> int:
        """Arrivals that should have been sent by ``at`` and were not."""
        return 0 if self._next > at else min(self.left, 1 + int((at - self._next) / self._interval))

    def proceed(self, connection: Connection, at: int) -> None:
        if self.left > 0 and self._next <= at and not connection.leaving:
            self._arrive(connection, at)
            return
        self.crowd.rest(connection)
        if self._behind:
            self._behind = False
            self._caught_up()

    def advance(self) -> int | None:
        self._behind = False
        for _ in range(MOST_AT_ONCE):
            at = perf_counter_ns()
            if self.left <= 0:
                return None
            if self._next > at:
                return max(int(self._next), at + FINEST_NS)
            connection = self.crowd.free()
            if connection is None:
                self._behind = True
                return None
            self._arrive(connection, at)
        return perf_counter_ns()

    def _arrive(self, connection: Connection, at: int) -> None:
        intended = int(self._next)
        self._next += self._interval
        started = perf_counter_ns()
        if at - intended > LATE_NS:
            self._tally.counters.late += 1
        self._begin(connection, started, started, intended)

    def stop(self) -> None:
        """Send nothing more; what is overdue was late and will never be sent."""
        unsent = self.overdue(perf_counter_ns())
        self._tally.counters.unsent += unsent
        self._tally.counters.late += unsent
        super().stop()
