"""Workers that are added while a load runs: nothing is lost, nothing is counted twice, and there is no gap."""

import asyncio
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from loadtop.generator.limits import CpuUsage, ScalingPolicy
from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import SetConcurrency, SetRate, StopLoad
from tests.loads.running import gather, until
from tests.loads.scripted import Scripted, scripted
from tests.servers.apache import ApacheFactory

MOST = 3
CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n"


class EveryHalfSecond(ScalingPolicy):
    """One more worker every half second, up to :data:`MOST`."""

    def __init__(self) -> None:
        super().__init__(MOST, lambda: 1.0)
        self.asked = 0

    def wants_worker(self, usage: Sequence[CpuUsage]) -> bool:
        self.asked += 1
        return len(usage) < MOST and self.asked % 2 == 0


async def grow(what: Plan, *, stop_after: int | None = None) -> tuple[list[LoadSample], int]:
    """Run a load that grows; its samples, and how many workers it ended with. With ``stop_after``, it is stopped once
    as it has more than one worker and has counted that many requests."""
    pool = LoadPool(what, scaling=EveryHalfSecond())
    await pool.start()
    samples: list[LoadSample] = []
    try:
        async with asyncio.timeout(60):
            while not samples or not samples[-1].state.ended:
                await asyncio.sleep(0.05)
                sample = pool.take()
                assert sample is not None
                samples.append(sample)
                measured = sample.requests if sample.state is LoadState.RUNNING else 0
                if stop_after is not None and len(pool.pids) > 1 and (measured or 0) >= stop_after:
                    pool.command(StopLoad())
                    stop_after = None
        return samples, len(pool.pids)
    finally:
        await pool.close()


def plan(url: str, *steps: Step, **settings: Any) -> Plan:
    return Plan((Target.parse(url),), steps, more_workers=True, **settings)


@pytest.mark.servers
@pytest.mark.parametrize("keepalive", [True, False])
async def test_requests_are_neither_lost_nor_made_twice(apache: ApacheFactory, keepalive: bool) -> None:
    server = apache(mpm="prefork", php="mod", workers=24, pages={"a.php": "<?php usleep(40000); echo 'x';"})
    step = Step(concurrency=16, requests=3003)
    samples, workers = await grow(plan(f"{server.url}a.php", step, keepalive=keepalive))
    run = gather(samples)
    assert workers > 1
    assert run.last.state is LoadState.DONE
    assert run.requests == run.total.count == len(server.requests()) == 3003
    assert run.failures.total == 0
    counted = [sample.requests or 0 for sample in samples]
    assert counted == sorted(counted), "counters never go back"
    assert {sample.concurrency for sample in samples if sample.state is LoadState.RUNNING} <= {16}


@pytest.mark.quiet("measures pauses")
async def test_there_is_no_gap_and_the_time_is_that_of_the_first_worker() -> None:
    async with scripted(pause_s=0.01) as server:
        samples, workers = await grow(plan(server.url, Step(concurrency=6, duration_s=3), keepalive=True))
    run = gather(samples)
    assert workers > 1
    assert run.last.state is LoadState.DONE
    assert run.last.elapsed_s == pytest.approx(3.0, abs=0.5)
    assert run.requests == run.total.count == len(server.heads)
    counted = [sample.requests or 0 for sample in samples if sample.state is LoadState.RUNNING]
    # Samples are 50 ms apart, reports of workers 200 ms: in a second there is always something new.
    assert all(later > earlier for earlier, later in zip(counted, counted[20:], strict=False))
    assert server.most <= 6 + MOST, "connections move over, they do not double"


async def test_the_rate_is_shared() -> None:
    async with scripted() as server:
        what = plan(server.url, Step(rate=300, duration_s=60), keepalive=True)
        samples, workers = await grow(what, stop_after=900)
    run = gather(samples)
    assert workers > 1
    assert run.requests == len(server.heads) == run.corrected.count
    assert run.last.generator is not None
    assert run.last.elapsed_s is not None
    due = 300 * run.last.elapsed_s  # to the end of the last request, a moment after the load was stopped
    assert run.requests + (run.last.generator.unsent or 0) == pytest.approx(due, abs=200)
    assert run.last.rate == pytest.approx(300)


