"""One connection under load: sends a request, recognises the end of the response, and records the times."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Protocol, cast

from loadtop.generator.exchange import NO_HEAD, Exchange, Head, InvalidResponseError, ResponseParser
from loadtop.generator.notable import STATUS, NotableRequests, Noted
from loadtop.generator.plan import Origin
from loadtop.generator.results import FailureKind, Results
from loadtop.i18n import Message

# The states of a connection:
DISCONNECTED = 0
CONNECTING = 1
FAST = 2  # a request was sent on a reused connection, and its response may take the fast path
WAITING = 3  # a request was sent, and no byte of the response has arrived
READING_BODY = 4  # the head was recognised; the rest of the body is counted
PARSING = 5
IDLE = 6  # connected, without a request
CLOSING = 7  # the response is complete, and the connection is about to close
ABORTED = 8  # given up; the transport is about to report that it is closed
SWITCHING = 9  # about to close, because the next request goes to another server

BUSY = (CONNECTING, FAST, WAITING, READING_BODY, PARSING)

_LARGE_REQUEST = 16384


class RequestSource(Protocol):
    """Decides when a free connection sends its next request.

    ``left`` is how many requests may still be sent. While ``fast_path`` is set, a connection that is free sends the
    same request again as long as any are left, without asking :meth:`next_request`. A failure clears it, and the next
    response sets it again if it is ``fast_path_possible``.
    """

    left: int
    fast_path: bool
    fast_path_possible: bool

    def next_request(self, connection: "Connection", at: int) -> None:
        """The connection is free: send its next request or leave it idle."""


@dataclass(slots=True, eq=False)
class Connection(asyncio.Protocol):
    """A slot for one connection at a time; it outlives its transports. Times are nanoseconds of ``perf_counter_ns``.

    ``started``: when the request began; a new connection counts as part of it. ``intended``: when the open model wanted
    it to begin (0 in the closed model). ``connect_time``: how long connecting took (0 on a reused connection).
    ``surplus``: close the connection after its response. ``closed`` is called when the transport is closed, with
    whether the same request needs a new one. ``reusable_transport`` is what the connector keeps for the next one.
    """

    source: RequestSource
    results: Results
    exchange: Exchange
    closed: "Callable[[Connection, bool], None]"
    keepalive: bool = field(kw_only=True)
    origin: Origin = field(init=False)
    transport: asyncio.Transport | None = None
    reusable_transport: asyncio.Transport | None = None
    parser: ResponseParser | None = None
    head: Head = NO_HEAD
    state: int = DISCONNECTED
    surplus: bool = False
    used: bool = False
    started: int = 0
    intended: int = 0
    connect_started: int = 0
    connect_time: int = 0
    sent: int = 0
    first_byte: int = 0
    trace_id: bytes = b""
    remaining: int = 0
    notable: NotableRequests = field(init=False)
    _record: Callable[[int], None] = field(init=False)
    _write: Callable[[bytes], None] = field(init=False)

    def __post_init__(self) -> None:
        self.origin = self.exchange.origin
        self._record = self.results.totals.append
        self.notable = self.results.notable

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)
        if self.exchange.size > _LARGE_REQUEST:
            transport.set_write_buffer_limits(0)
        if self.state == CONNECTING:
            at = perf_counter_ns()
            self.use_transport(transport, at)
            self.send(at)
        else:
            self.transport = transport
            self.abort()

    def use_transport(self, transport: asyncio.Transport, at: int) -> None:
        """Use this transport from now on; it was connected at ``at``."""
        self.transport = transport
        self._write = transport.write
        self.connect_time = at - self.connect_started
        self.used = False
        self.parser = None
        if self.results.notify_connected:
            self.results.connected()

    def send(self, at: int) -> None:
        self.expect_response(at, fast=self.used and self.source.fast_path and not self.surplus)
        self._write(self.request_to_send())

    def request_to_send(self) -> bytes:
        """The bytes of the request that is sent now."""
        exchange = self.exchange
        if exchange.traced:
            self.trace_id = exchange.renew()
        return exchange.request

    def expect_response(self, at: int, *, fast: bool) -> None:
        self.sent = at
        self.state = FAST if fast else WAITING

    def leave_fast_path(self) -> None:
        """Handle the next response in full."""
        if self.state == FAST:
            self.state = WAITING
            if self.used:
                self.sent = self.started

    def resume_writing(self) -> None:
        """All of a large request is on its way to the server, which may have responded already."""
        if self.state == WAITING:
            self.sent = perf_counter_ns()

    def data_received(self, data: bytes) -> None:
        """Handle bytes of a response. The first branch is the fast path: a whole response with a learnt head on a
        reused connection, in the closed model with one target. It does only what the full path would do."""
        if self.state == FAST:
            exchange = self.exchange
            head = exchange.head
            if len(data) == head.total and data.startswith(exchange.prefix):
                at = perf_counter_ns()
                took = at - self.started
                self._record(took)
                head.hits += 1
                if took > self.notable.least_ns:
                    self.note_reused(at)
                source = self.source
                if source.left > 0:
                    source.left -= 1
                    self.started = at
                    self._write(exchange.request)
                else:
                    source.next_request(self, at)
                return
            self.sent = self.started
        self._receive(data, perf_counter_ns())

    def _receive(self, data: bytes, at: int) -> None:
        state = self.state
        if state == READING_BODY:
            self.remaining -= len(data)
            if self.remaining <= 0:
                self._complete(self.head, None, at, extra=self.remaining < 0)
        elif state in (FAST, WAITING):
            self.first_byte = at
            head = self.exchange.find(data)
            if head is None:
                self._parse(data, at)
                return
            self.remaining = head.total - len(data)
            if self.remaining > 0:
                self.head = head
                self.state = READING_BODY
            else:
                self._complete(head, None, at, extra=self.remaining < 0)
        elif state == PARSING:
            self._parse(data, at)
        elif state == IDLE:
            self.abort()
        # CLOSING and ABORTED: the last response has ended; what still arrives does not matter.

    def _parse(self, data: bytes, at: int) -> None:
        parser = self.parser
        if parser is None or parser.is_head != self.exchange.is_head:
            parser = self.parser = ResponseParser(is_head=self.exchange.is_head)
        elif self.state != PARSING:
            parser.reset()
        self.state = PARSING
        try:
            parser.feed(data)
        except InvalidResponseError as error:
            reason = Message("the response is not valid HTTP/1.1 ({reason})", reason=error.message)
            self.fail("exceptions", reason)
            self.abort()
            return
        if parser.complete:
            self._complete_parsed(parser, at)

    def _complete_parsed(self, parser: ResponseParser, at: int) -> None:
        head = Head(parser.status, parser.received, parser.body, persistent=parser.persistent)
        prefix = parser.prefix
        exchange = self.exchange  # completing a response may give the connection another one
        if exchange.is_head:
            self.parser = None
        self._complete(head, parser, at, extra=parser.extra)
        if prefix is not None:
            exchange.learn(prefix, head)

    def note_reused(self, at: int) -> None:
        """Keep a slow request of the fast path, on a reused connection: its response came in one piece."""
        exchange, started = self.exchange, self.started
        self.notable.add(Noted(exchange, started, 0, started, at, at, exchange.head.status, exchange.prefix))

    def note_new(self, at: int) -> None:
        """Keep a slow request of the fast path, on a connection of its own."""
        exchange, connect_time = self.exchange, self.connect_time
        request = Noted(exchange, self.started, connect_time, self.sent, at, at, exchange.head.status, exchange.prefix)
        self.notable.add(request)

    def _complete(self, head: Head, parser: ResponseParser | None, at: int, *, extra: bool) -> None:
        results, exchange = self.results, self.exchange
        took = at - self.started
        if self.connect_time == 0 and self.first_byte == at and self.sent == self.started:
            self._record(took)
        else:
            results.parts.extend((took, self.connect_time, self.first_byte - self.sent))
        if took > self.notable.least_ns:
            self.notable.add(self._noted(at, head, parser))
        if self.intended:
            results.corrected.append(at - self.intended)
        if results.request_log is not None:
            results.request_log.add(self.started, at - self.started, self.connect_time, self.first_byte - self.sent)
        failure = results.responded(exchange, self.transport, head, parser, extra=extra)
        if failure and not self.notable.knows(failure, head.status if failure == STATUS else 0):
            self.notable.add_failure(self._noted(at, head, parser)._replace(failure=failure))
        self.source.fast_path = self.source.fast_path_possible
        self.used = True
        self.connect_time = 0
        if extra:
            self.abort()
        elif head.persistent and self.keepalive:
            self.source.next_request(self, at)
        else:
            self.state = CLOSING
            self.sent = at
            if head.persistent and self.transport is not None:
                self.transport.close()

    def _noted(self, at: int, head: Head, parser: ResponseParser | None) -> Noted:
        shown = b""
        if self.notable.keeps_heads:
            shown = self.exchange.head_bytes(head) if parser is None else parser.head
        times = self.started, self.connect_time, self.sent, self.first_byte, at
        return Noted(self.exchange, *times, head.status, shown, self.trace_id)

    def fail(self, kind: FailureKind, reason: Message, state: int | None = None) -> None:
        """The request has failed, in this state of the connection (default: the present one)."""
        self.source.fast_path = False
        if not self.notable.knows(kind):
            self._note_failure(kind, reason, self.state if state is None else state)
        self.results.failed(self.exchange, kind, reason)

    def _note_failure(self, kind: FailureKind, reason: Message, state: int) -> None:
        sent = None if state == CONNECTING else self.started if state == FAST and self.used else self.sent
        first_byte = self.first_byte if state in (READING_BODY, PARSING) else None
        times = self.started, self.connect_time, sent, first_byte, perf_counter_ns()
        trace_id = b"" if sent is None else self.trace_id
        self.notable.add_failure(Noted(self.exchange, *times, trace_id=trace_id, failure=kind, reason=reason))

    def abort(self) -> None:
        """Give the transport up; ``connection_lost`` follows."""
        self.state = ABORTED
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        state = self.state
        self.state = DISCONNECTED
        self.transport = None
        if state == PARSING and self.parser is not None and exc is None and self.parser.end():
            self._complete_parsed(self.parser, perf_counter_ns())
            self.state = DISCONNECTED
        elif state == SWITCHING or (state in (FAST, WAITING) and self.used):
            # A server may close a kept connection at any time (RFC 9112 section 9.3.1): that is not a failure.
            self.closed(self, True)
            return
        elif state in BUSY:
            reason = None if exc is None else Message(" ({reason})", reason=str(exc))
            if state in (FAST, WAITING):
                message = Message("the server closed the connection without a response{reason}", reason=reason)
            else:
                message = Message("the server closed the connection in the middle of a response{reason}", reason=reason)
            self.fail("receive", message, state)
        self.closed(self, False)
