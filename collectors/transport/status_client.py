"""Status pages by HTTP.

Every request closes its connection: a kept-alive one would hold a worker of Apache's prefork and worker MPMs between
two pages, and hide a full pool, which shows as silence.
"""

import asyncio
import base64
import functools
import ipaddress
import socket
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, quote, unquote, urlsplit

from msgspec import Struct

from collectors.errors import ClosedError, FetchError, SilentError
from collectors.machine import Endpoint, Page, without_credentials
from collectors.parsing import LONGEST_TEXT, short
from collectors.transport.exchange import LIMIT_BYTES, READ_BYTES, refused
from loadtop import __version__

_MOST_BESIDES_BYTES = 1 << 16  # in a row that are not of the page: its header, trailers
_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
_ANY_BYTE = "surrogateescape"  # what is not UTF-8 on the command line
_SAFE = "%:/?@!$&'()*+,;=~"  # what stays in a path and a query; the rest is quoted
_PORTS = {"http": 80, "https": 443}
_HEADERS = f"""\
User-Agent: loadtop/{__version__} (status)
Accept: text/plain, */*
Accept-Encoding: identity
Connection: close
"""
"""Nothing is unpacked: a few bytes could stand for gigabytes."""


class StatusClient:
    """Asks through ``socket_path``, if given. Certificates are checked, but not those of this machine itself."""

    def __init__(self, socket_path: str | None = None) -> None:
        self._socket_path = socket_path
        self._open: set[asyncio.StreamWriter] = set()
        self._reached: dict[str, str] = {}  # the address of each name that was reached last
        self._closed = False

    async def get(self, url: str, timeout_s: float) -> Page:
        """The page, whatever its status; redirects are not followed. Raises :class:`FetchError`."""
        place = _place(url)
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._ask(place, timeout_s)
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        except ssl.SSLCertVerificationError as error:
            raise FetchError("the certificate is not trusted ({error})", error=str(error)) from None
        except (ConnectionResetError, BrokenPipeError) as error:
            raise ClosedError(_unreadable(f"{type(error).__name__}: {error}").message) from None
        except ssl.SSLError as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from None
        except OSError as error:
            self._check_open()
            raise refused(error) from None
        return _page(url, response)

    async def close(self) -> None:
        """Abort the requests that are connected; later ones raise :class:`FetchError`."""
        self._closed = True
        for writer in self._open:
            writer.transport.abort()

    def _check_open(self) -> None:
        if self._closed:
            raise FetchError("the test has ended")

    async def _ask(self, place: "_Place", timeout_s: float) -> "Response":
        self._check_open()
        reader, writer = await self._connect(place, timeout_s)
        self._open.add(writer)
        try:
            self._check_open()
            writer.write(place.request)
            response = await read_response(reader)
            self._check_open()  # what was cut off may look whole
            return response
        finally:
            self._open.remove(writer)
            writer.transport.abort()

    async def _connect(self, place: "_Place", timeout_s: float) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        tls: dict[str, Any] = {}
        if place.secure:
            context = _unchecked() if is_loopback(place.host) else await asyncio.to_thread(_checked)
            tls = {"ssl": context, "server_hostname": place.host.rstrip(".")}
        if self._socket_path is not None:
            return await asyncio.open_unix_connection(self._socket_path, **tls)
        *others, last = sorted(await _addresses(place), key=lambda address: address != self._reached.get(place.host))
        for address in others:  # one of them may be behind a firewall that answers nothing
            with suppress(OSError):
                async with asyncio.timeout(timeout_s / (len(others) + 1)):
                    opened = await asyncio.open_connection(address, place.port, **tls)
                self._reached[place.host] = address
                return opened
        opened = await asyncio.open_connection(last, place.port, **tls)
        self._reached[place.host] = last
        return opened


async def _addresses(place: "_Place") -> list[str]:
    with suppress(ValueError):
        ipaddress.ip_address(place.host)
        return [place.host]
    found = await asyncio.get_running_loop().getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(socket.getnameinfo(each[-1], _NUMERIC)[0] for each in found))  # with the interface


