"""A fast transport for plain TCP on Linux: a non-blocking socket served by :class:`EpollSelector`.

TLS, proxy tunnels and other systems use the event loop's own transports.
"""

import _socket
import asyncio
import errno
import os
import select
import socket
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from loadtop.generator.connection import CLOSING, CONNECTING, FAST, READING_BODY, Connection
from loadtop.generator.event_loop import READ_BYTES, EpollLoop

_STARTED = (0, errno.EINPROGRESS)
_new_socket = _socket.socket
_STREAM = socket.SOCK_STREAM | getattr(socket, "SOCK_NONBLOCK", 0)

if hasattr(select, "epoll"):
    _DATA_ONLY = select.EPOLLIN
    _INPUT = select.EPOLLIN | select.EPOLLRDHUP
    _INPUT_OR_OUTPUT = _INPUT | select.EPOLLOUT
    # Edge-triggered: epoll need not check each socket again after it was read. See epoll(7).
    _INPUT_EDGE = _INPUT | select.EPOLLET
    _ERROR = select.EPOLLERR | select.EPOLLHUP
    _WRITABLE = select.EPOLLOUT
    _READABLE = _INPUT | _ERROR
    _ENDED = select.EPOLLRDHUP | select.EPOLLHUP

_UNCONNECTED = 0  # no socket, or one that is being connected
_SENDING = 1  # connected; the rest of a request waits until the socket is writable
_OPEN = 2

_NO_DATA = memoryview(b"")  # unsent data is a view: a large body goes in many parts, without copying the rest

Address = tuple[str, int] | tuple[str, int, int, int]
ConnectFailed = Callable[[Connection, OSError], None]
PrepareSocket = Callable[[_socket.socket], None]


