"""Runs a load to its end and keeps everything that was sampled of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model import Distribution, Failures, LoadSample
from loadtop.model.histogram import EMPTY, merge

INTERVAL_S = 0.05


class Run(Struct, frozen=True):
    """All samples of a load, the last of them, and the latencies of all intervals together."""

    samples: list[LoadSample]
    last: LoadSample
    total: Distribution
    connect: Distribution
    waiting: Distribution
    corrected: Distribution

    @property
    def failures(self) -> Failures:
        """What failed in the end."""
        assert self.last.failures is not None
        return self.last.failures

    @property
    def requests(self) -> int:
        """How many requests ended."""
        assert self.last.requests is not None
        return self.last.requests


def plan(
    url: str, *, requests: int | None = None, seconds: float | None = None, concurrency: int = 4, **settings: Any
) -> Plan:
    """A plan of one target and one step."""
    request = {name: settings.pop(name) for name in ("method", "headers", "body") if name in settings}
    step = Step(concurrency=concurrency, rate=settings.pop("rate", None), duration_s=seconds, requests=requests)
    return Plan(targets=(Target.parse(url, **request),), steps=(step,), **settings)


async def run_load(
    what: Plan, *, during: Callable[[LoadPool], Awaitable[None]] | None = None, within_s: float = 30.0
) -> Run:
    """Run a load until it has ended; ``during`` runs beside it. Nothing of it is left afterwards."""
    pool = LoadPool(what)
    await pool.start()
    samples: list[LoadSample] = []
    beside = None if during is None else asyncio.ensure_future(during(pool))
    try:
        async with asyncio.timeout(within_s):
            while not samples or not samples[-1].state.ended:
                await asyncio.sleep(INTERVAL_S)
                sample = pool.take()
                assert sample is not None
                samples.append(sample)
                if beside is not None and beside.done():
                    await beside
            if beside is not None:
                await beside
    except TimeoutError:
        raise AssertionError(f"the load did not end: {samples[-1:]}") from None
    finally:
        await pool.close()
    return gather(samples)


async def until(
    holds: Callable[[], bool], within_s: float = 30.0, *, state: Callable[[], object] | None = None
) -> float:
    """Wait until ``holds()``; how many seconds it took. Fails when it takes longer than ``within_s``, with the
    ``state`` of what it waits for."""
    started = time.monotonic()
    while not holds():
        assert time.monotonic() - started < within_s, None if state is None else state()
        await asyncio.sleep(0.01)
    return time.monotonic() - started


async def until_requests(pool: LoadPool, requests: int) -> None:
    """Wait until the load has made so many requests. It takes the latencies away."""
    await until(lambda: (sample := pool.take()) is not None and (sample.requests or 0) >= requests, 90)


def gather(samples: list[LoadSample]) -> Run:
    """What the samples say together."""
    parts = [sample.latencies for sample in samples if sample.latencies is not None]
    return Run(
        samples,
        samples[-1],
        merge(part.total for part in parts),
        merge(part.connect for part in parts),
        merge(part.waiting for part in parts),
        merge(part.corrected or EMPTY for part in parts),
    )
