"""All connections of a worker: gives them transports, hears what became of them, knows which rest."""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.generator.connection import AWAY, BUSY, CLOSING, DIALLING, RESTING, SWITCHING, Connection, Pace
from loadtop.generator.dial import Dialer
from loadtop.generator.exchange import Exchange, Head, Reply
from loadtop.generator.ledger import Ledger
from loadtop.generator.plan import Plan
from loadtop.generator.tally import Kind, Tally
from loadtop.generator.trouble import connect_trouble

BACK_OFF_S = 0.05
"""The pause after a failed connect, growing with each in a row up to 20 times this."""
CLOSING_NS = 1_000_000_000
"""How long a server that said it would close may take before the connection is closed from here."""


class Crowd:
    """The slots for connections. ``quiet`` is called when none is busy any more, ``hopeless`` when the ledger has given
    up, ``ready`` when the first connection of all came about.

    Longer than 200 lines: every way in which a connection can begin, end and be lost is weighed here, in one place.
    """

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        loop: asyncio.AbstractEventLoop,
        quiet: Callable[[], None],
        hopeless: Callable[[], None],
        ready: Callable[[], None],
    ) -> None:
        self.members: set[Connection] = set()
        self.resting: set[Connection] = set()
        self.limit = 0
        self.over = False
        self.uneasy = True
        self.dialer = Dialer(plan, loop, self.unreachable)
        self._plan = plan
        self._ledger = ledger
        self._loop = loop
        self._quiet = quiet
        self._hopeless = hopeless
        self._ready = ready
        self._pace: Pace | None = None
        self._first: Exchange | None = None

    @property
    def tally(self) -> Tally:
        return self._ledger.tally

    @property
    def busy(self) -> int:
        return len(self.members) - len(self.resting)

    @property
    def connected_now(self) -> int:
        """Open connections."""
        return sum(1 for each in self.members if each.transport is not None)

    def follow(self, pace: Pace, first: Exchange, limit: int) -> None:
        """From now on ``pace`` says when to send, on at most ``limit`` connections."""
        self._pace = pace
        self._first = first
        self.limit = limit
        for connection in self.members:
            connection.pace = pace
        self.adjust()

    def adjust(self) -> None:
        """Bring the number down to the limit: resting connections go at once, busy ones when their request is done."""
        surplus = len(self.members) - self.limit
        for connection in list(self.resting)[: max(0, surplus)]:
            self._remove(connection)
        surplus = len(self.members) - self.limit
        for connection in self.members:
            connection.leaving = surplus > 0 and connection not in self.resting
            surplus -= connection.leaving
            connection.cool()

    def dismiss(self) -> None:
        """Nothing more will be sent: close the connections that have nothing to do."""
        for connection in list(self.resting):
            self._remove(connection)

    def free(self) -> Connection | None:
        """A connection with nothing to do: a resting one, or a new one where the limit allows it. Before the first
        connection of all came about, only one is tried."""
        if self.resting:
            return self.resting.pop()
        most = self.limit if self._ledger.ever_connected else min(1, self.limit)
        if len(self.members) >= most or self._pace is None or self._first is None:
            return None
        connection = Connection(self._pace, self, self._first, keeps=self._plan.keepalive)
        self.members.add(connection)
        return connection

    def begin(self, connection: Connection, at: int) -> None:
        """Send the connection's request: over the transport it has, where that leads to the right server."""
        if connection.transport is None:
            self._dial(connection)
        elif connection.origin is connection.exchange.origin or connection.origin == connection.exchange.origin:
            connection.send(at)
        else:
            connection.state = SWITCHING
            connection.transport.close()

    def rest(self, connection: Connection) -> None:
        """Nothing to do for this connection now. When nothing is left to send at all, it is closed at once: an idle
        connection holds a worker of a prefork server, for which requests still in flight may be waiting."""
        idle = self._pace is None or self._pace.left <= 0
        if self.over or idle or connection.leaving or len(self.members) > self.limit:
            self._remove(connection)
        else:
            connection.state = AWAY if connection.transport is None else RESTING
            self.resting.add(connection)
        if not self.busy:
            self._quiet()

    def connected(self, connection: Connection) -> None:  # noqa: ARG002 - part of the protocol
        """Told by a connection: it has a transport."""
        first = not self._ledger.ever_connected
        self._ledger.connected()
        self.uneasy = False
        if first:
            self._loop.call_soon(self._ready)

    def answered(self, connection: Connection, head: Head, reply: Reply | None, *, extra: bool) -> None:
        """Told by a connection: a whole response came."""
        self._ledger.answered(connection, head, reply, extra=extra)
        connection.pace.shorten()

    def failed(self, connection: Connection, kind: Kind, why: str) -> None:
        """Told by a connection: its request ended without a whole, valid response."""
        self._ledger.failed(connection.exchange, kind, why, sent=kind != "connect")
        self.uneasy = True
        connection.pace.short_way = False
        if self._ledger.hopeless:
            self._hopeless()

    def unreachable(self, connection: Connection, error: BaseException) -> None:
        """Told by the dialer: no transport came about."""
        connection.state = AWAY
        origin = connection.exchange.origin
        if not self._ledger.ever_connected and not self.over and self.dialer.another_place(origin):
            self._dial(connection)
            return
        proxy = self._plan.proxy
        via = "" if proxy is None else proxy.origin.address
        self.failed(connection, "connect", connect_trouble(error, origin, via, self._plan.bind))
        self.lost(connection, again=False)

    def lost(self, connection: Connection, *, again: bool) -> None:
        """Told by a connection: its transport is gone; ``again`` asks for a new one for the same request."""
        if connection not in self.members:
            return
        if connection in self.resting:
            return
        if again and not self.over:
            self._dial(connection)
            return
        if again:
            self.failed(connection, "receive", "the server closed the connection without an answer")
        failures = max(self._ledger.refused, self._ledger.silent)
        if failures and not self.over:
            self.resting.add(connection)
            self._loop.call_later(BACK_OFF_S * min(failures, 20), self._resume, connection)
        elif self._pace is not None:
            self._pace.proceed(connection, perf_counter_ns())

    def _resume(self, connection: Connection) -> None:
        if connection in self.resting and connection.state == AWAY and self._pace is not None:
            self.resting.discard(connection)
            self._pace.proceed(connection, perf_counter_ns())

    def _dial(self, connection: Connection) -> None:
        connection.origin = connection.exchange.origin
        self.dialer.dial(connection)

    def _remove(self, connection: Connection) -> None:
        self.members.discard(connection)
        self.resting.discard(connection)
        if connection.transport is not None:
            connection.drop()

    def give_up(self, connection: Connection) -> None:
        """The connection's request has taken too long."""
        seconds = f"{self._plan.timeout_s:g} s"
        if connection.state == DIALLING:
            self.dialer.cancel(connection)
            self.unreachable(connection, TimeoutError())
        else:
            self.failed(connection, "timeout", f"no complete response within {seconds}: is the server stuck? (-s)")
            connection.drop()

    def overdue(self, at: int, timeout_ns: int) -> tuple[list[Connection], int]:
        """The connections whose request began ``timeout_ns`` before ``at`` or earlier, and when the next look makes
        sense: :data:`CLOSING_NS` later at the latest. A server that takes too long to close is helped on the way."""
        late: list[Connection] = []
        earliest = answered = at
        for connection in self.members:
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

    def disband(self) -> None:
        """Close every connection; nothing is counted any more."""
        self.over = True
        for connection in list(self.members):
            self.dialer.cancel(connection)
            self._remove(connection)
        self.dialer.close()
