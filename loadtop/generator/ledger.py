"""What became of the requests: counts them, knows what the server looks like, and says when there is no hope left."""

from loadtop.generator.connection import Connection
from loadtop.generator.exchange import Exchange, Head, Reply
from loadtop.generator.plan import Plan
from loadtop.generator.tally import Kind, Tally
from loadtop.generator.tls import tls_seen
from loadtop.generator.transcript import HEADS, Transcript
from loadtop.generator.trouble import answer_trouble
from loadtop.model import ServerSeen

MOST_CONNECT_FAILURES = 10
"""Failed connects in a row after which a server has stopped answering (ab's limit)."""
MOST_SILENT_CLOSES = 100
"""Connections in a row closed without one answer, from the first on, after which this is no HTTP server."""


class Ledger:
    """Counts each ended request once. ``hopeless`` says in one line why it makes no sense to go on, or is empty."""

    def __init__(self, plan: Plan, exchanges: tuple[Exchange, ...]) -> None:
        self.tally = Tally()
        self.server: ServerSeen | None = None
        self.hopeless = ""
        self.refused = 0
        """Failed connects in a row."""
        self.silent = 0
        """Connections in a row that gave no answer."""
        self.ever_connected = False
        self.transcript = Transcript(plan.verbosity) if plan.verbosity >= HEADS else None
        self._plan = plan
        self._exchanges = exchanges
        self._good = False
        self._answers = 0
        self._last_failure = ""
        self._status: int | None = None
        self._statuses_differ = False

    def connected(self) -> None:
        """A connection came about."""
        self.ever_connected = True
        self.refused = 0

    def answered(self, connection: Connection, head: Head, reply: Reply | None, *, extra: bool) -> None:
        """A whole response came."""
        exchange = connection.exchange
        self._answers += 1
        self.silent = 0
        if head.known and not extra:
            head.hits += 1
            return
        if reply is not None:
            self._look(connection, head, reply)
            if self.transcript is not None:
                self.transcript.answered(reply)
        self._count(exchange, head, 1, extra=extra)
        if exchange.full:
            self._forget(exchange)

    def _look(self, connection: Connection, head: Head, reply: Reply) -> None:
        exchange = connection.exchange
        good = 200 <= head.status < 300
        if self._status is None:
            self._status = head.status
        elif self._status != head.status:
            self._statuses_differ = True
        if good and exchange.document is None:
            # What was counted before was not held to this length.
            self.collect()
            exchange.document = head.body
        if self.server is None or (good and not self._good):
            self._good = good
            target, proxy = self._plan.targets[exchange.index], self._plan.proxy
            self.server = ServerSeen(
                software=reply.server,
                hostname=target.host,
                port=target.port,
                path=target.path,
                document_bytes=None if self._plan.any_length else head.body,
                proxy="" if proxy is None else proxy.origin.address,
                **tls_seen(connection.transport),
            )

    def failed(self, exchange: Exchange, kind: Kind, why: str, *, sent: bool) -> None:
        """A request ended without a whole, valid response."""
        counters = self.tally.counters
        counters.requests += 1
        setattr(counters, kind, getattr(counters, kind) + 1)
        if sent:
            counters.sent += exchange.size
        self._last_failure = why
        if kind == "connect":
            self.refused += 1
        elif kind != "timeout":
            self.silent += 1
        if self._plan.keep_going:
            return
        if not self.ever_connected:
            self.hopeless = why
        elif self.refused >= MOST_CONNECT_FAILURES:
            self.hopeless = f"the server stopped answering: {why}"
        elif not self._answers and self.silent >= MOST_SILENT_CLOSES:
            self.hopeless = f"{why}, {self.silent} times and never otherwise: is this an HTTP server?"

    def collect(self) -> None:
        """Bring the counters up to date with the responses known by heart."""
        for exchange in self._exchanges:
            for head in exchange.heads.values():
                if head.hits:
                    self._count(exchange, head, head.hits)
                    head.hits = 0

    def _forget(self, exchange: Exchange) -> None:
        self.collect()
        exchange.forget()

    def _count(self, exchange: Exchange, head: Head, times: int, *, extra: bool = False) -> None:
        counters = self.tally.counters
        counters.requests += times
        right = self._plan.any_length or exchange.document in (None, head.body)
        if extra or not right:
            counters.length += times
        if not 200 <= head.status < 300:
            counters.non_2xx += times
        if head.persistent and self._plan.keepalive:
            counters.keepalive += times
        counters.received += times * head.total
        counters.body += times * head.body
        counters.sent += times * exchange.size

    def restart(self) -> None:
        """The warm-up is over: count from nothing."""
        self.collect()
        self.tally.restart()

    @property
    def message(self) -> str:
        """One line on what is wrong so far, or an empty string."""
        if self.hopeless:
            return self.hopeless
        counters = self.tally.counters
        if self._status is not None and not self._statuses_differ and not 200 <= self._status < 300:
            return answer_trouble(self._status)
        if counters.requests and self._last_failure:
            return self._last_failure
        return ""
