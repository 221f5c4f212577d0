"""What a person is reported when a load cannot be made or can no longer be made."""

import asyncio
import socket
import time

import pytest

from loadtop.generator.pool import LoadPool
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import StopLoad
from tests.loads.running import plan, run_load, until, until_requests
from tests.loads.scripted import OK, Handler, read_request, scripted
from tests.servers.program import free_port

BOTH = pytest.mark.parametrize("keepalive", [True, False])


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
async def test_a_refused_connection(keepalive: bool, workers: int) -> None:
    port = free_port()
    started = time.monotonic()
    run = await run_load(plan(f"http://127.0.0.1:{port}/", requests=100, keepalive=keepalive, workers=workers))
    assert run.last.state is LoadState.FAILED
    assert (
        str(run.last.message) == f"connection refused by 127.0.0.1:{port}: is the server running on 127.0.0.1:{port}?"
    )
    assert time.monotonic() - started < 10, "no time limit was waited for"


async def test_an_unknown_host() -> None:
    run = await run_load(plan("http://no-such-host.invalid/", requests=10))
    assert run.last.state is LoadState.FAILED
    assert "unknown host no-such-host.invalid" in str(run.last.message)
    assert run.last.elapsed_s == 0


@BOTH
async def test_a_host_that_does_not_answer(keepalive: bool) -> None:
    # A listener with a full queue drops what comes, as a firewall does.
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for filler in (first, second):
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        port = listener.getsockname()[1]
        run = await run_load(plan(f"http://127.0.0.1:{port}/", requests=10, keepalive=keepalive, timeout_s=0.4))
    assert run.last.state is LoadState.FAILED
    assert "does not respond (timed out)" in str(run.last.message)


@BOTH
async def test_a_server_that_dies_in_the_middle(keepalive: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await read_request(reader))[0]:
            writer.write(OK if keepalive else OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            if not keepalive:
                return

    server = await asyncio.start_server(lambda r, w: _serve(handle, r, w), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]

    async def die(pool: LoadPool) -> None:
        await until_requests(pool, 50)
        server.close()
        for writer in list(WRITERS):
            writer.transport.abort()

    run = await run_load(plan(f"http://127.0.0.1:{port}/", seconds=60, keepalive=keepalive), during=die)
    assert run.last.state is LoadState.FAILED
    assert str(run.last.message).startswith("the server stopped answering: connection refused by 127.0.0.1")
    assert run.requests >= 50
    failed = run.failures.connect or 0
    assert failed >= 10
    assert failed < 20, "it does not hammer a dead server"


WRITERS: set[asyncio.StreamWriter] = set()


async def _serve(handle: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    WRITERS.add(writer)
    try:
        await handle(reader, writer)
    except ConnectionError:
        pass
    finally:
        WRITERS.discard(writer)
        writer.close()


def refused(sample: LoadSample) -> int:
    return 0 if sample.failures is None else sample.failures.connect or 0


def made(pool: LoadPool) -> int:
    sample = pool.take()
    return 0 if sample is None else sample.requests or 0


async def test_keep_going_continues_and_comes_back() -> None:
    port = free_port()
    first = await asyncio.start_server(_answer_always, "127.0.0.1", port)

    async def restart(pool: LoadPool) -> None:
        await until_requests(pool, 20)
        first.close()
        for writer in list(WRITERS):
            writer.transport.abort()
        await until(lambda: (sample := pool.take()) is not None and refused(sample) >= 2)
        again = await asyncio.start_server(_answer_always, "127.0.0.1", port)
        await until_requests(pool, made(pool) + 50)
        again.close()
        pool.command(StopLoad())

    what = plan(f"http://127.0.0.1:{port}/", seconds=60, keepalive=True, keep_going=True, concurrency=2)
    run = await run_load(what, during=restart)
    assert run.last.state is LoadState.STOPPED
    assert 2 <= refused(run.last) < 100
    assert run.requests - run.failures.total > 40


async def _answer_always(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await read_request(reader))[0]:
            await asyncio.sleep(0.01)
            writer.write(OK)

    await _serve(handle, reader, writer)


async def test_keep_going_ends_when_all_requests_have_failed() -> None:
    what = plan(f"http://127.0.0.1:{free_port()}/", requests=5, keep_going=True)
    run = await run_load(what)
    assert run.last.state is LoadState.DONE
    assert run.failures.connect == run.last.requests == 5
    assert "connection refused" in str(run.last.message)


@BOTH
async def test_a_server_that_never_speaks_http_is_not_hammered(keepalive: bool) -> None:
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert reader is not None
        writer.close()

    async with scripted(handler=slam) as server:
        run = await run_load(plan(server.url, requests=100_000, keepalive=keepalive, concurrency=20))
    assert run.last.state is LoadState.FAILED
    assert "is this an HTTP server?" in str(run.last.message)
    assert server.connections < 200


async def test_https_to_a_port_that_speaks_http() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    async with scripted(handler=refuse) as server:
        run = await run_load(plan(server.url.replace("http:", "https:"), requests=10))
    assert run.last.state is LoadState.FAILED
    assert "is this an https port?" in str(run.last.message)


async def test_too_many_connections_for_the_limit() -> None:
    run = await run_load(plan("http://127.0.0.1:1/", requests=10**9, concurrency=200_000))
    limit = run.last.generator.files_limit if run.last.generator else None
    assert run.last.state is LoadState.FAILED
    assert f"limit of {limit:,}" in str(run.last.message) or "connection refused" in str(run.last.message)
