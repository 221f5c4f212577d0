"""A connection to a server that is queried in SQL. The client libraries block, and believe whatever a server sends.

So a question is asked in a thread, its connection can be cut from outside, and an answer has a limit of bytes.
"""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Protocol

from collectors.errors import FetchError
from collectors.parsing import LONGEST_TEXT, short
from collectors.transport.exchange import host_and_port

AGAIN_S = 5.0  # how long a server is left alone after a failure, which it may write into a log; our own
CONNECT_S = 5.0

_MOST_BYTES = 1 << 20
_MOST_ROWS = 1000


class Connection(Protocol):
    """What a client library gives. Its methods block, and raise the library's own errors."""

    def rows(self, statement: str) -> Sequence[Sequence[object]]: ...

    def blocking(self, status: str) -> Sequence[Sequence[object]]:
        """Who blocks whom, as :mod:`collectors.blocking` reads it, if that status says that sessions wait for locks."""
        ...

    def close(self) -> None: ...


class Channel(socket.socket):
    """A socket with a limit of bytes for each query. A library that encrypts reads past that limit."""

    left = _MOST_BYTES

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        number = super().recv_into(buffer, nbytes, flags)
        self.left -= number
        if self.left < 0:
            raise OSError("the response is too long")
        return number


Login = Callable[[Channel], Connection]
Opening = Callable[[], Awaitable[tuple[str, Login]]]


class Session:
    """The connection to one server: made when it is needed, and dropped when anything goes wrong."""

    def __init__(self, opening: Opening) -> None:
        """``opening`` gives the place to connect to on this machine (a path, or ``HOST:PORT``), and how to log in."""
        self._opening = opening
        self._link: _Link | None = None
        self._asking = asyncio.Lock()
        self._failure: Exception | None = None
        self._again_at = 0.0

    async def ask(self, statements: Sequence[str]) -> str:
        """The rows of these statements and of who blocks whom, a line each, with tabs between their cells. Raises
        FetchError, OSError, and what the library raises; the same again for a while after an error."""
        async with self._asking:
            if self._failure is not None and time.monotonic() < self._again_at:
                raise self._failure
            self._failure = None
            try:
                if self._link is None:
                    self._link = _Link(*await self._opening())
                return await asyncio.to_thread(self._link.ask, statements)
            except BaseException as error:
                self.cut()
                if isinstance(error, Exception):
                    self._failure, self._again_at = error, time.monotonic() + AGAIN_S
                raise

    def cut(self) -> None:
        """End the connection. A thread that waits for an answer ends too."""
        link, self._link = self._link, None
        if link is not None:
            link.cut()


class _Link:
    """One connection, asked by one thread at a time; any may call :meth:`cut`."""

    def __init__(self, place: str, login: Login) -> None:
        self._place, self._login = place, login
        self._connection: Connection | None = None
        self._channel: Channel | None = None
        self._handle: socket.socket | None = None  # of the same connection; a library that encrypts takes the channel
        self._used = threading.Lock()
        self._is_cut = False

    def ask(self, statements: Sequence[str]) -> str:
        try:
            with self._used:
                if self._connection is None or self._channel is None:
                    self._channel = self._connected()
                    if self._is_cut:
                        raise OSError("cut")
                    self._connection = self._login(self._channel)
                self._channel.left = _MOST_BYTES
                rows = [row for statement in statements for row in self._connection.rows(statement)[:_MOST_ROWS]]
                status = "".join(map(_line, rows))
                return status + "".join(map(_line, self._connection.blocking(status)[:_MOST_ROWS]))
        finally:
            if self._is_cut:
                self._close()

    def _connected(self) -> Channel:
        problem: OSError | None = None
        for family, address in _places(self._place):
            channel = Channel(family)
            channel.settimeout(CONNECT_S)
            self._handle = channel.dup()
            try:
                channel.connect(address)
            except OSError as error:
                channel.close()
                self._handle.close()
                problem = error
            else:
                return channel
        raise problem or OSError("no such name")

    def cut(self) -> None:
        self._is_cut = True
        if self._handle is not None:
            with contextlib.suppress(OSError):
                self._handle.shutdown(socket.SHUT_RDWR)
        self._close()

    def _close(self) -> None:
        """Close everything, unless a thread is using it: that closes it at its end."""
        if not self._used.acquire(blocking=False):
            return
        try:
            for each in (self._connection, self._channel, self._handle):
                if each is not None:
                    with contextlib.suppress(Exception):  # the library's own: the connection is cut already
                        each.close()
        finally:
            self._used.release()


def _places(place: str) -> Iterable[tuple[socket.AddressFamily, str | tuple[Any, ...]]]:
    """The families and addresses of a place: a name can have several."""
    if place.startswith("/"):
        return ((socket.AF_UNIX, place),)
    address = host_and_port(place)
    if address is None:
        raise FetchError("not an address: HOST:PORT or the path of a socket")
    return ((found[0], found[4]) for found in socket.getaddrinfo(*address, type=socket.SOCK_STREAM))


def _line(row: Sequence[object]) -> str:
    cells = ("" if cell is None else short(str(cell), LONGEST_TEXT) for cell in row)
    return "\t".join(" ".join(cell.split()) for cell in cells) + "\n"
