"""Many requests, many connections, and answers known beforehand."""

import asyncio
import resource
from pathlib import Path

import pytest

from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import StopLoad
from tests.loads.running import plan, run_load, until, until_requests
from tests.loads.scripted import OK, read_request, scripted
from tests.servers.apache import ApacheFactory

MANY = 5_000
CONNECTIONS = 10_000


def resident_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@pytest.mark.servers
@pytest.mark.parametrize("keepalive", [True, False])
async def test_many_requests_are_counted_as_the_server_counts_them(apache: ApacheFactory, keepalive: bool) -> None:
    server = apache(workers=32, pages={"a.html": b"x" * 1024})
    what = plan(server.url + "a.html", requests=MANY, concurrency=16, keepalive=keepalive, workers=2)
    run = await run_load(what, within_s=100)
    logged = server.logged()
    assert run.last.state is LoadState.DONE
    assert run.last.requests == run.total.count == len(logged) == MANY
    assert run.last.failed == run.last.non_2xx == 0
    assert run.last.received_bytes == sum(entry.sent_bytes for entry in logged)
    assert run.last.body_bytes == MANY * 1024


@pytest.mark.servers
@pytest.mark.quiet("measures when requests are sent")
async def test_open_arrivals_are_counted_as_the_server_counts_them(apache: ApacheFactory) -> None:
    server = apache(workers=32, pages={"a.html": b"x" * 1024})
    what = Plan((Target.parse(server.url + "a.html"),), (Step(rate=2000, duration_s=1.5),), keepalive=True)
    run = await run_load(what)
    logged = server.logged()
    assert run.last.requests == run.total.count == run.corrected.count == len(logged)
    assert run.last.generator is not None
    assert 2980 <= run.requests + (run.last.generator.unsent or 0) <= 2000 * (run.last.elapsed_s or 0.0) + 10
    assert run.last.received_bytes == sum(entry.sent_bytes for entry in logged)


@pytest.mark.servers
async def test_memory_does_not_grow_with_the_run(apache: ApacheFactory) -> None:
    server = apache(workers=32, pages={"a.html": b"x" * 1024})
    sizes: list[int] = []

    async def watch(pool: LoadPool) -> None:
        for requests in (4_000, 16_000):
            await until_requests(pool, requests)
            sizes.append(resident_kb(pool.pids[0]))
        pool.command(StopLoad())

    what = plan(server.url + "a.html", requests=1_000_000, concurrency=16, keepalive=True)
    await run_load(what, during=watch, within_s=100)
    assert sizes[1] - sizes[0] < 660


@pytest.mark.servers
@pytest.mark.quiet("measures how long a load takes")
async def test_a_pool_of_five_serves_sleeping_pages_as_arithmetic_says(apache: ApacheFactory) -> None:
    page = "<?php usleep(250000); echo 'x';"
    server = apache(mpm="prefork", php="mod", workers=5, keepalive_s=0, status=False, pages={"a.php": page})
    for concurrency, seconds in ((1, 2.5), (2, 1.25), (5, 0.5), (10, 0.5)):
        run = await run_load(plan(server.url + "a.php", requests=10, concurrency=concurrency))
        assert run.last.failed == 0
        assert run.last.elapsed_s == pytest.approx(seconds, rel=0.02, abs=0.2)


@pytest.mark.timeout(300)  # those that find the accept queue full come again after 1, 3, 7, 15, 31 s
async def test_ten_thousand_connections_at_once() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 100:
        run = await run_load(plan("http://127.0.0.1:1/", requests=CONNECTIONS, concurrency=CONNECTIONS))
        assert "ulimit -n" in str(run.last.message)
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (CONNECTIONS + 100, hard))
    asked = 0
    seen = asyncio.Event()

    async def answer_when_seen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        await read_request(reader)
        asked += 1
        await seen.wait()
        writer.write(OK)

    def is_open(sample: LoadSample | None) -> bool:
        """All are open, or one has failed, which the end shows."""
        return sample is not None and (sample.connections == CONNECTIONS or bool(sample.failed))

    try:
        async with scripted(handler=answer_when_seen) as server:

            async def watch(pool: LoadPool) -> None:
                await until(lambda: server.open == CONNECTIONS, 200, state=pool.take)
                await until(lambda: is_open(pool.take()), 60, state=pool.take)
                seen.set()

            what = plan(server.url, requests=CONNECTIONS, concurrency=CONNECTIONS, keepalive=True, timeout_s=300)
            run = await run_load(what, during=watch, within_s=280)
        assert run.last.state is LoadState.DONE
        assert run.last.failed == 0, run.failures
        assert run.last.requests == asked == server.connections == CONNECTIONS
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
