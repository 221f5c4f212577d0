"""A fast transport for plain TCP, Linux only: a non-blocking socket that a :class:`loadtop.generator.hub.Hub` serves.

Where TLS or a proxy tunnel is wanted, and on other systems, the event loop's own transports are used.
"""

import _socket
import errno
import os
import select
import socket
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.generator.connection import BODY, CLOSING, DIALLING, HOT, Connection
from loadtop.generator.hub import READ_BYTES, HubLoop

_CONNECTING = (0, errno.EINPROGRESS)
_new_socket = _socket.socket
_STREAM = socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0)

if hasattr(select, "epoll"):
    _PLAIN = select.EPOLLIN
    _ANSWER = select.EPOLLIN | select.EPOLLRDHUP
    _ROOM = _ANSWER | select.EPOLLOUT
    # Told once of what arrives: so epoll need not look at each socket again after it was read. See epoll(7).
    _EDGE = _ANSWER | select.EPOLLET
    _BROKEN = select.EPOLLERR | select.EPOLLHUP
    _WRITABLE = select.EPOLLOUT
    _READABLE = _ANSWER | _BROKEN
    _ENDED = select.EPOLLRDHUP | select.EPOLLHUP

_ABSENT = 0
"""No socket, or one that is being connected."""
_SENDING = 1
"""Connected, and a part of a request waits for room."""
_OPEN = 2

_NOTHING = memoryview(b"")
"""What waits is a view: a large body goes out in many parts, and none of them copies the rest."""

Address = tuple[str, int] | tuple[str, int, int, int]
Failed = Callable[[Connection, OSError], None]
Prepare = Callable[[_socket.socket], None]


