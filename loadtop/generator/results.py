"""The results of a worker's requests: counts and times, what is seen of the server, and when to give up."""

from array import array
from asyncio import Transport
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import sub
from typing import Literal

from msgspec.structs import replace

from loadtop.generator.errors import status_error
from loadtop.generator.exchange import MAX_HEADS, Exchange, Head, ResponseParser
from loadtop.generator.notable import STATUS, NotableRequests
from loadtop.generator.plan import Plan
from loadtop.generator.request_log import VERBOSE_HEADS, RequestLog, VerboseLog
from loadtop.generator.tls import tls_seen
from loadtop.i18n import Message
from loadtop.model import Latencies, ServerSeen
from loadtop.model.histogram import EMPTY, distribution, merge

FailureKind = Literal["connect", "receive", "length", "exceptions", "timeout"]
"""The classes of failed requests, named like the fields of :class:`loadtop.model.Failures`."""
MAX_FAILED_CONNECTS = 10  # failed connects in a row after which a server counts as down (ab's limit)
TOO_MANY_REQUESTS = 429  # the one status below 500 with which a server says that it is the limit (RFC 6585)
MAX_SILENT_CLOSES = 100  # connections closed in silence, from the first on: this is not an HTTP server


@dataclass(slots=True)
class Counters:
    """Counters since the start or the warm-up, as in :class:`loadtop.model.LoadSample`; bytes on the wire."""

    requests: int = 0
    non_2xx: int = 0
    server_errors: int = 0
    keepalive_requests: int = 0
    received_bytes: int = 0
    body_bytes: int = 0
    sent_bytes: int = 0
    late: int = 0
    unsent: int = 0
    failures: Counter[str] = field(default_factory=Counter[str])