async def test_steps_continue_together() -> None:
    async with scripted(pause_s=0.012) as server:
        steps = [Step(concurrency=level, requests=500) for level in (2, 4, 6)]
        samples, workers = await grow(plan(server.url, *steps, keepalive=True))
    run = gather(samples)
    assert workers > 1
    assert run.last.state is LoadState.DONE
    assert run.requests == len(server.heads) == 1500
    ends = {later.step: later.requests for earlier, later in pairwise(samples) if later.step > earlier.step}
    assert set(ends) == {2, 3}


async def test_a_warm_up_counts_nowhere() -> None:
    async with scripted(pause_s=0.01) as server:
        what = plan(server.url, Step(concurrency=6, duration_s=60), keepalive=True, warmup_s=1.5)
        started = time.monotonic()
        samples, workers = await grow(what, stop_after=100)
        took_s = time.monotonic() - started
    run = gather(samples)
    assert workers > 1
    assert run.last.elapsed_s is not None
    assert run.last.elapsed_s <= took_s - 1.5
    assert run.requests < len(server.heads)
    assert run.requests == run.total.count


@pytest.mark.alone("fills a core")
async def test_a_worker_that_is_really_full_gets_another() -> None:
    """The server sends the same bytes again and again; taking thousands of chunks apart fills the worker's core."""
    async with scripted(CHUNKS) as server:
        # Whether cores are idle is not for this test: it runs beside others.
        pool = LoadPool(
            plan(server.url, Step(concurrency=4, duration_s=60), keepalive=True), scaling=ScalingPolicy(2, lambda: 1.0)
        )
        await pool.start()
        try:
            await until(lambda: len(pool.pids) == 2, 30)
            await until(lambda: (sample := pool.take()) is not None and sample.state is LoadState.RUNNING)
            pool.command(StopLoad())
            await pool.wait()
            last = pool.take()
        finally:
            await pool.close()
    assert last is not None
    assert last.generator is not None
    assert len(last.generator.worker_cpu_s) == 2
    assert len(last.generator.worker_wait_s) == (2 if sys.platform == "linux" else 0)
    assert last.requests == len(server.heads)
    assert last.failed == 0


@pytest.mark.quiet("a worker that waits for the CPU counts as full")
async def test_a_worker_with_little_to_do_stays_alone() -> None:
    async with scripted(pause_s=0.02) as server:
        pool = LoadPool(
            plan(server.url, Step(concurrency=4, duration_s=2.5), keepalive=True), scaling=ScalingPolicy(2, lambda: 1.0)
        )
        await pool.start()
        try:
            await pool.wait()
            assert len(pool.pids) == 1
        finally:
            await pool.close()


async def grown(pool: LoadPool, server: Scripted) -> None:
    await until(lambda: len(pool.pids) == MOST and server.open > 0)


async def test_user_commands_reach_the_new_workers() -> None:
    async with scripted(pause_s=0.01) as server:
        pool = LoadPool(plan(server.url, Step(concurrency=6, duration_s=60), keepalive=True), scaling=EveryHalfSecond())
        await pool.start()
        try:
            await until(lambda: (sample := pool.take()) is not None and (sample.requests or 0) > 5)
            pool.command(SetConcurrency(12))
            await grown(pool, server)
            await until(lambda: server.open == 12)
            pool.command(SetConcurrency(2))
            await until(lambda: server.open == 2)
            pool.command(SetRate(1.0))
            pool.command(StopLoad())
            await until(lambda: (sample := pool.take()) is not None and sample.state is LoadState.STOPPED)
        finally:
            await pool.close()
        await until(lambda: server.open == 0)