class Wire:
    """The part of :class:`asyncio.Transport` that a connection needs, over one socket after the other. ``failed`` is
    told of each connect that fails.

    Longer than 200 lines: a transport has that many methods, and each request passes through it.
    """

    __slots__ = (
        "_address",
        "_backlog",
        "_connection",
        "_eager",
        "_failed",
        "_family",
        "_full",
        "_hub",
        "_number",
        "_phase",
        "_prepare",
        "_record",
        "_sock",
        "_soon",
        "_starts_with",
    )

    def __init__(self, loop: HubLoop, connection: Connection, failed: Failed) -> None:
        self._hub = loop.hub
        self._soon = loop.call_soon
        self._starts_with = loop.hub.buffer.startswith
        self._connection = connection
        self._failed = failed
        self._record = connection.watch.tally.simple.append
        self._full = connection.watch.tally.full.append
        self._sock: _socket.socket | None = None
        self._number = -1
        self._phase = _ABSENT
        self._backlog = _NOTHING

    def aim(self, family: int, address: Address, prepare: Prepare | None, *, eager: bool) -> None:
        """Where to connect to from now on; ``prepare`` is called with each new socket. ``eager`` sends the request
        right after connecting: over the loopback a connect has succeeded by the time that it returns, although it says
        that it is in progress."""
        self._family = family
        self._address = address
        self._prepare = prepare
        self._eager = eager

    def open(self, at: int) -> None:
        """Connect, and send the connection's request. A connection that is ``HOT`` (see :meth:`handle`) stays so when
        all goes well, and then needs to be told nothing but the times."""
        connection = self._connection
        connection.dialled = at
        self._phase = _ABSENT
        try:
            self._sock = opened = _new_socket(self._family, _STREAM)
            self._number = number = opened.fileno()
            self._hub.handlers[number] = self
            if self._prepare is not None:
                self._prepare(opened)
            code = opened.connect_ex(self._address)
            if code not in _CONNECTING:
                raise OSError(code, os.strerror(code))  # noqa: TRY301 - the one place that handles them is below
            if self._eager:
                connected = perf_counter_ns()
                exchange = connection.exchange
                try:
                    sent = opened.send(exchange.wire)
                except BlockingIOError:
                    pass
                else:
                    if connection.state == HOT:
                        connection.connecting = connected - at
                        connection.sent = connected
                    else:
                        self._tell_opened(connected)
                    if sent == exchange.size:
                        self._phase = _OPEN
                        self._hub.watch(number, _EDGE)
                        return
                    connection.cool()
                    self._backlog = memoryview(exchange.wire)[sent:]
                    self._phase = _SENDING
            if self._phase == _ABSENT:
                connection.state = DIALLING
                connection.transport = None
            self._hub.watch(number, _ROOM)
        except OSError as error:
            self.discard()
            connection.state = DIALLING
            connection.transport = None
            self._soon(self._failed, connection, error)

    def _tell_opened(self, at: int) -> None:
        connection = self._connection
        connection.opened(self, at)
        connection.expect(at, hot=not connection.keeps and connection.pace.short_way and not connection.leaving)

    def handle(self, event: int) -> None:  # noqa: C901 - the short way is one piece: each call would cost time
        """What epoll says of the socket. The middle part is the short way, as in
        :meth:`loadtop.generator.connection.Connection.data_received`: a response known by heart, whole, on a connection
        that stays or that ends with it. It does what the long way would do, and no more."""
        opened = self._sock
        if opened is None or (self._phase != _OPEN and not self._go_on_opening(event)):
            return
        try:
            size = opened.recv_into(self._hub.buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
            return
        connection = self._connection
        state = connection.state
        if state == HOT:
            # What is read from a slot is called a line later: so the interpreter takes its own short way.
            exchange = connection.exchange
            starts_with = self._starts_with
            if size == exchange.total and starts_with(exchange.prefix):
                if event == _PLAIN and exchange.kept and connection.keeps:
                    at = perf_counter_ns()
                    record = self._record
                    record(at - connection.started)
                    exchange.head.hits += 1
                    pace = connection.pace
                    if pace.left <= 0:
                        pace.proceed(connection, at)
                        return
                    pace.left -= 1
                    connection.started = at
                    try:
                        sent = opened.send(exchange.wire)
                    except OSError as error:
                        self._not_sent(error)
                        return
                    if sent != exchange.size:
                        connection.cool()
                        self._wait_for_room(exchange.wire, sent)
                    return
                if event & _ENDED and not connection.keeps:
                    self._go_on_anew(connection)
                    return
            connection.cool()
        if not size:
            self._lost(None)
            return
        if state == BODY and size < connection.remaining:
            connection.remaining -= size
        else:
            connection.data_received(bytes(self._hub.seen[:size]))
        if (event & _ENDED or size == READ_BYTES) and self._sock is opened and self._phase == _OPEN:
            # There is more, of which epoll has spoken already.
            self._hub.rewatch(self._number, _EDGE)

    def _not_sent(self, error: OSError) -> None:
        """A request on a connection that stays could not be sent at once."""
        if isinstance(error, BlockingIOError):
            self._connection.cool()
            self._wait_for_room(self._connection.exchange.wire, 0)
        else:
            self._lost(error)

    def _go_on_anew(self, connection: Connection) -> None:
        """The short way of a connection that the server has ended with the response."""
        at = perf_counter_ns()
        self._full(at - connection.started)
        self._full(connection.connecting)
        self._full(at - connection.sent)
        connection.exchange.head.hits += 1
        if self._sock is not None:
            self._sock.close()
        pace = connection.pace
        if pace.left > 0:
            pace.left -= 1
            connection.started = at
            self.open(at)
        else:
            self._sock = None
            connection.state = CLOSING
            connection.connection_lost(None)

    def _go_on_opening(self, event: int) -> bool:
        """Connect, or send what waited for room; whether there is something to read."""
        if self._phase == _SENDING:
            if event & _WRITABLE:
                self._flush()
            return self._sock is not None and bool(event & _READABLE)
        if event & _BROKEN:
            self._refused()
        elif event & _WRITABLE:
            self._hub.rewatch(self._number, _EDGE)
            self._phase = _OPEN
            self._tell_opened(perf_counter_ns())
            self.write(self._connection.exchange.wire)
        return False

    def _refused(self) -> None:
        if self._sock is not None:
            code = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.discard()
            self._failed(self._connection, OSError(code, os.strerror(code)))

    def write(self, data: bytes, /) -> None:
        """Send now what the socket takes, and the rest when it takes more."""
        if self._phase == _SENDING:
            self._backlog = memoryview(b"".join((self._backlog, data)))
            return
        if self._sock is None:
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._break(error)
            return
        if sent != len(data):
            self._wait_for_room(data, sent)

    def _wait_for_room(self, data: bytes, sent: int) -> None:
        self._backlog = memoryview(data)[sent:]
        self._phase = _SENDING
        self._hub.rewatch(self._number, _ROOM)

    def _flush(self) -> None:
        if self._sock is None:
            return
        try:
            count = self._sock.send(self._backlog)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(error)
            return
        self._backlog = self._backlog[count:]
        if not self._backlog:
            self._phase = _OPEN
            self._hub.rewatch(self._number, _EDGE)
            self._connection.resume_writing()

    def _break(self, error: OSError) -> None:
        self.discard()
        self._soon(self._connection.connection_lost, error)

    def close(self) -> None:
        """Close the socket; the connection hears of it soon."""
        if self._sock is not None:
            self.discard()
            self._soon(self._connection.connection_lost, None)

    abort = close

    def discard(self) -> None:
        """Close the socket and tell nobody."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._phase = _ABSENT
            self._backlog = _NOTHING

    def _lost(self, error: OSError | None) -> None:
        self.discard()
        self._connection.connection_lost(error)
