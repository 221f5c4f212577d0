"""One question to a server and its answer: a status page by HTTP, or all that a stream socket says.

aiohttp is imported in a thread when the first page is wanted. Every request closes its connection: a kept-alive one
would hold a worker of Apache's prefork and worker MPMs between two pages, and hide a full pool, which shows as silence.
"""

import asyncio
import contextlib
import importlib
import ipaddress
import re
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from collectors.errors import FetchError, SilentError
from collectors.machine import Page, without_credentials
from collectors.parsing import LONGEST_TEXT, MOST_PORT, count_or_none, short
from loadtop import __version__
from loadtop.i18n import Message, verbatim
from loadtop.model import Cause

if TYPE_CHECKING:
    import aiohttp

_LIMIT_BYTES = 1 << 20
_CHUNK = 65536
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]{1,45})\]|([\w-]{1,63}(?:\.[\w-]{1,63}){0,31}\.?)):(\d{1,5})", re.ASCII)
_HEADERS = {
    "User-Agent": f"loadtop/{__version__} (status)",
    "Accept": "text/plain, */*",
    "Accept-Encoding": "identity",  # and none is unpacked: a few bytes could stand for gigabytes
    "Connection": "close",
}


class StatusClient:
    """Asks through ``socket_path``, if given. Certificates are checked, but not those of this machine itself."""

    def __init__(self, socket_path: str | None = None) -> None:
        self._socket_path = socket_path
        self._session: aiohttp.ClientSession | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def get(self, url: str, timeout_s: float) -> Page:
        """The page, whatever its status; redirects are not followed. Raises :class:`FetchError`."""
        session = await self._open()
        import aiohttp

        limit = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with session.get(url, timeout=limit, allow_redirects=False, ssl=not is_loopback(url)) as response:
                return Page(without_credentials(url), response.status, await _text(response))
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        except aiohttp.InvalidURL:
            raise FetchError("not a URL") from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = Message("the certificate is not trusted ({error})", error=str(error.certificate_error))
            raise FetchError(reason) from None
        except aiohttp.ClientConnectorError as error:
            raise refused(error.os_error) from None
        except aiohttp.ServerDisconnectedError:
            raise FetchError("the server closed the connection without a response") from None
        except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError) as error:
            said = short(f"{type(error).__name__}: {error}", LONGEST_TEXT)
            raise FetchError("cannot read its response ({error})", error=said) from None

    async def close(self) -> None:
        """Give up what is on its way; later requests for pages raise :class:`FetchError`."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _open(self) -> "aiohttp.ClientSession":
        async with self._opening:
            if self._session is None:
                await asyncio.to_thread(importlib.import_module, "aiohttp")
                import aiohttp

                if self._closed:
                    raise FetchError("the test has ended")
                connector: aiohttp.BaseConnector = (
                    aiohttp.TCPConnector(force_close=True, limit=0)
                    if self._socket_path is None
                    else aiohttp.UnixConnector(self._socket_path, force_close=True, limit=0)
                )
                self._session = aiohttp.ClientSession(
                    connector=connector,
                    headers=_HEADERS,
                    cookie_jar=aiohttp.DummyCookieJar(),
                    trust_env=False,
                    auto_decompress=False,
                )
            return self._session


async def _text(response: "aiohttp.ClientResponse") -> str:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _LIMIT_BYTES:
            break
    return body[:_LIMIT_BYTES].decode("utf-8", "replace")  # the server's charset could be slow: punycode is quadratic


def is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def refused(error: OSError) -> FetchError:
    """Why there is no connection to a server."""
    if isinstance(error, FileNotFoundError):
        return FetchError("no such socket")
    if isinstance(error, PermissionError):
        return FetchError("not permitted: this user has no access to that socket", cause=Cause.SOCKET)
    if isinstance(error, ConnectionRefusedError):
        return FetchError("connection refused: nothing is listening there")
    return FetchError(verbatim(error.strerror or str(error) or type(error).__name__))


def host_and_port(address: str) -> tuple[str, int] | None:
    """The parts of ``HOST:PORT`` or ``[ADDRESS]:PORT``; ``None`` where it is neither."""
    match = _ADDRESS.fullmatch(address)
    port = count_or_none(match[3], MOST_PORT) if match else None
    return (match[1] or match[2], port) if match and port else None


async def itself(address: str) -> str:
    """The address of a server that this machine reaches without a detour."""
    return address


async def exchange(address: str, question: bytes, timeout_s: float) -> bytes:
    """All that ``HOST:PORT`` or the unix socket of that path answers (at most 1 MiB). Raises :class:`FetchError`."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _exchange(address, question)
    except TimeoutError:
        raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
    except OSError as error:
        raise refused(error) from None


async def _exchange(address: str, question: bytes) -> bytes:
    if address.startswith("/"):
        reader, writer = await asyncio.open_unix_connection(address)
    else:
        place = host_and_port(address)
        if place is None:
            raise FetchError("not an address: HOST:PORT or the path of a socket")
        reader, writer = await asyncio.open_connection(*place)
    try:
        writer.write(question)
        await writer.drain()
        answer = bytearray()
        while len(answer) < _LIMIT_BYTES and (chunk := await reader.read(_CHUNK)):
            answer += chunk
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if not answer:
        raise FetchError("the server closed the connection without a response")
    return bytes(answer[:_LIMIT_BYTES])
