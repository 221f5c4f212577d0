"""The slowest requests of a worker, and the first of each kind of failure, since the start or the end of the warm-up.

Each request's time is compared with :attr:`NotableRequests.least_ns`. Only what is slower comes here, where it is kept
as it was measured; records are made for reports.
"""

import heapq
import time
from collections.abc import Callable, Iterable
from itertools import count
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from loadtop.i18n import Text
from loadtop.i18n.outside import printable
from loadtop.model import RequestRecord, Requests
from loadtop.model.secrets import header_without_secrets, url_without_secrets

if TYPE_CHECKING:
    from loadtop.generator.exchange import Exchange  # with httptools, which only workers need

MOST_SLOW = 20
MOST_KINDS = 30  # kinds of failures, each status of its own among them
MAX_HEAD_TEXT = 1000  # characters of a URL or a head that are kept: all lists together have to fit into a frame

STATUS = "status"
"""The kind of failure of a whole response whose status is not 2xx."""


class Noted(NamedTuple):
    """A request as it was measured, in nanoseconds of ``perf_counter_ns``: what it waited for begins with each of these
    times. ``connected``, ``sent`` and ``first_byte`` are ``None`` where it did not get so far, ``connect_time`` and
    ``status`` are 0 without a connect and without a status. ``head`` is that of the response, where heads are kept."""

    exchange: "Exchange"
    started: int
    connect_time: int
    sent: int | None
    first_byte: int | None
    ended: int
    status: int = 0
    head: bytes = b""
    trace_id: bytes = b""
    failure: str = ""
    reason: Text = ""


class NotableRequests:
    """A request that takes longer than ``least_ns`` is one of the slowest so far. ``keeps_heads``: with the heads of
    request and response, without secrets."""

    __slots__ = ("_changed", "_failures", "_number", "_slowest", "keeps_heads", "least_ns")

    def __init__(self, *, keeps_heads: bool) -> None:
        self.keeps_heads = keeps_heads
        self._number = count()
        self.restart()

    def restart(self) -> None:
        """Forget everything: the warm-up is over."""
        self.least_ns = 0
        self._slowest: list[tuple[int, int, Noted]] = []
        self._failures: dict[tuple[str, int], Noted] = {}
        self._changed = True

    def add(self, request: Noted) -> None:
        """Keep one that took longer than :attr:`least_ns`; the fastest of those that are kept goes."""
        entry = request.ended - request.started, -next(self._number), request
        if len(self._slowest) < MOST_SLOW:
            heapq.heappush(self._slowest, entry)
        else:
            heapq.heapreplace(self._slowest, entry)
        if len(self._slowest) == MOST_SLOW:
            self.least_ns = self._slowest[0][0]
        self._changed = True

    def knows(self, failure: str, status: int = 0) -> bool:
        """Whether there was such a failure, or there is no room for another kind."""
        return (failure, status) in self._failures or len(self._failures) >= MOST_KINDS

    def add_failure(self, request: Noted) -> None:
        """Keep the first of its kind."""
        key = request.failure, request.status if request.failure == STATUS else 0
        if not self.knows(*key):
            self._failures[key] = request
            self._changed = True

    def take(self) -> Requests | None:
        """All that is kept; ``None`` where nothing has changed since the last call."""
        if not self._changed:
            return None
        self._changed = False
        since_epoch_ns = time.time_ns() - perf_counter_ns()
        slowest = (request for _, _, request in sorted(self._slowest, reverse=True))
        return Requests(
            slowest=tuple(self._record(each, since_epoch_ns) for each in slowest),
            failures=tuple(self._record(each, since_epoch_ns) for each in self._failures.values()),
        )

    def _record(self, request: Noted, since_epoch_ns: int) -> RequestRecord:
        exchange, started, ended = request.exchange, request.started, request.ended
        connecting = request.sent is None
        return RequestRecord(
            started=(started + since_epoch_ns) / 1e9,
            method=exchange.target.method,
            url=url_without_secrets(exchange.target.url)[:MAX_HEAD_TEXT],
            total_ms=_ms(ended - started),
            connect_ms=_ms(ended - started if connecting else request.connect_time),
            sending_ms=None if request.sent is None else _ms(request.sent - started - request.connect_time),
            waiting_ms=None if request.sent is None else _ms((request.first_byte or ended) - request.sent),
            receiving_ms=None if request.first_byte is None else _ms(ended - request.first_byte),
            status=request.status or None,
            failure=request.failure,
            reason=request.reason,
            trace_id=request.trace_id.decode(),
            request_head=_lines(exchange.request, header_without_secrets) if self.keeps_heads else "",
            response_head=_lines(request.head, url_without_secrets) if self.keeps_heads else "",
        )


def merged(lists: Iterable[Requests | None]) -> Requests:
    """The slowest of all, and the earliest of each kind of failure: exact, whatever the order."""
    known = [each for each in lists if each is not None]
    slowest = sorted(
        (record for each in known for record in each.slowest), key=lambda record: -(record.total_ms or 0.0)
    )
    failures: dict[tuple[str, int | None], RequestRecord] = {}
    for record in sorted((record for each in known for record in each.failures), key=lambda record: record.started):
        failures.setdefault((record.failure, record.status if record.failure == STATUS else None), record)
    return Requests(tuple(slowest[:MOST_SLOW]), tuple(failures.values())[:MOST_KINDS])


def _ms(nanoseconds: int) -> float:
    return max(0, nanoseconds) // 1000 / 1000


def _lines(head: bytes, without_secrets: Callable[[str], str]) -> str:
    """A head as lines of text, headers without secrets; a server's control characters become codes."""
    first, *headers = head.partition(b"\r\n\r\n")[0][:MAX_HEAD_TEXT].decode("latin-1").split("\r\n")
    lines = (url_without_secrets(first), *map(without_secrets, headers))
    return "\n".join(map(printable, lines))[:MAX_HEAD_TEXT]
