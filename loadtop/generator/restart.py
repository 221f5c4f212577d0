"""A load that can be restarted; statistics continue across runs."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec.structs import replace

from loadtop.generator.aggregation import counters
from loadtop.generator.notable import merged
from loadtop.generator.plan import total
from loadtop.model import GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, RestartLoad, StopLoad

if TYPE_CHECKING:
    from loadtop.pipeline.monitor import LoadSource

STOP_TIMEOUT_S = 2.0  # how long a load may take to stop before the next one starts without its last figures


class RestartableLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource` that calls ``make`` for a new load at each restart. Counters,
    times and the numbers of steps continue from one run to the next, so that rates and sums stay right."""

    def __init__(self, make: "Callable[[], LoadSource]") -> None:
        self._make = make
        self._load = make()
        self._before: LoadSample | None = None
        self._final_samples: deque[LoadSample] = deque()
        self._restart: asyncio.Task[None] | None = None
        self._pending: list[Command] = []  # for the next run, while it starts

    async def start(self) -> None:
        await self._load.start()

    async def wait(self) -> None:
        """Return when a run has ended and no other follows it."""
        while True:
            load = self._load
            await load.wait()
            if self._restart is not None:
                await asyncio.wait({self._restart})
            if load is self._load:
                return

    def take(self) -> LoadSample | None:
        """Return the newest sample of all runs together; the last ones of a run come even if the next has started."""
        return self._final_samples.popleft() if self._final_samples else self._newest()

    def _newest(self) -> LoadSample | None:
        sample = self._load.take()
        return sample if sample is None or self._before is None else added(self._before, sample)

    def command(self, command: Command) -> None:
        """Change the load; :class:`RestartLoad` ends this run and starts the next."""
        restarting = self._restart is not None and not self._restart.done()
        if isinstance(command, RestartLoad):
            self._pending.clear()
            if not restarting:
                self._restart = background(self._start_next(), "restart the load")
        elif restarting:
            self._pending.append(command)
        else:
            self._load.command(command)

    async def close(self) -> None:
        if self._restart is not None:
            self._restart.cancel()
            await asyncio.wait({self._restart})
        await self._load.close()

    async def _start_next(self) -> None:
        old = self._load
        old.command(StopLoad())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_TIMEOUT_S):
                await old.wait()
        last = self._newest()
        while last is not None:
            self._final_samples.append(last)
            if not last.more:
                break
            last = self._newest()
        if StopLoad() in self._pending:
            return
        await old.close()
        self._before = last
        self._load = self._make()
        await self._load.start()
        for command in self._pending:
            self._load.command(command)


def added(before: LoadSample, sample: LoadSample) -> LoadSample:
    """Return a sample of a run with the counters of the runs ``before`` it; None for what one of them lacks."""
    warm_up = sample.state is LoadState.WARMUP  # its counts are dropped when it ends
    goal = sample.target_requests
    return replace(
        sample,
        elapsed_s=before.elapsed_s + (0.0 if warm_up else sample.elapsed_s),
        step=before.step + sample.step,
        steps=before.step + sample.steps,
        generator=_generator(before.generator, sample.generator),
        target_requests=None if goal is None else total((before.requests, goal)),
        stated_rps=None,  # and ``stated``: of the last run alone
        stated=(),
        noted=merged((before.noted, None if warm_up else sample.noted)) if before.noted or sample.noted else None,
        target_s=None if sample.target_s is None else before.elapsed_s + sample.target_s,
        **counters([before] if warm_up else [before, sample]),
    )


def _generator(before: GeneratorSample | None, now: GeneratorSample | None) -> GeneratorSample | None:
    if before is None or now is None:
        return now
    return replace(
        now,
        worker_cpu_s=_by_worker(before.worker_cpu_s, now.worker_cpu_s),
        worker_wait_s=_by_worker(before.worker_wait_s, now.worker_wait_s),
        late=total((before.late, now.late)),
        unsent=total((before.unsent, now.unsent)),
    )


def _by_worker(before: tuple[float, ...], now: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(map(sum, zip_longest(now, before[: len(now)], fillvalue=0.0)))
