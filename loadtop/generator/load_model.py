"""When the next request is sent: as soon as one has ended (closed model), or by the clock (open model)."""

import heapq
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.generator.connection import Connection, RequestSource
from loadtop.generator.connections import Connections
from loadtop.generator.exchange import Exchange
from loadtop.generator.plan import UNLIMITED

LATE_NS = 2_000_000  # an arrival sent this much after its time is late; event loop timers are more precise
MIN_TIMER_NS = 50_000  # arrivals closer to each other than this are sent together
MAX_BURST = 64
"""Arrivals sent in one go. Then responses and timers are handled, even if more arrivals are due than can be sent."""


class TargetMix:
    """Chooses exchanges in proportion to their weights, evenly spread (stride scheduling)."""

    def __init__(self, exchanges: list[tuple[Exchange, float]]) -> None:
        self._queue = [(1 / weight, number, 1 / weight, each) for number, (each, weight) in enumerate(exchanges)]
        heapq.heapify(self._queue)
        self.only = exchanges[0][0] if len(exchanges) == 1 else None

    def choose(self) -> Exchange:
        if self.only is not None:
            return self.only
        position, number, stride, exchange = self._queue[0]
        heapq.heapreplace(self._queue, (position + stride, number, stride, exchange))
        return exchange


class LoadModel(RequestSource):
    """What both models share. ``left`` requests may still be sent."""

    def __init__(self, connections: Connections, mix: TargetMix, left: int) -> None:
        self.connections = connections
        self.left = left
        self.fast_path = self.fast_path_possible = False
        self.rate: float | None = None
        self._mix = mix
        self._held = 0  # the requests left, while paused

    def send_due(self) -> int | None:
        """Send what is due on free connections. Return when more is due; None if that depends on responses."""
        raise NotImplementedError

    def overdue(self, at: int) -> int:  # noqa: ARG002 - only the open model has any
        """Return how many arrivals should have been sent by ``at`` and were not."""
        return 0

    def give_away(self, fraction: float) -> int | None:
        """Give away this part of the requests left. Return how many; None where their number is unlimited."""
        if self.left > UNLIMITED >> 1:
            return None
        given = int(self.left * fraction)
        self.left -= given
        return given

    def pause(self) -> None:
        """Send nothing more until :meth:`resume`."""
        self._held, self.left = self.left, 0

    def resume(self, paused_ns: int) -> None:  # noqa: ARG002 - the open model shifts its arrivals by it
        """Send again what was left."""
        self.left, self._held = self._held, 0

    def stop(self) -> None:
        """Send nothing more."""
        self.left = 0

    def _send(self, connection: Connection, at: int, intended: int) -> None:
        self.left -= 1
        connection.started = at
        connection.intended = intended
        connection.exchange = self._mix.choose()
        self.connections.send(connection, at)


class ClosedModel(LoadModel):
    """As many requests in flight as there are connections; the next one starts when one ends, as with ab."""

    def __init__(self, connections: Connections, mix: TargetMix, left: int) -> None:
        super().__init__(connections, mix, left)
        # The fast path sends the same bytes again, and does not record individual requests for a log.
        same = mix.only is not None and not mix.only.traced
        self.fast_path = self.fast_path_possible = same and connections.results.request_log is None

    def next_request(self, connection: Connection, at: int) -> None:
        if self.left > 0 and not connection.surplus:
            self._send(connection, at, 0)
        else:
            self.connections.set_idle(connection)

    def send_due(self) -> int | None:
        while self.left > 0 and (connection := self.connections.take_free()) is not None:
            self._send(connection, perf_counter_ns(), 0)
        return None


class OpenModel(LoadModel):
    """Constant arrivals of ``rate`` per second, whether the server keeps up or not.

    An arrival that finds no free connection waits; its latency is also counted from when it should have been sent
    ("coordinated omission", Gil Tene). ``offset`` (0 to 1) shifts the arrivals by a part of their distance.
    ``caught_up`` is called when no arrival waits for a connection any more: the clock says again when the next is due.
    """

    def __init__(
        self,
        connections: Connections,
        mix: TargetMix,
        left: int,
        rate: float,
        offset: float,
        caught_up: Callable[[], object],
    ) -> None:
        super().__init__(connections, mix, left)
        self.rate = rate
        self._interval = 1e9 / rate
        self._next = perf_counter_ns() + offset * self._interval
        self._results = connections.results
        self._caught_up = caught_up
        self._waiting = False  # whether arrivals wait for a connection

    def set_rate(self, rate: float, at: int) -> None:
        """Change the rate; overdue requests stay overdue."""
        if self._next > at:
            self._next = at + min(self._next - at, 1e9 / rate)
        self.rate = rate
        self._interval = 1e9 / rate

    def overdue(self, at: int) -> int:
        return 0 if self._next > at else min(self.left, 1 + int((at - self._next) / self._interval))

    def next_request(self, connection: Connection, at: int) -> None:
        if self.left > 0 and self._next <= at and not connection.surplus:
            self._send_arrival(connection, at)
            return
        self.connections.set_idle(connection)
        if self._waiting:
            self._waiting = False
            self._caught_up()

    def send_due(self) -> int | None:
        self._waiting = False
        for _ in range(MAX_BURST):
            at = perf_counter_ns()
            if self.left <= 0:
                return None
            if self._next > at:
                return max(int(self._next), at + MIN_TIMER_NS)
            connection = self.connections.take_free()
            if connection is None:
                self._waiting = True
                return None
            self._send_arrival(connection, at)
        return perf_counter_ns()

    def _send_arrival(self, connection: Connection, at: int) -> None:
        intended = int(self._next)
        self._next += self._interval
        if at - intended > LATE_NS:
            self._results.counters.late += 1
        self._send(connection, perf_counter_ns(), intended)

    def resume(self, paused_ns: int) -> None:
        """Send again what was left; what was due during the pause is due that much later."""
        super().resume(paused_ns)
        self._next += paused_ns

    def stop(self) -> None:
        """Send nothing more; overdue arrivals count as late and unsent."""
        unsent = self.overdue(perf_counter_ns())
        self._results.counters.unsent += unsent
        self._results.counters.late += unsent
        super().stop()
