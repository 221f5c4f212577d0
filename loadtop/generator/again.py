"""A load that can be begun again: run after run of the same kind, counted as one."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from loadtop.model import Failures, GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.commands import Command, RestartLoad, StopLoad

if TYPE_CHECKING:
    from loadtop.pipeline.monitor import LoadSource

PATIENCE_S = 2.0
"""How long a load that is told to stop may take before the next one begins without its last figures."""


class RepeatedLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource` that makes a new load with ``make`` whenever it is asked to
    begin again.

    Counters and times go on from one run to the next, so that no rate and no sum is bent; the steps of a run are
    numbered after those of the run before.
    """

    def __init__(self, make: "Callable[[], LoadSource]") -> None:
        self._make = make
        self._load = make()
        self._before: LoadSample | None = None
        self._farewells: deque[LoadSample] = deque()
        self._change: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin the first run."""
        await self._load.start()

    async def wait(self) -> None:
        """Return when a run has ended and no other follows it."""
        while True:
            load = self._load
            await load.wait()
            if self._change is not None:
                await asyncio.wait({self._change})
            if load is self._load:
                return

    def take(self) -> LoadSample | None:
        """The newest sample of all runs together; the last ones of a run are given even if the next has begun."""
        return self._farewells.popleft() if self._farewells else self._newest()

    def _newest(self) -> LoadSample | None:
        sample = self._load.take()
        return sample if sample is None or self._before is None else added(self._before, sample)

    def command(self, command: Command) -> None:
        """Change the load; :class:`RestartLoad` ends this run and begins the next."""
        if not isinstance(command, RestartLoad):
            self._load.command(command)
        elif self._change is None or self._change.done():
            self._change = asyncio.create_task(self._again())

    async def close(self) -> None:
        """Stop whatever still runs."""
        if self._change is not None:
            self._change.cancel()
            await asyncio.wait({self._change})
        await self._load.close()

    async def _again(self) -> None:
        old = self._load
        old.command(StopLoad())
        ended = asyncio.ensure_future(old.wait())
        await asyncio.wait({ended}, timeout=PATIENCE_S)
        ended.cancel()
        last = self._newest()
        while last is not None:
            self._farewells.append(last)
            if not last.more:
                break
            last = self._newest()
        await old.close()
        self._before = last
        self._load = self._make()
        await self._load.start()


def added(before: LoadSample, sample: LoadSample) -> LoadSample:
    """A sample of a run with the counters of the runs ``before`` it. What one of them did not measure is ``None``."""
    warm = sample.state is LoadState.WARMUP  # what is counted then is forgotten when it ends
    goal = sample.target_requests

    def both(known: int | None, now: int | None) -> int | None:
        return known if warm else _sum(known, now)

    return replace(
        sample,
        elapsed_s=before.elapsed_s + (0.0 if warm else sample.elapsed_s),
        step=before.step + sample.step,
        steps=before.step + sample.steps,
        requests=both(before.requests, sample.requests),
        failures=before.failures if warm else _failures(before.failures, sample.failures),
        non_2xx=both(before.non_2xx, sample.non_2xx),
        keepalive_requests=both(before.keepalive_requests, sample.keepalive_requests),
        received_bytes=both(before.received_bytes, sample.received_bytes),
        body_bytes=both(before.body_bytes, sample.body_bytes),
        sent_bytes=both(before.sent_bytes, sample.sent_bytes),
        generator=_together(before.generator, sample.generator),
        target_requests=None if goal is None else _sum(before.requests, goal),
        target_s=None if sample.target_s is None else before.elapsed_s + sample.target_s,
    )


def _sum(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else before + now


def _failures(before: Failures | None, now: Failures | None) -> Failures | None:
    if before is None or now is None:
        return None
    return Failures(
        _sum(before.connect, now.connect),
        _sum(before.receive, now.receive),
        _sum(before.length, now.length),
        _sum(before.exceptions, now.exceptions),
        _sum(before.timeout, now.timeout),
        before.unclassified + now.unclassified,
    )


def _together(before: GeneratorSample | None, now: GeneratorSample | None) -> GeneratorSample | None:
    if before is None or now is None:
        return now
    known = before.worker_cpu_s
    return replace(
        now,
        worker_cpu_s=tuple(s + (known[i] if i < len(known) else 0.0) for i, s in enumerate(now.worker_cpu_s)),
        late=_sum(before.late, now.late),
        unsent=_sum(before.unsent, now.unsent),
    )
