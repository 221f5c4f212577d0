"""``--openmetrics``: serves the newest snapshot to anyone who scrapes it, while a test runs."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable

from loadtop.cli.exit_codes import FileError
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.snapshot import Snapshot

PATH = "/metrics"
MOST_CLIENTS = 16
_MOST_HEAD = 1 << 14  # bytes
_PATIENCE_S = 5.0


class MetricsServer:
    """Hand :meth:`take` to a test as a sink of snapshots. ``url`` is the tested URL, once it is known."""

    def __init__(self, url: Callable[[], str | None]) -> None:
        self._url = url
        self._newest: Snapshot | None = None
        self._server: asyncio.Server | None = None
        self._clients = 0

    async def start(self, address: str, port: int) -> None:
        """Listen there. Raises FileError where that is not possible."""
        try:
            self._server = await asyncio.start_server(self._answer, address, port, limit=_MOST_HEAD)
        except OSError as error:
            reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
            raise FileError(f"--openmetrics: cannot listen on {address} port {port}: {reason}") from None

    def take(self, snapshot: Snapshot) -> None:
        self._newest = snapshot

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if self._clients <= MOST_CLIENTS:
                    writer.write(self._response(await reader.readuntil(b"\r\n\r\n")))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # a client that asks nothing, or goes away
        finally:
            self._clients -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def _response(self, head: bytes) -> bytes:
        from loadtop.reports.openmetrics import CONTENT_TYPE, openmetrics

        method, path, *_ = [*head.split(b"\r\n", 1)[0].decode("latin-1").split(), "", ""]
        status, kind, text = "200 OK", CONTENT_TYPE, ""
        if method not in ("GET", "HEAD"):
            status, kind, text = "405 Method Not Allowed", "text/plain", "GET or HEAD\n"
        elif path.partition("?")[0] != PATH:
            status, kind, text = "404 Not Found", "text/plain", f"metrics are at {PATH}\n"
        else:
            text = openmetrics(self._newest, url_without_secrets(self._url() or ""))
        body = text.encode("utf-8", "replace")
        lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", "Connection: close")
        return "\r\n".join((*lines, "", "")).encode("latin-1") + (b"" if method == "HEAD" else body)
