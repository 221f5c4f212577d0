"""Servers that mean harm: they cannot crash the generator, hang it, or fill its memory."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from loadtop.generator.pool import LoadPool
from loadtop.model import LoadState
from tests.loads.running import plan, run_load
from tests.loads.scripted import Handler, read_request, scripted

BLOCK = 1 << 18
MOST_KB = 120_000
"""A worker has about 45 MB when it starts; what is sent to it in these tests are gigabytes."""


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def endless(start: bytes, again: bytes) -> Handler:
    """A server that sends ``start`` and then ``again`` as long as someone reads it."""
    block = again * (BLOCK // len(again) + 1)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await read_request(reader)
            writer.write(start)
            while True:
                writer.write(block)
                await writer.drain()

    return handle


async def watch(pool: LoadPool, sizes: list[int]) -> None:
    """Note the size of the worker until the load has ended."""
    while (sample := pool.take()) is None or not sample.state.ended:
        with contextlib.suppress(OSError, IndexError):
            sizes.append(resident_kb(pool.pids[0]))
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("keepalive", "start", "again", "kind"),
    [
        (True, b"HTTP/1.1 200 OK\r\nX: ", b"x", "exceptions"),
        (False, b"HTTP/1.1 200 OK\r\nX: ", b"x", "exceptions"),
        (True, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", "exceptions"),
        (False, b"", b"HTTP/1.1 100 Continue\r\n\r\n", "exceptions"),
        (True, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x", "timeout"),
        (False, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x", "timeout"),
        (True, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", "timeout"),
        (False, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n", "timeout"),
        (True, b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999999\r\n\r\n", b"x", "timeout"),
        (False, b"HTTP/1.1 200 OK\r\n\r\n", b"x", "timeout"),
    ],
    ids=[
        *("header", "header and close", "headers", "interim and close", "chunk extension", "chunk extension and close"),
        *("chunks", "trailers and close", "length", "no length and close"),
    ],
)
async def test_endless_input_is_abandoned(keepalive: bool, start: bytes, again: bytes, kind: str) -> None:
    sizes: list[int] = []
    async with scripted(handler=endless(start, again)) as server:
        what = plan(server.url, requests=2, concurrency=2, keepalive=keepalive, timeout_s=0.8, keep_going=True)
        began = time.monotonic()
        run = await run_load(what, during=lambda pool: watch(pool, sizes))
    assert time.monotonic() - began < 15
    assert run.last.state is LoadState.DONE
    assert run.requests == run.failures.total == 2
    # The test's server may be too busy with the first connection to accept the second in time.
    assert getattr(run.failures, kind) >= 1
    assert max(sizes) < MOST_KB