class Results:
    """Counts each ended request once, and keeps the nanoseconds of every response since the last :meth:`take`.

    A response in one piece on a reused connection has one number in ``totals``: connect is 0, and processing and
    waiting are the total. Any other has three in a row in ``parts``: total, connect, waiting. ``corrected`` has one
    per response in the open model. ``request_log`` gets a row for each response, ``notable`` the slowest requests and
    the first failures.

    ``failed_connects`` and ``silent_closes`` count failed connects and connections without a response, in a row. While
    ``notify_connected`` is set, connections call :meth:`connected`. ``first_connected`` is called after the first
    successful connect of all, ``gave_up`` when it makes no sense to go on, with the reason.
    """

    def __init__(
        self,
        plan: Plan,
        exchanges: tuple[Exchange, ...],
        first_connected: Callable[[], object],
        gave_up: Callable[[Message], object],
        request_log: RequestLog | None = None,
    ) -> None:
        self.counters = Counters()
        self.totals = array("q")
        self.parts = array("q")
        self.corrected = array("q")
        self.request_log = request_log
        self.notable = NotableRequests(keeps_heads=plan.verbosity >= 1)
        self.server: ServerSeen | None = None
        self.failed_connects = self.silent_closes = 0
        self.ever_connected = False
        self.notify_connected = True
        self.verbose_log = VerboseLog(plan.verbosity) if plan.verbosity >= VERBOSE_HEADS else None
        self._plan = plan
        self.exchanges = exchanges
        self._first_connected = first_connected
        self._gave_up = gave_up
        self._server_from_2xx = False
        self._any_response = False
        self._last_failure: Message | None = None
        self._statuses: set[int] = set()

    def connected(self) -> None:
        self.notify_connected = False
        self.failed_connects = 0
        if not self.ever_connected:
            self.ever_connected = True
            self._first_connected()

    def responded(
        self, exchange: Exchange, transport: Transport | None, head: Head, parser: ResponseParser | None, *, extra: bool
    ) -> str:
        """Count a whole response. ``parser`` is None if its head was recognised; ``extra``: more data followed it.

        Return its kind of failure, or an empty text. Of responses with a learnt head only the first is reported.
        """
        self._any_response = True
        self.silent_closes = 0
        if head.learnt and not extra:
            head.hits += 1
            return ""
        if parser is not None:
            self._describe(exchange, transport, head, parser)
            if self.verbose_log is not None:
                self.verbose_log.add_response(parser)
        self._count(exchange, head, 1, extra=extra)
        if len(exchange.heads) >= MAX_HEADS:
            self.count_hits()
            exchange.forget()
        if extra or not self._has_right_length(exchange, head):
            return "length"
        return "" if 200 <= head.status < 300 else STATUS

    def _describe(self, exchange: Exchange, transport: Transport | None, head: Head, parser: ResponseParser) -> None:
        success = 200 <= head.status < 300
        self._statuses.add(head.status)
        if success and exchange.expected_body is None:
            self.count_hits()  # earlier responses are not compared with this length
            exchange.forget()  # later ones are: the first of each head comes through the parser again
            exchange.expected_body = head.body
        if self.server is None or (success and not self._server_from_2xx):
            self._server_from_2xx = success
            target, proxy = exchange.target, self._plan.proxy
            self.server = ServerSeen(
                software=parser.server,
                hostname=target.origin.host,
                port=target.origin.port,
                path=target.path,
                document_bytes=None if self._plan.any_length else head.body,
                proxy="" if proxy is None else proxy.origin.address,
                **tls_seen(transport),
            )

    def failed(self, exchange: Exchange, kind: FailureKind, reason: Message) -> None:
        """Count a request that ended without a whole, valid response."""
        counters = self.counters
        counters.requests += 1
        counters.failures[kind] += 1
        self._last_failure = reason
        self.notify_connected = True
        if kind == "connect":
            self.failed_connects += 1
        else:
            counters.sent_bytes += exchange.size
        if kind not in ("connect", "timeout"):
            self.silent_closes += 1
        if self._plan.keep_going:
            return
        if not self.ever_connected:
            self._gave_up(reason)
        elif self.failed_connects >= MAX_FAILED_CONNECTS:
            self._gave_up(Message("the server stopped answering: {reason}", reason=reason))
        elif not self._any_response and self.silent_closes >= MAX_SILENT_CLOSES:
            self._gave_up(
                Message(
                    "{reason} for all {times} requests: is this an HTTP server?",
                    reason=reason,
                    times=self.silent_closes,
                )
            )

    def count_hits(self) -> None:
        """Add the responses with learnt heads to the counters."""
        for exchange in self.exchanges:
            for head in exchange.heads.values():
                if head.hits:
                    self._count(exchange, head, head.hits)
                    head.hits = 0

    def _count(self, exchange: Exchange, head: Head, times: int, *, extra: bool = False) -> None:
        counters = self.counters
        counters.requests += times
        if extra or not self._has_right_length(exchange, head):
            counters.failures["length"] += times
        if not 200 <= head.status < 300:
            counters.non_2xx += times
        if head.status >= 500 or head.status == TOO_MANY_REQUESTS:
            counters.server_errors += times
        if head.persistent and self._plan.keepalive:
            counters.keepalive_requests += times
        counters.received_bytes += times * head.total
        counters.body_bytes += times * head.body
        counters.sent_bytes += times * exchange.size

    def _has_right_length(self, exchange: Exchange, head: Head) -> bool:
        return self._plan.any_length or exchange.expected_body in (None, head.body)

    def take(self, *, corrected: bool) -> Latencies | None:
        """Return the distributions since the last call; None where no request ended since then."""
        # The arrays stay the same objects: connections hold their append methods.
        reused = distribution(_take_microseconds(self.totals))
        parts = _take_microseconds(self.parts)
        intended = _take_microseconds(self.corrected)
        if self.request_log is not None:
            self.request_log.flush()
        total, connect = parts[::3], parts[1::3]
        if not reused.count and not total:
            return None
        zeros = replace(EMPTY, count=reused.count, buckets=(0,), counts=(reused.count,)) if reused.count else EMPTY
        return Latencies(
            total=merge((reused, distribution(total))),
            connect=merge((zeros, distribution(connect))),
            processing=merge((reused, distribution(list(map(sub, total, connect))))),
            waiting=merge((reused, distribution(parts[2::3]))),
            corrected=distribution(intended) if corrected else None,
        )

    def restart(self) -> None:
        """Forget everything: the warm-up is over."""
        self.count_hits()
        for exchange in self.exchanges:
            exchange.forget()  # so that the first failure of each kind is seen again
        self.notable.restart()
        self.take(corrected=False)
        if self.request_log is not None:
            self.request_log.restart()
        self.counters = Counters()

    @property
    def message(self) -> Message | None:
        """What is wrong, if something is."""
        if len(self._statuses) == 1 and not 200 <= (status := min(self._statuses)) < 300:
            return status_error(status)
        return self._last_failure if self.counters.requests else None


def _take_microseconds(times: "array[int]") -> list[int]:
    """Return the nanoseconds as microseconds and empty the array."""
    values = [nanoseconds // 1000 for nanoseconds in times]
    del times[:]
    return values
