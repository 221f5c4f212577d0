"""All connections of a worker: opens them, hears what happens to them, gives up requests that take too long."""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.generator.connection import (
    BUSY,
    CLOSING,
    CONNECTING,
    DISCONNECTED,
    IDLE,
    SWITCHING,
    WAITING,
    Connection,
    RequestSource,
)
from loadtop.generator.connector import Connector
from loadtop.generator.errors import connect_error
from loadtop.generator.plan import Plan
from loadtop.generator.results import Results
from loadtop.i18n import Message

BACK_OFF_S = 0.05  # pause after a failed connect; it grows with each failure in a row, up to 20 times this
CLOSING_NS = 1_000_000_000  # how long a server that announced it would close may take before this side does
_TIMEOUT_PRECISION_NS = 1_000_000  # requests are given up this close to their timeout: as precise as timers
_SWEEP_SHARE = 20  # the search for late requests, slower the more connections there are, takes 1/20 of the time


class Connections:
    """The connection slots. ``idle_reached`` is called when no connection is busy any more."""

    def __init__(
        self, plan: Plan, results: Results, loop: asyncio.AbstractEventLoop, idle_reached: Callable[[], None]
    ) -> None:
        self.slots: set[Connection] = set()
        self.idle: set[Connection] = set()
        self.limit = 0
        self.closed_down = False
        self.results = results
        self.connector = Connector(plan, loop, self.connect_failed)
        self._plan = plan
        self._loop = loop
        self._idle_reached = idle_reached
        self._source: RequestSource  # from use on

    @property
    def busy(self) -> int:
        """Connections with a request in flight."""
        return len(self.slots) - len(self.idle)

    @property
    def open(self) -> int:
        return sum(1 for each in self.slots if each.transport is not None)

    def use(self, source: RequestSource, limit: int) -> None:
        """From now on ``source`` decides when to send, on at most ``limit`` connections."""
        self._source = source
        for connection in self.slots:
            connection.source = source
        self.set_limit(limit)

    def set_limit(self, limit: int) -> None:
        """Change the number of connections: idle ones close at once, busy ones after their response."""
        self.limit = limit
        for connection in list(self.idle)[: max(0, len(self.slots) - limit)]:
            self._remove(connection)
        surplus = len(self.slots) - limit
        for connection in self.slots:
            connection.surplus = surplus > 0 and connection not in self.idle
            surplus -= connection.surplus
            connection.leave_fast_path()

    def close_idle(self) -> None:
        for connection in list(self.idle):
            self._remove(connection)

    def take_free(self) -> Connection | None:
        """Return an idle connection, or a new one within the limit: a single one until the first has connected."""
        if self.idle:
            return self.idle.pop()
        limit = self.limit if self.results.ever_connected else min(1, self.limit)
        if len(self.slots) >= limit:
            return None
        connection = Connection(
            self._source, self.results, self.results.exchanges[0], self._closed, keepalive=self._plan.keepalive
        )
        self.slots.add(connection)
        return connection

    def send(self, connection: Connection, at: int) -> None:
        """Send the connection's request, over the transport it has if that leads to the right server."""
        if connection.transport is None:
            self.connector.connect(connection)
        elif connection.origin is connection.exchange.origin or connection.origin == connection.exchange.origin:
            connection.send(at)
        else:
            connection.state = SWITCHING
            connection.transport.close()

    def set_idle(self, connection: Connection) -> None:
        """The connection has nothing to send now. If no requests are left, it closes: an idle connection occupies a
        worker of a prefork server, for which requests in flight may be waiting."""
        if self.closed_down or self._source.left <= 0 or connection.surplus or len(self.slots) > self.limit:
            self._remove(connection)
        else:
            connection.state = DISCONNECTED if connection.transport is None else IDLE
            self.idle.add(connection)
        if not self.busy:
            self._idle_reached()

    def connect_failed(self, connection: Connection, error: BaseException) -> None:
        connection.state = DISCONNECTED
        origin = connection.exchange.origin
        if not self.results.ever_connected and not self.closed_down and self.connector.next_address(origin):
            self.connector.connect(connection)
            return
        proxy = self._plan.proxy
        via = "" if proxy is None else proxy.origin.address
        connection.fail("connect", connect_error(error, origin, via, self._plan.bind), CONNECTING)
        self._closed(connection, False)

    def _closed(self, connection: Connection, retry: bool) -> None:
        if connection not in self.slots or connection in self.idle:
            return
        if retry and not self.closed_down:
            self.connector.connect(connection)
            return
        if retry:
            connection.fail("receive", Message("the server closed the connection without a response"), WAITING)
        failures = max(self.results.failed_connects, self.results.silent_closes)
        if failures and not self.closed_down:
            self.idle.add(connection)
            self._loop.call_later(BACK_OFF_S * min(failures, 20), self._resume, connection)
        else:
            self._source.next_request(connection, perf_counter_ns())

    def _resume(self, connection: Connection) -> None:
        if connection in self.idle and connection.state == DISCONNECTED:
            self.idle.discard(connection)
            self._source.next_request(connection, perf_counter_ns())

    def _remove(self, connection: Connection) -> None:
        self.slots.discard(connection)
        self.idle.discard(connection)
        if connection.transport is not None:
            connection.abort()

    def time_out(self, connection: Connection) -> None:
        if connection.state == CONNECTING:
            self.connector.cancel(connection)
            self.connect_failed(connection, TimeoutError())
        else:
            seconds = f"{self._plan.timeout_s:g}"
            reason = Message("no complete response within {timeout} s (-s): is the server stuck?", timeout=seconds)
            connection.fail("timeout", reason)
            connection.abort()

    def overdue(self, at: int, timeout_ns: int) -> tuple[list[Connection], int]:
        """Return the connections whose request started at least ``timeout_ns`` before ``at``, and when to check again.
        Connections that the server takes too long to close are closed."""
        late: list[Connection] = []
        earliest = answered = at
        for connection in self.slots:
            if connection.state in BUSY:
                if at - connection.started >= timeout_ns:
                    late.append(connection)
                elif connection.started < earliest:
                    earliest = connection.started
            elif connection.state == CLOSING:
                if at - connection.sent < CLOSING_NS:
                    answered = min(answered, connection.sent)
                elif connection.transport is not None:
                    connection.transport.abort()
        return late, min(earliest + timeout_ns, answered + CLOSING_NS)

    async def give_up_late(self, timeout_s: float) -> None:
        """Give up requests that take longer than ``timeout_s``, until cancelled."""
        timeout_ns = round(timeout_s * 1e9)
        pause = min(timeout_ns, CLOSING_NS)
        while True:
            await asyncio.sleep(pause / 1e9)
            at = perf_counter_ns()
            late, following = self.overdue(at, timeout_ns)
            least = max(_TIMEOUT_PRECISION_NS, _SWEEP_SHARE * (perf_counter_ns() - at))
            for connection in late:
                self.time_out(connection)
            pause = max(following - perf_counter_ns(), least)

    def close(self) -> None:
        """Close every connection; nothing is counted any more."""
        self.closed_down = True
        for connection in list(self.slots):
            self.connector.cancel(connection)
            self._remove(connection)
        self.connector.close()
