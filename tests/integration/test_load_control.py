"""Changing, stopping and losing a load while it runs."""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import force_setattr

from loadtop.generator.pool import LoadPool
from loadtop.model import LoadState
from loadtop.pipeline.feed import SetConcurrency, StopLoad
from tests.loads.program import lives
from tests.loads.running import plan, run_load, until, until_requests
from tests.loads.scripted import OK, Scripted, read_request, scripted

BOTH = pytest.mark.parametrize("keepalive", [True, False])


def gone(pids: list[int]) -> Callable[[], bool]:
    """A question: is none of the processes left?"""
    return lambda: not any(map(lives, pids))


async def answer_first(
    answered: Counter[str], number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer so many requests, and leave the others waiting."""
    while (await read_request(reader))[0]:
        answered["requests"] += 1
        if answered["requests"] <= number:
            writer.write(OK)


async def most_at_once(server: Scripted, requests: int) -> int:
    """The most connections at once while so many requests come."""
    server.most, end = server.open, len(server.heads) + requests
    await until(lambda: len(server.heads) >= end)
    return server.most


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
async def test_the_number_of_connections_changes_while_it_runs(keepalive: bool, workers: int) -> None:
    async with scripted(pause_s=0.02) as server:
        seen: list[int] = []

        async def change(pool: LoadPool) -> None:
            await until_requests(pool, 10)
            for connections in (2, 9, 3):
                pool.command(SetConcurrency(connections))
                while await most_at_once(server, 10 * connections) != connections:
                    pass
                seen.append(await most_at_once(server, 10 * connections))
            newest = pool.take()
            assert newest is not None
            assert newest.concurrency == 3
            pool.command(StopLoad())

        what = plan(server.url, seconds=60, concurrency=4, keepalive=keepalive, workers=workers)
        run = await run_load(what, during=change)
    assert seen == [2, 9, 3]
    assert run.last.state is LoadState.STOPPED
    assert run.last.requests == len(server.heads)
    assert run.last.failed == 0


@BOTH
async def test_stopping_lets_requests_in_flight_finish(keepalive: bool) -> None:
    async with scripted(pause_s=0.2) as server:

        async def stop(pool: LoadPool) -> None:
            await until_requests(pool, 3)
            pool.command(StopLoad())

        run = await run_load(plan(server.url, seconds=60, concurrency=3, keepalive=keepalive), during=stop)
    assert run.last.state is LoadState.STOPPED
    assert run.last.requests == len(server.heads)


async def test_stopping_does_not_wait_for_a_stuck_server() -> None:
    async with scripted(pause_s=60) as server:
        stopped_at = 0.0

        async def stop(pool: LoadPool) -> None:
            nonlocal stopped_at
            await until(lambda: len(server.heads) == 4)
            stopped_at = time.monotonic()
            pool.command(StopLoad())

        run = await run_load(plan(server.url, seconds=60, keepalive=True), during=stop)
    assert run.last.state is LoadState.STOPPED
    assert run.last.requests == 0
    assert time.monotonic() - stopped_at < 30


async def test_closing_leaves_no_process() -> None:
    async with scripted(pause_s=0.01) as server:
        pool = LoadPool(plan(server.url, seconds=60, workers=2))
        await pool.start()
        await until_requests(pool, 10)
        pids = list(pool.pids)
        assert len(pids) == 2
        assert all(map(lives, pids))
        await pool.close()
        assert not any(map(lives, pids))


async def test_closing_kills_a_worker_that_does_not_listen() -> None:
    async with scripted(pause_s=0.01) as server:
        pool = LoadPool(plan(server.url, seconds=60))
        await pool.start()
        await until_requests(pool, 10)
        (pid,) = pool.pids
        os.kill(pid, signal.SIGSTOP)
        await pool.close()
        assert not lives(pid)


async def test_a_pool_that_never_started_can_be_closed() -> None:
    await LoadPool(plan("http://127.0.0.1:1/", seconds=60)).close()


async def test_a_worker_that_dies_is_a_failed_load() -> None:
    async with scripted(pause_s=0.01) as server:
        pool = LoadPool(plan(server.url, seconds=60, workers=2))
        await pool.start()
        await until_requests(pool, 10)
        victim, other = pool.pids
        os.kill(victim, signal.SIGKILL)
        await until(lambda: (sample := pool.take()) is not None and sample.state is LoadState.FAILED)
        sample = pool.take()
        assert sample is not None
        assert "ended unexpectedly" in str(sample.message)
        await until(gone([other]))
        await pool.close()


async def test_a_worker_that_cannot_begin_says_why() -> None:
    what = plan("http://127.0.0.1:1/", seconds=60)
    force_setattr(what, "targets", ())
    run = await run_load(what)
    assert run.last.state is LoadState.FAILED
    said = str(run.last.message)
    assert "ended unexpectedly (exit code 1)" in said
    assert "IndexError: tuple index out of range" in said


PARENT = """
import asyncio, sys
from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool

async def main():
    step = Step(concurrency=4, duration_s=60)
    pool = LoadPool(Plan((Target.parse(sys.argv[1]),), (step,), workers=2, keepalive=True))
    await pool.start()
    print(*pool.pids, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_no_worker_outlives_its_parent(number: signal.Signals) -> None:
    async with scripted(pause_s=0.001) as server:
        parent = await asyncio.create_subprocess_exec(
            *[sys.executable, "-c", PARENT, server.url],
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        assert parent.stdout is not None
        workers = [int(each) for each in (await parent.stdout.readline()).split()]
        await until(lambda: len(server.heads) > 10)
        assert all(map(lives, workers))
        parent.send_signal(number)
        await parent.wait()
        await until(gone(workers))


async def test_ctrl_c_does_not_reach_the_workers() -> None:
    async with scripted(pause_s=0.01) as server:
        pool = LoadPool(plan(server.url, seconds=60))
        await pool.start()
        assert os.getpgid(pool.pids[0]) != os.getpgid(0)
        await until_requests(pool, 1)
        os.kill(pool.pids[0], signal.SIGINT)
        before = len(server.heads)
        await until(lambda: len(server.heads) > before + 100)
        sample = pool.take()
        assert sample is not None
        assert sample.state is LoadState.RUNNING
        os.kill(pool.pids[0], signal.SIGTERM)
        await until(gone(list(pool.pids)))
        await pool.close()


async def test_no_secret_is_in_an_argument() -> None:
    async with scripted(pause_s=0.01) as server:
        what = plan(server.url, seconds=60, headers=(("Authorization", "Bearer hunter2"),), body=b"hunter2")
        pool = LoadPool(what)
        await pool.start()
        await until_requests(pool, 1)
        process = Path(f"/proc/{pool.pids[0]}")
        assert b"hunter2" not in (process / "cmdline").read_bytes()
        assert b"hunter2" not in (process / "environ").read_bytes()
        await pool.close()
    assert b"Authorization: Bearer hunter2" in server.heads[0]


async def test_a_reader_that_is_away_loses_nothing() -> None:
    async with scripted() as server:
        pool = LoadPool(plan(server.url, requests=2000, concurrency=3, keepalive=True))
        await pool.start()
        taken = 0
        async with asyncio.timeout(20):
            while True:
                await asyncio.sleep(0.7)
                sample = pool.take()
                assert sample is not None
                taken += 0 if sample.latencies is None else sample.latencies.total.count
                if sample.state.ended:
                    break
        await pool.close()
    assert taken <= 2000
    assert sample.requests == 2000


@BOTH
async def test_time_ends_a_load_that_gets_no_answer(keepalive: bool) -> None:
    """The first five requests are answered at once, later ones never."""
    async with scripted(handler=partial(answer_first, Counter(), 5)) as server:
        run = await run_load(plan(server.url, seconds=1.0, concurrency=5, keepalive=keepalive))
    assert run.last.state is LoadState.DONE
    assert (run.last.requests, run.last.failed, run.last.pending) == (5, 0, 5)
    assert run.last.elapsed_s == pytest.approx(1.0, abs=0.6)
