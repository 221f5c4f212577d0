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
from urllib.parse import SplitResult, quote, unquote, urlsplit

from collectors.errors import FetchError, SilentError
from collectors.machine import Page, without_credentials
from collectors.parsing import LONGEST_TEXT, short
from collectors.transport.exchange import LIMIT_BYTES, READ_BYTES, refused
from loadtop import __version__

_MOST_HEAD_BYTES = 1 << 16
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
        self._closed = False

    async def get(self, url: str, timeout_s: float) -> Page:
        """The page, whatever its status; redirects are not followed. Raises :class:`FetchError`."""
        parts, port = _parts(url)
        try:
            async with asyncio.timeout(timeout_s):
                response = await self._ask(parts, port)
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        except ssl.SSLCertVerificationError as error:
            raise FetchError("the certificate is not trusted ({error})", error=str(error)) from None
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError) as error:
            raise _unreadable(f"{type(error).__name__}: {error}") from None
        except OSError as error:
            self._check_open()
            raise refused(error) from None
        # The server's charset could be slow: punycode is quadratic.
        text = response.body[:LIMIT_BYTES].decode("utf-8", "replace")
        return Page(without_credentials(url), response.status, text)

    async def close(self) -> None:
        """Give up what is on its way; later requests for pages raise :class:`FetchError`."""
        self._closed = True
        for writer in self._open:
            writer.transport.abort()

    def _check_open(self) -> None:
        if self._closed:
            raise FetchError("the test has ended")

    async def _ask(self, parts: SplitResult, port: int) -> "Response":
        self._check_open()
        reader, writer = await self._connect(parts, port)
        self._open.add(writer)
        try:
            self._check_open()
            writer.write(_request(parts, port))
            return await read_response(reader)
        finally:
            self._open.remove(writer)
            writer.transport.abort()

    async def _connect(self, parts: SplitResult, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host = parts.hostname or ""
        context = _tls(checked=not is_loopback(parts.geturl())) if parts.scheme == "https" else None
        name = host if context is not None else None
        if self._socket_path is not None:
            return await asyncio.open_unix_connection(self._socket_path, ssl=context, server_hostname=name)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
        for address in addresses[:-1]:
            with suppress(OSError):
                return await asyncio.open_connection(address, port, ssl=context, server_hostname=name)
        return await asyncio.open_connection(addresses[-1], port, ssl=context, server_hostname=name)


class Response:
    """A response, fed in pieces. ``complete``: its end has come; ``ends_with_connection``: that is its end."""

    def __init__(self) -> None:
        from httptools import HttpResponseParser  # takes a while, and not every test needs a status page

        self.parser: HttpResponseParser = HttpResponseParser(self)
        self.status = 0
        self.body = bytearray()
        self.has_head = self.complete = False
        self.ends_with_connection = True

    def on_header(self, name: bytes, _: bytes) -> None:
        if name.lower() in (b"content-length", b"transfer-encoding"):
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

    response, received = Response(), 0
    while not response.complete and len(response.body) < LIMIT_BYTES:
        data = await reader.read(READ_BYTES)
        received += len(data)
        if not received:
            raise FetchError("the server closed the connection without a response")
        if not data:
            if response.has_head and response.ends_with_connection:
                return response
            raise _unreadable("the connection was closed before its end")
        try:
            response.parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not response.complete:  # otherwise more came than the page
                raise _unreadable(f"{type(error).__name__}: {error}") from None
        if not response.has_head and received > _MOST_HEAD_BYTES:
            raise _unreadable("its header is too long")
    return response


def _unreadable(reason: str) -> FetchError:
    return FetchError("cannot read its response ({error})", error=short(reason, LONGEST_TEXT))


def _parts(url: str) -> tuple[SplitResult, int]:
    """The parts of a URL and its port. Raises :class:`FetchError`."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
        host = (parts.hostname or "").encode("idna")
    except (ValueError, KeyError):
        raise FetchError("not a URL") from None
    if not host:
        raise FetchError("not a URL")
    return parts, port


def _request(parts: SplitResult, port: int) -> bytes:
    host = (parts.hostname or "").encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    host = host if port == _PORTS[parts.scheme] else f"{host}:{port}"
    target = quote(parts.path or "/", _SAFE) + (f"?{quote(parts.query, _SAFE)}" if parts.query else "")
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", *_HEADERS.splitlines()]
    if parts.username is not None:
        account = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        lines.append(f"Authorization: Basic {base64.b64encode(account.encode()).decode()}")
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


@functools.cache
def _tls(*, checked: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not checked:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