class SocketTransport(asyncio.Transport):
    """The transport of one connection slot, over one socket after the other. ``failed`` gets errors of connecting."""

    def __init__(self, loop: EpollLoop, connection: Connection, failed: ConnectFailed) -> None:
        super().__init__()
        self._selector = loop.selector
        self._soon = loop.call_soon
        self._starts_with = loop.selector.buffer.startswith
        self._connection = connection
        self._failed = failed
        self._record = connection.results.totals.append
        self._record_parts = connection.results.parts.extend
        self._handle = self.handle
        self._sock: _socket.socket | None = None
        self._number = -1
        self._phase = _UNCONNECTED
        self._unsent = _NO_DATA

    def set_address(self, family: int, address: Address, prepare: PrepareSocket | None, *, send_at_once: bool) -> None:
        """Set where to connect to; ``prepare`` is called with each new socket.

        ``send_at_once`` sends the request right after connect(2). Over the loopback a connect has succeeded when it
        returns, although it reports that it is in progress.
        """
        self._family = family
        self._address = address
        self._prepare = prepare
        self._send_at_once = send_at_once

    def connect(self, at: int) -> None:
        """Connect, and send the connection's request. A connection in the state ``FAST`` (see :meth:`handle`) stays in
        it if all goes well, and then only its times are set."""
        connection = self._connection
        connection.connect_started = at
        self._phase = _UNCONNECTED
        try:
            self._sock = sock = _new_socket(self._family, _STREAM)
            self._number = number = sock.fileno()
            self._selector.handlers[number] = self._handle
            if self._prepare is not None:
                self._prepare(sock)
            code = sock.connect_ex(self._address)
            if code not in _STARTED:
                raise OSError(code, os.strerror(code))  # noqa: TRY301 - handled below with those of the other calls
            if self._send_at_once:
                connected = perf_counter_ns()
                exchange = connection.exchange
                try:
                    sent = sock.send(connection.request_to_send())
                except BlockingIOError:
                    pass
                else:
                    if connection.state == FAST:
                        connection.connect_time = connected - at
                        connection.sent = connected
                    else:
                        self._connected(connected)
                    if sent == exchange.size:
                        self._phase = _OPEN
                        self._selector.watch(number, _INPUT_EDGE)
                        return
                    connection.leave_fast_path()
                    self._unsent = memoryview(exchange.request)[sent:]
                    self._phase = _SENDING
            if self._phase == _UNCONNECTED:
                connection.state = CONNECTING
                connection.transport = None
            self._selector.watch(number, _INPUT_OR_OUTPUT)
        except OSError as error:
            self.discard()
            connection.state = CONNECTING
            connection.transport = None
            self._soon(self._failed, connection, error)

    def _connected(self, at: int) -> None:
        connection = self._connection
        connection.use_transport(self, at)
        fast = not connection.keepalive and connection.source.fast_path and not connection.surplus
        connection.expect_response(at, fast=fast)

    def handle(self, event: int) -> None:  # noqa: C901 - the fast path is one piece: each call would cost time
        """Handle an epoll event of the socket. The middle part is the fast path, as in
        :meth:`Connection.data_received`: a whole response with a learnt head, on a connection that stays open or that
        ends with it. It does only what the full path would do."""
        sock = self._sock
        if sock is None or (self._phase != _OPEN and not self._continue_sending(sock, event)):
            return
        try:
            size = sock.recv_into(self._selector.buffer)
        except BlockingIOError:
            return
        except OSError as error:
            self._lost(error)
            return
        connection = self._connection
        state = connection.state
        if state == FAST:
            # Slot values are assigned to locals before they are called: the interpreter specialises that.
            exchange = connection.exchange
            starts_with = self._starts_with
            head = exchange.head
            if size == head.total and starts_with(exchange.prefix):
                if event == _DATA_ONLY and head.persistent and connection.keepalive:
                    at = perf_counter_ns()
                    took = at - connection.started
                    record = self._record
                    record(took)
                    if took > connection.notable.least_ns:
                        connection.note_reused(at)
                    head.hits += 1
                    source = connection.source
                    if source.left <= 0:
                        source.next_request(connection, at)
                        return
                    source.left -= 1
                    connection.started = at
                    try:
                        sent = sock.send(exchange.request)
                    except BlockingIOError:
                        sent = 0
                    except OSError as error:
                        self._lost(error)
                        return
                    if sent != exchange.size:
                        connection.leave_fast_path()
                        self._wait_until_writable(exchange.request, sent)
                    return
                if event & _ENDED and not connection.keepalive:
                    self._reconnect(connection)
                    return
            connection.leave_fast_path()
        if not size:
            self._lost(None)
            return
        if state == READING_BODY and size < connection.remaining:
            connection.remaining -= size
        else:
            connection.data_received(bytes(self._selector.view[:size]))
        if (event & _ENDED or size == READ_BYTES) and self._sock is sock and self._phase == _OPEN:
            # There is more to read; epoll has reported it already, so it must be asked again.
            self._selector.rewatch(self._number, _INPUT_EDGE)

    def _reconnect(self, connection: Connection) -> None:
        """The fast path of a connection that the server closed with the response."""
        at = perf_counter_ns()
        took = at - connection.started
        self._record_parts((took, connection.connect_time, at - connection.sent))
        if took > connection.notable.least_ns:
            connection.note_new(at)
        connection.exchange.head.hits += 1
        if self._sock is not None:
            self._sock.close()
        source = connection.source
        if source.left > 0:
            source.left -= 1
            connection.started = at
            self.connect(at)
        else:
            self._sock = None
            connection.state = CLOSING
            connection.connection_lost(None)

    def _continue_sending(self, sock: _socket.socket, event: int) -> bool:
        """Finish connecting or send unsent data; return whether there is something to read."""
        if self._phase == _SENDING:
            if event & _WRITABLE:
                self._flush()
            return self._sock is not None and bool(event & _READABLE)
        if event & _ERROR:
            code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            self.discard()
            self._failed(self._connection, OSError(code, os.strerror(code)))
        elif event & _WRITABLE:
            self._selector.rewatch(self._number, _INPUT_EDGE)
            self._phase = _OPEN
            self._connected(perf_counter_ns())
            self.write(self._connection.request_to_send())
        return False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        """Send what the socket takes now, and the rest when it is writable."""
        if self._phase == _SENDING:
            self._unsent = memoryview(b"".join((self._unsent, data)))
            return
        if self._sock is None:
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self.close(error)
            return
        if sent != len(data):
            self._wait_until_writable(data, sent)

    def _wait_until_writable(self, data: "bytes | bytearray | memoryview[Any]", sent: int) -> None:
        self._unsent = memoryview(data)[sent:]
        self._phase = _SENDING
        self._selector.rewatch(self._number, _INPUT_OR_OUTPUT)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, _NO_DATA
        self._phase = _OPEN
        self.write(unsent)
        if self._phase == _OPEN:
            self._selector.rewatch(self._number, _INPUT_EDGE)
            self._connection.resume_writing()

    def close(self, error: OSError | None = None) -> None:
        """Close the socket; ``connection_lost`` follows soon."""
        if self._sock is not None:
            self.discard()
            self._soon(self._connection.connection_lost, error)

    abort = close

    def discard(self) -> None:
        """Close the socket without a notification."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._phase = _UNCONNECTED
            self._unsent = _NO_DATA

    def _lost(self, error: OSError | None) -> None:
        self.discard()
        self._connection.connection_lost(error)
