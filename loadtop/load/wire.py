"""A fast transport for connections that live for one request: plain TCP, Linux only.

An event loop's own transport costs more to make than ab needs for a whole request without keep-alive. This one is a
non-blocking socket in an epoll set that the event loop watches as a single descriptor. Where TLS, a proxy tunnel or
keep-alive is wanted, and on other systems, the event loop's own transports are used.
"""

import _socket
import asyncio
import errno
import os
import select
import socket
from collections.abc import Callable
from time import perf_counter_ns

from loadtop.load.connection import CLOSING, DIALLING, HOT, Connection

_READ_BYTES = 65536
_READS = 16
"""Reads of one socket before all others, and the clock, get their turn: a server may send faster than this reads."""
_CONNECTING = (0, errno.EINPROGRESS)
_new_socket = _socket.socket
_STREAM = socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0)
_ROUND = 512
_ROUNDS = 8
"""Batches of events that are handled before the event loop gets its turn."""

if hasattr(select, "epoll"):
    _ANSWER = select.EPOLLIN | select.EPOLLRDHUP
    _CONNECT = _ANSWER | select.EPOLLOUT | select.EPOLLET
    _BROKEN = select.EPOLLERR | select.EPOLLHUP
    _WRITABLE = select.EPOLLOUT
    _READABLE = _ANSWER | _BROKEN
    _ENDED = select.EPOLLRDHUP | select.EPOLLHUP

Address = tuple[str, int] | tuple[str, int, int, int]
Failed = Callable[[Connection, OSError], None]
Prepare = Callable[[_socket.socket], None]


class Hub:
    """The sockets of all wires of one event loop. ``failed`` is told of each connect that fails."""

    __slots__ = ("_epoll", "_loop", "_poll", "failed", "register", "soon", "wires")

    def __init__(self, loop: asyncio.AbstractEventLoop, failed: Failed) -> None:
        self._loop = loop
        self._epoll = select.epoll()
        self._poll = self._epoll.poll
        self.failed = failed
        self.register = self._epoll.register
        self.soon = loop.call_soon
        self.wires: dict[int, Wire] = {}
        """By descriptor; an entry may be of a socket that is closed, of which epoll never speaks again."""
        loop.add_reader(self._epoll.fileno(), self._ready)

    @staticmethod
    def available() -> bool:
        """Whether this system has epoll."""
        return hasattr(select, "epoll")

    def close(self) -> None:
        """Close every socket; no connection is told."""
        self._loop.remove_reader(self._epoll.fileno())
        for wire in self.wires.values():
            wire.discard()
        self._epoll.close()

    def _ready(self) -> None:
        wires = self.wires
        for _ in range(_ROUNDS):
            events = self._poll(0, _ROUND)
            for number, event in events:
                wires[number].handle(event)
            if len(events) < 2 or self._epoll.closed:
                return


