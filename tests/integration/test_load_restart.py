"""Beginning a load again, and going on to its next step."""

import asyncio

from msgspec.structs import replace

from loadtop.generator.plan import Step
from loadtop.generator.pool import LoadPool
from loadtop.generator.restart import RestartableLoad
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import NextStep, RestartLoad, StopLoad
from tests.loads.running import plan
from tests.loads.scripted import scripted

LIMIT_S = 30.0


def made(sample: LoadSample) -> int:
    """Requests so far."""
    assert sample.requests is not None
    return sample.requests


async def sample_when(load: RestartableLoad, kept: list[LoadSample], state: LoadState, requests: int = 0) -> LoadSample:
    """The first sample in that state with more requests than that."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            sample = load.take()
            assert sample is not None
            kept.append(sample)
            if sample.state is state and made(sample) > requests:
                return sample
            await asyncio.sleep(0.05)


async def test_runs_are_counted_as_one() -> None:
    async with scripted(pause_s=0.002) as server:
        what = plan(server.url, requests=50, concurrency=2)
        load, kept = RestartableLoad(lambda: LoadPool(what)), list[LoadSample]()
        await load.start()
        first = await sample_when(load, kept, LoadState.DONE)
        await asyncio.wait_for(load.wait(), LIMIT_S)
        load.command(RestartLoad())
        last = await sample_when(load, kept, LoadState.DONE, made(first))
        await asyncio.wait_for(load.wait(), LIMIT_S)
        await load.close()
        assert (first.requests, last.requests) == (50, 100)
        assert len(server.heads) == 100
    assert (last.step, last.steps, last.target_requests) == (2, 2, 100)
    assert last.elapsed_s > first.elapsed_s
    assert [made(s) for s in kept] == sorted(made(s) for s in kept)
    counted = sum(
        s.latencies.total.count for s in kept if s.latencies is not None and s.state is not LoadState.STARTING
    )
    assert counted == 100


async def test_a_running_load_is_ended_and_started_again() -> None:
    async with scripted(pause_s=0.01) as server:
        what = plan(server.url, seconds=60, concurrency=2)
        load, kept = RestartableLoad(lambda: LoadPool(what)), list[LoadSample]()
        await load.start()
        before = await sample_when(load, kept, LoadState.RUNNING, 10)
        load.command(RestartLoad())
        await sample_when(load, kept, LoadState.STOPPED)
        again = await sample_when(load, kept, LoadState.RUNNING, made(before))
        assert again.step == 2
        load.command(StopLoad())
        await asyncio.wait_for(load.wait(), LIMIT_S)
        last = load.take()
        await load.close()
        assert last is not None
        assert last.requests == len(server.heads)


async def test_the_next_step_starts_on_request() -> None:
    async with scripted(pause_s=0.005) as server:
        steps = tuple(Step(concurrency=number, duration_s=60.0) for number in (1, 3))
        what = replace(plan(server.url, seconds=60), steps=steps)
        load, kept = RestartableLoad(lambda: LoadPool(what)), list[LoadSample]()
        await load.start()
        first = await sample_when(load, kept, LoadState.RUNNING, 5)
        assert (first.step, first.concurrency) == (1, 1)
        load.command(NextStep())
        second = await sample_when(load, kept, LoadState.RUNNING, made(first) + 300)
        assert (second.step, second.concurrency) == (2, 3)
        load.command(NextStep())
        last = await sample_when(load, kept, LoadState.RUNNING, made(second) + 50)
        assert last.step == 2
        await load.close()
