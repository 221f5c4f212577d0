"""Fetches status pages with aiohttp, which is imported when the first page is wanted, in a thread.

Every request closes its connection. A kept-alive one would hold a worker of Apache's prefork and worker MPMs in K
between two pages, and would be served past a full pool, which shows in its silence.
"""

import asyncio
import importlib
import ssl
import time
from typing import TYPE_CHECKING, Any

from collectors.errors import FetchError, SilentError
from collectors.reading import Page, without_credentials
from loadtop import __version__
from loadtop.i18n import Message, verbatim

if TYPE_CHECKING:
    import aiohttp

_LIMIT_BYTES = 1 << 20
_HEADERS = {"User-Agent": f"loadtop/{__version__} (status)", "Accept": "text/plain, */*", "Connection": "close"}


class StatusClient:
    """``socket_path`` is a unix socket that leads to the machine, where there is one. ``verify`` says whether
    certificates are checked; those of this machine itself never are."""

    def __init__(self, *, verify: bool = True, socket_path: str | None = None) -> None:
        self._verify = verify
        self._socket_path = socket_path
        self._session: aiohttp.ClientSession | None = None
        self._opening = asyncio.Lock()
        self._closed = False

    async def get(self, url: str, timeout_s: float) -> Page:
        """The page, whatever its status; redirects are not followed. Raises :class:`FetchError`."""
        session = await self._open()
        import aiohttp

        began = time.perf_counter()
        certain: dict[str, Any] = {} if self._verify and not _is_loopback(url) else {"ssl": False}
        limit = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with session.get(url, timeout=limit, allow_redirects=False, **certain) as response:
                text = _text(await _read(response.content), response.charset or "utf-8")
                took_s = time.perf_counter() - began
                return Page(without_credentials(url), response.status, response.content_type, text, took_s)
        except TimeoutError:
            raise SilentError("no answer within {seconds:.1f} s", seconds=timeout_s) from None
        except aiohttp.InvalidURL:
            raise FetchError("not a URL") from None
        except aiohttp.ClientConnectorCertificateError as error:
            reason = Message("the certificate cannot be trusted ({error})", error=str(error.certificate_error))
            raise FetchError(reason) from None
        except aiohttp.ClientConnectorError as error:
            raise FetchError(_connect_reason(error.os_error)) from None
        except aiohttp.ServerDisconnectedError:
            raise FetchError("the server closed the connection without an answer") from None
        except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError) as error:
            raise FetchError(
                "the answer could not be read ({error})", error=f"{type(error).__name__}: {error}"
            ) from None

    async def close(self) -> None:
        """Give up what is on its way; pages that are asked for later are a :class:`FetchError`."""
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
                    raise FetchError("the test is over")
                connector: aiohttp.BaseConnector = (
                    aiohttp.TCPConnector(force_close=True, limit=0)
                    if self._socket_path is None
                    else aiohttp.UnixConnector(self._socket_path, force_close=True, limit=0)
                )
                self._session = aiohttp.ClientSession(
                    connector=connector, headers=_HEADERS, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
                )
            return self._session


async def _read(content: "aiohttp.StreamReader") -> bytes:
    body = bytearray()
    async for chunk in content.iter_any():
        body += chunk
        if len(body) > _LIMIT_BYTES:
            break
    return bytes(body[:_LIMIT_BYTES])


def _text(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


def _is_loopback(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host == "localhost" or host == "::1" or host.startswith("127.")


def _connect_reason(error: OSError) -> Message:
    if isinstance(error, ConnectionRefusedError):
        return Message("connection refused: nothing listens there")
    return verbatim(error.strerror or str(error) or type(error).__name__)