class Wire:
    """The part of :class:`asyncio.Transport` that a connection needs, over one socket after the other.

    ``eager`` sends the request right after connecting: over the loopback a connect has succeeded by the time that it
    returns, although it says that it is in progress.

    Longer than 200 lines: a transport has that many methods, and each request passes through it.
    """

    __slots__ = (
        "_address",
        "_backlog",
        "_connection",
        "_eager",
        "_family",
        "_full",
        "_hub",
        "_opened",
        "_prepare",
        "_sock",
    )

    def __init__(self, hub: Hub, connection: Connection) -> None:
        self._hub = hub
        self._connection = connection
        self._full = connection.watch.tally.full.append
        self._sock: _socket.socket | None = None
        self._opened = False
        self._backlog = b""

    def aim(self, family: int, address: Address, prepare: Prepare | None, *, eager: bool) -> None:
        """Where to connect to from now on; ``prepare`` is called with each new socket."""
        self._family = family
        self._address = address
        self._prepare = prepare
        self._eager = eager

    def open(self, at: int) -> None:
        """Connect, and send the connection's request. A connection that is ``HOT`` (see :meth:`handle`) stays so when
        all goes well, and then needs to be told nothing but the times."""
        connection = self._connection
        connection.dialled = at
        try:
            self._sock = opened = _new_socket(self._family, _STREAM)
            number = opened.fileno()
            self._hub.wires[number] = self
            if self._prepare is not None:
                self._prepare(opened)
            code = opened.connect_ex(self._address)
            if code not in _CONNECTING:
                raise OSError(code, os.strerror(code))  # noqa: TRY301 - the one place that handles them is below
            self._opened = False
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
                        connection.opened(self, connected)
                        connection.expect(connected, hot=connection.pace.short_way and not connection.leaving)
                    if sent == exchange.size:
                        self._opened = True
                        self._hub.register(number, _ANSWER)
                        return
                    self._backlog = exchange.wire[sent:]
            if not self._backlog:
                connection.state = DIALLING
                connection.transport = None
            self._hub.register(number, _CONNECT)
        except OSError as error:
            self.discard()
            connection.state = DIALLING
            connection.transport = None
            self._hub.soon(self._hub.failed, connection, error)

    def handle(self, event: int) -> None:
        """What epoll says of the socket. The middle part is the short way, as in
        :meth:`loadtop.load.connection.Connection.data_received`: a response known by heart, whole, and the end of the
        connection with it. It does what the long way would do, and no more."""
        connection = self._connection
        if not self._opened:
            self._go_on_opening(connection, event)
            if not event & _READABLE:
                return
        opened = self._sock
        if opened is None:
            return
        try:
            data = opened.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
            return
        if connection.state == HOT:
            exchange = connection.exchange
            if event & _ENDED and len(data) == exchange.total and data.startswith(exchange.prefix):
                at = perf_counter_ns()
                self._full(at - connection.started)
                self._full(connection.connecting)
                self._full(at - connection.sent)
                exchange.head.hits += 1
                opened.close()
                pace = connection.pace
                if pace.left > 0:
                    pace.left -= 1
                    connection.started = at
                    self.open(at)
                else:
                    self._sock = None
                    connection.state = CLOSING
                    connection.connection_lost(None)
                return
            connection.cool()
        self._hear(connection, data, ended=bool(event & _ENDED))

    def _hear(self, connection: Connection, data: bytes, *, ended: bool) -> None:
        opened = self._sock
        rounds = _READS
        while data:
            connection.data_received(data)
            if opened is None or self._sock is not opened:
                return
            rounds -= 1
            if not rounds:
                self._hub.soon(self._read_on, opened, ended)
                return
            if ended and connection.state == CLOSING:
                break
            if not ended and len(data) < _READ_BYTES and self._opened:
                return
            try:
                data = opened.recv(_READ_BYTES)
            except BlockingIOError:
                return
            except OSError as error:
                self._lost(error)
                return
        self._lost(None)

    def _read_on(self, opened: _socket.socket, ended: bool) -> None:
        if self._sock is not opened:
            return
        try:
            data = opened.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
            return
        self._hear(self._connection, data, ended=ended)

    def _go_on_opening(self, connection: Connection, event: int) -> None:
        if self._backlog:
            if event & _WRITABLE:
                self._flush()
        elif event & _BROKEN:
            self._refused()
        elif event & _WRITABLE:
            at = perf_counter_ns()
            connection.opened(self, at)
            connection.expect(at, hot=connection.pace.short_way and not connection.leaving)
            self.write(connection.exchange.wire)

    def _refused(self) -> None:
        if self._sock is not None:
            code = self._sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.discard()
            self._hub.failed(self._connection, OSError(code, os.strerror(code)))

    def write(self, data: bytes, /) -> None:
        """Send now what the socket takes, and the rest when it takes more."""
        self._backlog += data
        self._flush()

    def _flush(self) -> None:
        if self._sock is None:
            return
        try:
            count = self._sock.send(self._backlog)
        except BlockingIOError:
            return
        except OSError as error:
            self.discard()
            self._hub.soon(self._connection.connection_lost, error)
            return
        self._backlog = self._backlog[count:]
        if not self._backlog:
            self._opened = True
            self._connection.resume_writing()

    def close(self) -> None:
        """Close the socket; the connection hears of it soon."""
        if self._sock is not None:
            self.discard()
            self._hub.soon(self._connection.connection_lost, None)

    abort = close

    def discard(self) -> None:
        """Close the socket and tell nobody."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._backlog = b""

    def _lost(self, error: OSError | None) -> None:
        self.discard()
        self._connection.connection_lost(error)
