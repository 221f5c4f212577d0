"""The results of a worker's requests: counts them, describes the server, and decides when to give up."""

from loadtop.generator.errors import status_error
from loadtop.generator.exchange import MAX_HEADS, Exchange, Head, ResponseParser
from loadtop.generator.measurements import FailureKind, Measurements
from loadtop.generator.plan import Plan
from loadtop.generator.request_log import VERBOSE_HEADS, VerboseLog
from loadtop.generator.tls import tls_seen
from loadtop.i18n.message import Message
from loadtop.model import ServerSeen

MAX_FAILED_CONNECTS = 10
"""Failed connects in a row after which a server counts as down (ab's limit)."""
MAX_SILENT_CLOSES = 100
"""Connections in a row, from the first one on, closed without a response, after which this is not an HTTP server."""


class Results:
    """Counts each ended request once. ``fatal`` says why it makes no sense to go on.

    ``failed_connects`` and ``silent_closes`` count failed connects and connections without a response, in a row.
    """

    def __init__(self, plan: Plan, exchanges: tuple[Exchange, ...]) -> None:
        self.measurements = Measurements()
        self.server: ServerSeen | None = None
        self.fatal: Message | None = None
        self.failed_connects = self.silent_closes = 0
        self.ever_connected = False
        self.verbose_log = VerboseLog(plan.verbosity) if plan.verbosity >= VERBOSE_HEADS else None
        self._plan = plan
        self._exchanges = exchanges
        self._server_from_2xx = False
        self._any_response = False
        self._last_failure: Message | None = None
        self._statuses: set[int] = set()

    def connected(self) -> None:
        self.ever_connected = True
        self.failed_connects = 0

    def responded(
        self, exchange: Exchange, transport: object, head: Head, parser: ResponseParser | None, *, extra: bool
    ) -> None:
        """Count a whole response. ``parser`` is None if its head was recognised; ``extra``: more data followed it."""
        self._any_response = True
        self.silent_closes = 0
        if head.learnt and not extra:
            head.hits += 1
            return
        if parser is not None:
            self._describe(exchange, transport, head, parser)
            if self.verbose_log is not None:
                self.verbose_log.add_response(parser)
        self._count(exchange, head, 1, extra=extra)
        if len(exchange.heads) >= MAX_HEADS:
            self.count_hits()
            exchange.forget()

    def _describe(self, exchange: Exchange, transport: object, head: Head, parser: ResponseParser) -> None:
        success = 200 <= head.status < 300
        self._statuses.add(head.status)
        if success and exchange.expected_body is None:
            self.count_hits()  # earlier responses are not compared with this length
            exchange.expected_body = head.body
        if self.server is None or (success and not self._server_from_2xx):
            self._server_from_2xx = success
            target, proxy = exchange.target, self._plan.proxy
            self.server = ServerSeen(
                software=parser.server,
                hostname=target.host,
                port=target.port,
                path=target.path,
                document_bytes=None if self._plan.any_length else head.body,
                proxy="" if proxy is None else proxy.origin.address,
                **tls_seen(transport),
            )

    def failed(self, exchange: Exchange, kind: FailureKind, reason: Message) -> None:
        """Count a request that ended without a whole, valid response."""
        counters = self.measurements.counters
        counters.requests += 1
        setattr(counters, kind, getattr(counters, kind) + 1)
        self._last_failure = reason
        if kind == "connect":
            self.failed_connects += 1
        else:
            counters.sent += exchange.size
        if kind not in ("connect", "timeout"):
            self.silent_closes += 1
        if self._plan.keep_going:
            return
        if not self.ever_connected:
            self.fatal = reason
        elif self.failed_connects >= MAX_FAILED_CONNECTS:
            self.fatal = Message("the server stopped answering: {reason}", reason=reason)
        elif not self._any_response and self.silent_closes >= MAX_SILENT_CLOSES:
            self.fatal = Message(
                "{reason}, {times} times and never otherwise: is this an HTTP server?",
                reason=reason,
                times=self.silent_closes,
            )

    def count_hits(self) -> None:
        """Add the responses with learnt heads to the counters."""
        for exchange in self._exchanges:
            for head in exchange.heads.values():
                if head.hits:
                    self._count(exchange, head, head.hits)
                    head.hits = 0

    def _count(self, exchange: Exchange, head: Head, times: int, *, extra: bool = False) -> None:
        counters = self.measurements.counters
        counters.requests += times
        right_length = self._plan.any_length or exchange.expected_body in (None, head.body)
        if extra or not right_length:
            counters.length += times
        if not 200 <= head.status < 300:
            counters.non_2xx += times
        if head.persistent and self._plan.keepalive:
            counters.keepalive += times
        counters.received += times * head.total
        counters.body += times * head.body
        counters.sent += times * exchange.size

    def restart(self) -> None:
        self.count_hits()
        self.measurements.restart()

    @property
    def message(self) -> Message | None:
        if self.fatal is not None:
            return self.fatal
        if len(self._statuses) == 1 and not 200 <= (status := min(self._statuses)) < 300:
            return status_error(status)
        return self._last_failure if self.measurements.counters.requests else None
