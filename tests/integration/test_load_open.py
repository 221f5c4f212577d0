"""The open model: arrivals come by the clock, whatever the server does, and their latency counts from their time."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model import LoadState
from loadtop.model.histogram import percentile
from loadtop.pipeline.feed import SetRate, StopLoad
from tests.loads.running import plan, run_load, until, until_requests
from tests.loads.scripted import OK, read_request, scripted

quiet = pytest.mark.quiet("measures when requests are sent")
BOTH = pytest.mark.parametrize("keepalive", [True, False])
STALL_S, SOON_S = 0.3, 0.005
PERIOD_S = 1.5


def open_plan(url: str, rate: float, *, seconds: float, most: int | None = None, **settings: object) -> Plan:
    step = Step(concurrency=most, rate=rate, duration_s=seconds)
    return Plan((Target.parse(url),), (step,), **settings)  # type: ignore[arg-type]


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
async def test_arrivals_come_at_the_rate(keepalive: bool, workers: int) -> None:
    async with scripted() as server:
        run = await run_load(open_plan(server.url, 200, seconds=1, keepalive=keepalive, workers=workers))
    assert run.last.state is LoadState.DONE
    assert run.last.model == "open"
    assert run.last.rate == 200
    assert run.last.requests == len(server.heads)
    generator = run.last.generator
    assert generator is not None
    assert 190 <= run.requests + (generator.unsent or 0) <= 200 * (run.last.elapsed_s or 0.0) + 3
    assert run.corrected.count == run.total.count == run.last.requests
    assert run.corrected.sum_us >= run.total.sum_us


async def test_the_number_of_requests_can_be_limited() -> None:
    async with scripted() as server:
        what = Plan((Target.parse(server.url),), (Step(rate=500, requests=123),), keepalive=True)
        run = await run_load(what)
    assert run.last.requests == len(server.heads) == 123


@quiet
async def test_arrivals_are_evenly_spread() -> None:
    times: list[float] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await read_request(reader))[0]:
            times.append(time.perf_counter())
            writer.write(OK)

    async with scripted(handler=handle) as server:
        await run_load(open_plan(server.url, 100, seconds=1, keepalive=True))
    gaps = sorted(after - before for before, after in pairwise(times))
    assert gaps[len(gaps) // 2] == pytest.approx(0.01, rel=0.2)


async def test_requests_to_a_full_server_are_late_and_finally_unsent() -> None:
    async with scripted(pause_s=0.05) as server:
        # Two connections serve at most 40 of 200 requests/s; every other arrival waits longer.
        run = await run_load(open_plan(server.url, 200, seconds=1, most=2, keepalive=True))
    assert server.most == 2
    generator = run.last.generator
    assert generator is not None
    assert run.last.requests == run.total.count == len(server.heads)
    elapsed_s = run.last.elapsed_s or 0.0
    assert 198 <= run.requests + (generator.unsent or 0) <= 200 * elapsed_s + 3
    assert run.total.sum_us / 1e6 == pytest.approx(2 * elapsed_s, rel=0.1), "both are always in use"
    assert (generator.late or 0) >= (generator.unsent or 0) >= 156
    assert percentile(run.total, 50) >= 50_000
    assert percentile(run.corrected, 50) > 250_000
    counted = [sample.generator.late or 0 for sample in run.samples if sample.generator is not None]
    assert counted == sorted(counted), "it is a counter"


def stalling() -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """A server that answers soon, but for the last part of every period; the first begins with the first request."""
    began: list[float] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await read_request(reader))[0]:
            began.append(time.monotonic())
            left = PERIOD_S - (time.monotonic() - began[0]) % PERIOD_S
            await asyncio.sleep(left if left < STALL_S else SOON_S)
            writer.write(OK)

    return handle


@quiet
async def test_a_stall_shows_in_the_open_model_and_hides_in_the_closed_one() -> None:
    async with scripted(handler=stalling()) as server, scripted(handler=stalling()) as other:
        opened, closed = await asyncio.gather(
            run_load(open_plan(server.url, 100, seconds=2.2 * PERIOD_S, most=10, keepalive=True)),
            run_load(plan(other.url, seconds=2.2 * PERIOD_S, concurrency=2, keepalive=True)),
        )
    assert percentile(opened.corrected, 99) > 1e6 * STALL_S * 0.8
    assert percentile(opened.corrected, 90) > 1e6 * STALL_S * 0.2
    assert percentile(closed.total, 95) < 1e6 * STALL_S * 0.2
    assert closed.corrected.count == 0
    assert opened.last.requests == pytest.approx(220 * PERIOD_S, abs=20), "after a stall it catches up and goes on"


@quiet
async def test_the_rate_changes_while_it_runs() -> None:
    async with scripted() as server:
        rates: list[float] = []

        async def measure(pool: LoadPool, rate: float) -> float:
            pool.command(SetRate(rate))
            await until(lambda: (sample := pool.take()) is not None and sample.rate == rate)
            before = len(server.heads)
            took_s = await until(lambda: len(server.heads) >= before + rate)
            return (len(server.heads) - before) / took_s

        async def change(pool: LoadPool) -> None:
            await until_requests(pool, 5)
            rates.extend([await measure(pool, 50.0), await measure(pool, 400.0)])
            pool.command(StopLoad())

        run = await run_load(open_plan(server.url, 100, seconds=60, keepalive=True), during=change)
    assert rates == [pytest.approx(50, rel=0.2), pytest.approx(400, rel=0.2)]
    assert run.last.rate == 400
    assert run.last.requests == len(server.heads)


async def test_steps_of_rates() -> None:
    async with scripted() as server:
        steps = (Step(rate=50, duration_s=0.5), Step(rate=300, duration_s=0.5), Step(concurrency=1, requests=10))
        run = await run_load(Plan((Target.parse(server.url),), steps, keepalive=True))
    assert run.last.requests == pytest.approx(185, abs=60)  # steps may change late
    assert {sample.rate for sample in run.samples if sample.step == 2} == {300}
    assert run.last.model == "closed"
