"""A server that does to its connections what a test wants, in the test's own event loop."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable

from msgspec import Struct, field

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Scripted(Struct):
    """``connections`` accepted so far, ``open`` now and ``most`` at once; the heads of all requests read."""

    port: int = 0
    scheme: str = "http"
    host: str = "127.0.0.1"
    connections: int = 0
    open: int = 0
    most: int = 0
    heads: list[bytes] = field(default_factory=list[bytes])

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}/"


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The next request's head and body; an empty head where there is none."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b"", b""
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    return head, await reader.readexactly(length)


@contextlib.asynccontextmanager
async def scripted(
    answer: bytes | Callable[[int], bytes] = OK,
    *,
    handler: Handler | None = None,
    pause_s: float = 0.0,
    per_connection: int = 1 << 30,
    tls: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
) -> AsyncGenerator[Scripted]:
    """A server on a free port. It answers each request with ``answer`` (bytes, or a function of the request's number
    from 0), after ``pause_s``, and closes a connection after ``per_connection`` answers; or ``handler`` does it all."""
    server = Scripted(scheme="https" if tls else "http", host=host)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if handler is not None:
            await handler(reader, writer)
            return
        for _ in range(per_connection):
            head, _body = await read_request(reader)
            if not head:
                return
            number = len(server.heads)
            server.heads.append(head)
            if pause_s:
                await asyncio.sleep(pause_s)
            writer.write(answer if isinstance(answer, bytes) else answer(number))

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        server.connections += 1
        server.open += 1
        server.most = max(server.most, server.open)
        try:
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await serve(reader, writer)
                await writer.drain()
        finally:
            tasks.discard(task)
            server.open -= 1
            writer.close()

    listener = await asyncio.start_server(connected, host, 0, ssl=tls, backlog=4096)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await listener.wait_closed()
