"""Status pages without end, packed bombs, and servers that answer by the byte: bounded in size and time."""

import asyncio
import time
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import psutil
import pytest

from collectors.errors import FetchError
from collectors.transport.exchange import exchange
from collectors.transport.status_client import StatusClient

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
LIMIT = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


async def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def endless_body(writer: asyncio.StreamWriter) -> None:
    await send(writer, HEAD + b"\r\n")
    while True:
        await send(writer, b"Total Accesses: 5\n" * 1000)


async def endless_header(writer: asyncio.StreamWriter) -> None:
    await send(writer, HEAD)
    while True:
        await send(writer, b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(1000)))


async def endless_line(writer: asyncio.StreamWriter) -> None:
    await send(writer, b"HTTP/1.1 200 ")
    while True:
        await send(writer, b"x" * 65536)


async def endless_trailer(writer: asyncio.StreamWriter) -> None:
    await send(writer, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX: ")
    while True:
        await send(writer, b"x" * 65536)


async def by_the_byte(writer: asyncio.StreamWriter) -> None:
    await send(writer, HEAD + b"\r\n")
    while True:
        await send(writer, b"x")
        await asyncio.sleep(0.01)


async def packed(writer: asyncio.StreamWriter) -> None:
    """A hundred megabytes in a hundred kilobytes."""
    await send(writer, HEAD + b"Content-Encoding: gzip\r\n\r\n")
    packer = zlib.compressobj(wbits=31)
    for _ in range(100):
        await send(writer, packer.compress(bytes(1 << 20)))
    await send(writer, packer.flush())


@asynccontextmanager
async def serving(answer: Answer) -> AsyncGenerator[tuple[int, list[bytes]]]:
    """The port of a server that answers so, and the requests that it gets."""
    requests: list[bytes] = []
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(ConnectionError):
            requests.append(await reader.read(4096))
            await answer(writer)
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1], requests
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


@pytest.mark.parametrize("answer", [endless_body, endless_header, endless_line, endless_trailer, by_the_byte, packed])
async def test_a_hostile_page(answer: Answer) -> None:
    client = StatusClient()
    process = psutil.Process()
    async with serving(answer) as (port, requests):
        before, began = process.memory_info().rss, time.monotonic()
        try:
            text = (await client.get(f"http://127.0.0.1:{port}/", 2.0)).text
        except FetchError as error:
            text = str(error.message)
        assert 0 < len(text) <= LIMIT
        assert time.monotonic() - began < 15.0
        assert process.memory_info().rss - before < 50 << 20
        await client.close()
    assert b"\r\nAccept-Encoding: identity\r\n" in requests[0]


async def test_a_socket_without_end() -> None:
    async with serving(endless_body) as (port, _):
        answer = await exchange(f"127.0.0.1:{port}", b"show stat\n", 30.0)
        assert len(answer) == LIMIT
    async with serving(by_the_byte) as (port, _):
        with pytest.raises(FetchError, match="no response within"):
            await exchange(f"127.0.0.1:{port}", b"show stat\n", 0.2)
