"""One connection under load: it sends a request, recognises the end of the response, notes the times, and goes on."""

import asyncio
from time import perf_counter_ns
from typing import Protocol, cast

from loadtop.generator.exchange import NEVER, BrokenResponseError, Exchange, Head, Reply
from loadtop.generator.tally import Kind, Tally

AWAY = 0
"""Not connected, and nothing to do."""
DIALLING = 1
HOT = 2
"""A request is out on a reused connection, and the answer can take the short way."""
WAITING = 3
"""A request is out, and no byte of the answer has come."""
BODY = 4
"""The head was known by heart; the rest of the body is counted."""
PARSING = 5
RESTING = 6
"""Connected, and nothing to do."""
CLOSING = 7
"""The answer is complete, and the connection is about to end."""
DROPPED = 8
"""Given up on; the transport will soon say that it is gone."""
SWITCHING = 9
"""About to end, because the next request goes to another server."""

BUSY = (DIALLING, HOT, WAITING, BODY, PARSING)

_LARGE_REQUEST = 16384


class Outgoing(Protocol):
    """The part of :class:`asyncio.Transport` that a connection needs."""

    def write(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


class Pace(Protocol):
    """Decides when a free connection sends its next request.

    ``left`` is how many requests may still be sent by whoever is free; ``short_way`` says that free connections send
    the same request again at once while any is left, so that they need not ask.
    """

    left: int
    short_way: bool

    def shorten(self) -> None:
        """Allow the short way again, where it is possible at all; a failure forbade it."""
        ...

    def proceed(self, connection: "Connection", at: int) -> None:
        """The connection is free: give it something to do or let it rest."""
        ...


class Watch(Protocol):
    """Is told what became of each request and of the connection itself."""

    uneasy: bool
    """Whether it wants to know of new connections: before the first of all, and after failures."""

    @property
    def tally(self) -> Tally: ...

    def connected(self, connection: "Connection") -> None: ...

    def answered(self, connection: "Connection", head: Head, reply: Reply | None, *, extra: bool) -> None: ...

    def failed(self, connection: "Connection", kind: Kind, why: str) -> None: ...

    def lost(self, connection: "Connection", *, again: bool) -> None:
        """The transport is gone; ``again`` asks for a new one for the same request."""
        ...


class Connection(asyncio.Protocol):
    """A slot for one connection at a time; it outlives its transports. Times are nanoseconds of ``perf_counter_ns``.

    ``started`` is when the request began, connecting included; ``intended`` when it should have begun (open model,
    else 0); ``connecting`` how long connecting took (0 on a reused connection). ``line`` is for whoever dials: what it
    keeps from one transport to the next.

    Longer than 200 lines: each request passes through here, and every further object on that way costs time.
    """

    __slots__ = (
        "_full",
        "_record",
        "_write",
        "connecting",
        "dialled",
        "exchange",
        "first",
        "head",
        "intended",
        "keeps",
        "leaving",
        "line",
        "origin",
        "pace",
        "remaining",
        "reply",
        "sent",
        "started",
        "state",
        "transport",
        "used",
        "watch",
    )

    def __init__(self, pace: Pace, watch: Watch, exchange: Exchange, *, keeps: bool) -> None:
        self.pace = pace
        self.watch = watch
        self.exchange = exchange
        self.origin = exchange.origin
        self.keeps = keeps
        self.transport: Outgoing | None = None
        self.line: Outgoing | None = None
        self._record = watch.tally.simple.append
        self._full = watch.tally.full.append
        self.state = AWAY
        self.leaving = self.used = False
        self.started = self.intended = self.dialled = self.connecting = self.sent = self.first = self.remaining = 0
        self.head = NEVER
        self.reply: Reply | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected (and, with https, encrypted): send the request that waits for it."""
        transport = cast("asyncio.Transport", transport)
        if self.exchange.size > _LARGE_REQUEST:
            transport.set_write_buffer_limits(0)
        if self.state == DIALLING:
            at = perf_counter_ns()
            self.opened(transport, at)
            self.send(at)
        else:
            self.transport = transport
            self.drop()

    def opened(self, transport: Outgoing, at: int) -> None:
        """Use this transport from now on; it was connected at ``at``."""
        self.transport = transport
        self._write = transport.write
        self.connecting = at - self.dialled
        self.used = False
        self.reply = None
        if self.watch.uneasy:
            self.watch.connected(self)

    def send(self, at: int) -> None:
        """Send the request of ``exchange`` now."""
        self.expect(at, hot=self.used and self.pace.short_way and not self.leaving)
        self._write(self.exchange.wire)

    def expect(self, at: int, *, hot: bool) -> None:
        """The request was or is about to be sent, at ``at``: an answer can come."""
        self.sent = at
        self.state = HOT if hot else WAITING

    def cool(self) -> None:
        """Take the long way with the response that is waited for: what comes after it has changed."""
        if self.state == HOT:
            self.state = WAITING
            if self.used:
                self.sent = self.started

    def resume_writing(self) -> None:
        """The last byte of a large request is on its way."""
        self.sent = perf_counter_ns()

    def data_received(self, data: bytes) -> None:
        """Bytes of a response. The first branch is the short way: a response known by heart, whole, on a reused
        connection, in the closed model with one target. It does what the long way would do, and no more."""
        if self.state == HOT:
            exchange = self.exchange
            if len(data) == exchange.total and data.startswith(exchange.prefix):
                at = perf_counter_ns()
                self._record(at - self.started)
                exchange.head.hits += 1
                pace = self.pace
                if pace.left > 0:
                    pace.left -= 1
                    self.started = at
                    self._write(exchange.wire)
                else:
                    pace.proceed(self, at)
                return
            self.sent = self.started
        self._receive(data, perf_counter_ns())

    def _receive(self, data: bytes, at: int) -> None:
        state = self.state
        if state == BODY:
            self.remaining -= len(data)
            if self.remaining <= 0:
                self._end(self.head, None, at, extra=self.remaining < 0)
        elif state in (HOT, WAITING):
            self.first = at
            head = self.exchange.find(data)
            if head is None:
                self._parse(data, at)
                return
            self.remaining = head.total - len(data)
            if self.remaining > 0:
                self.head = head
                self.state = BODY
            else:
                self._end(head, None, at, extra=self.remaining < 0)
        elif state == PARSING:
            self._parse(data, at)
        elif state == RESTING:
            self.drop()
        # CLOSING and DROPPED: the last response has ended, so nothing that still comes matters.

    def _parse(self, data: bytes, at: int) -> None:
        reply = self.reply
        if reply is None or reply.headless != self.exchange.headless:
            reply = self.reply = Reply(headless=self.exchange.headless)
        elif self.state != PARSING:
            reply.begin()
        self.state = PARSING
        try:
            reply.feed(data)
        except BrokenResponseError as error:
            self.watch.failed(self, "exceptions", f"the response is not valid HTTP/1.1 ({error})")
            self.drop()
            return
        if reply.complete:
            self._end_reply(reply, at)

    def _end_reply(self, reply: Reply, at: int) -> None:
        learned = None if reply.extra else reply.learned()
        if learned is None:
            head = Head(reply.status, reply.received - reply.body, reply.body, persistent=reply.persistent)
        else:
            head = learned[1]
        exchange = self.exchange  # at the end of a response the connection gets its next one
        if exchange.headless:
            self.reply = None
        self._end(head, reply, at, extra=reply.extra)
        if learned is not None:
            exchange.learn(*learned)

    def _end(self, head: Head, reply: Reply | None, at: int, *, extra: bool) -> None:
        """The response is complete: note the times and go on."""
        if self.connecting == 0 and self.first == at and self.sent == self.started:
            self._record(at - self.started)
        else:
            self._full(at - self.started)
            self._full(self.connecting)
            self._full(self.first - self.sent)
        if self.intended:
            self.watch.tally.corrected.append(at - self.intended)
        journal = self.watch.tally.journal
        if journal is not None:
            journal.add(self.started, at - self.started, self.connecting, self.first - self.sent)
        self.watch.answered(self, head, reply, extra=extra)
        self.used = True
        self.connecting = 0
        if extra:
            self.drop()
        elif head.persistent and self.keeps:
            self.pace.proceed(self, at)
        else:
            self.state = CLOSING
            self.sent = at
            if head.persistent and self.transport is not None:
                self.transport.close()

    def drop(self) -> None:
        """Give the transport up; ``connection_lost`` follows."""
        self.state = DROPPED
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is gone: closed by the other side, broken, or given up here."""
        state = self.state
        self.state = AWAY
        self.transport = None
        if state == PARSING and self.reply is not None and exc is None and self.reply.end():
            self._end_reply(self.reply, perf_counter_ns())
            self.state = AWAY
        elif state == SWITCHING:
            self.watch.lost(self, again=True)
            return
        elif state in (HOT, WAITING) and self.used:
            # A kept connection may be closed by the server at any time (RFC 9112 section 9.3.1): that is no failure.
            self.watch.lost(self, again=True)
            return
        elif state in BUSY:
            early = "without an answer" if state in (HOT, WAITING) else "in the middle of a response"
            reason = f" ({exc})" if exc is not None else ""
            self.watch.failed(self, "receive", f"the server closed the connection {early}{reason}")
        self.watch.lost(self, again=False)