def plain_request(url: str) -> tuple[str, bytes] | None:
    """The address of the server and the request for a page of it; ``None`` where that needs TLS. Raises
    :class:`FetchError`."""
    place = _place(url)
    return None if place.secure else (str(Endpoint(place.host, place.port)), place.request)


async def read_page(url: str, response: bytes) -> Page:
    """The page in all that a server sent. Raises :class:`FetchError`."""
    reader = asyncio.StreamReader()
    reader.feed_data(response)
    reader.feed_eof()
    return _page(url, await read_response(reader))


def _page(url: str, response: "Response") -> Page:
    # The server's charset could be slow: punycode is quadratic.
    text = response.body[:LIMIT_BYTES].decode("utf-8", "replace")
    return Page(without_credentials(url), response.status, text)


class Response:
    """A response, fed in pieces. ``complete``: its end has come; ``ends_with_connection``: that is its end."""

    def __init__(self) -> None:
        from httptools import HttpResponseParser  # takes a while, and not every test needs a status page

        self.parser: HttpResponseParser = HttpResponseParser(self)
        self.status = 0
        self.body = bytearray()
        self.has_head = self.complete = False
        self.ends_with_connection = True

    def on_message_begin(self) -> None:
        self.ends_with_connection = True

    def on_header(self, name: bytes, value: bytes) -> None:
        name, value = name.lower(), value.lower().rstrip()
        if name == b"content-length" or (name == b"transfer-encoding" and value.endswith(b"chunked")):
            self.ends_with_connection = False

    def on_headers_complete(self) -> None:
        self.status = self.parser.get_status_code()
        self.has_head = self.status >= 200  # those before are interim responses

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete = self.has_head


async def read_response(reader: asyncio.StreamReader) -> Response:
    """Read one response: to its end, or to the limit of its size. Raises :class:`FetchError`."""
    from httptools import HttpParserError, HttpParserUpgrade

    response, received, besides = Response(), 0, 0
    while not response.complete and len(response.body) < LIMIT_BYTES:
        data = await reader.read(READ_BYTES)
        received += len(data)
        if not received:
            raise ClosedError("the server closed the connection without a response")
        if not data:
            if response.has_head and response.ends_with_connection:
                return response
            raise _unreadable("the connection was closed before the response was complete")
        before = len(response.body)
        try:
            response.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not response.complete:  # otherwise more came than the page
                raise _unreadable(f"{type(error).__name__}: {error}") from None
        besides = besides + len(data) if len(response.body) == before else 0
        if besides > _MOST_BESIDES_BYTES:
            raise _unreadable("its header is too long")
    return response


def _unreadable(reason: str) -> FetchError:
    return FetchError("cannot read its response ({error})", error=short(reason, LONGEST_TEXT))


class _Place(Struct, frozen=True):
    """Where a URL leads, and the request for its page."""

    host: str
    port: int
    secure: bool
    request: bytes


def _place(url: str) -> _Place:
    """Raises :class:`FetchError`."""
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        port = usual if parts.port is None else parts.port
        host = (parts.hostname or "").encode("idna").decode()
        request = _request(parts, f"[{host}]" if ":" in host else host, "" if port == usual else f":{port}")
    except (ValueError, KeyError):
        raise FetchError("not a URL") from None
    if not host or not port:
        raise FetchError("not a URL")
    return _Place(host, port, parts.scheme == "https", request)


def _request(parts: SplitResult, host: str, port: str) -> bytes:
    target = _quoted(parts.path or "/") + (f"?{_quoted(parts.query)}" if parts.query else "")
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}{port}", *_HEADERS.splitlines()]
    if parts.username is not None:
        account = ":".join(unquote(word or "", errors=_ANY_BYTE) for word in (parts.username, parts.password))
        lines.append(f"Authorization: Basic {base64.b64encode(account.encode(errors=_ANY_BYTE)).decode()}")
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def _quoted(text: str) -> str:
    return quote(text, _SAFE, errors=_ANY_BYTE)


@functools.cache
def _checked() -> ssl.SSLContext:
    return ssl.create_default_context()


@functools.cache
def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
