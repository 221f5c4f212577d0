"""What loads by Locust and JMeter have in common while they run."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from loadtop.engines.engine_process import EngineError, EngineProcess
from loadtop.generator.plan import Plan, total
from loadtop.i18n.message import Message
from loadtop.model import EngineWorker, LoadSample, LoadState


class EngineLoad(ABC):
    """A :class:`loadtop.pipeline.monitor.LoadSource`. Everything it starts, on any machine, ends with it."""

    engine: ClassVar[str]

    def __init__(self, plan: Plan, users: int, *, user_plan: bool) -> None:
        """``users`` are simulated at first; ``user_plan``: a plan of the user says what is requested."""
        self._plan = plan
        self._users: int = users
        self._user_plan = user_plan
        self._state = LoadState.STARTING
        self._message: Message | None = None
        self._started_at = self._ended_at = 0.0
        self._workers: tuple[EngineWorker, ...] = ()
        self._processes: Sequence[EngineProcess] = ()
        self._runner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start everything in the background; samples say what goes wrong."""
        self._runner = asyncio.create_task(self._run_to_end(), name=self.engine)

    async def wait(self) -> None:
        if self._runner is not None:
            await asyncio.wait({self._runner})

    async def close(self) -> None:
        """End everything on every machine."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)
        await self._close_processes()

    @abstractmethod
    async def _run(self) -> None:
        """Make the load. Raises EngineError."""

    async def _run_to_end(self) -> None:
        try:
            await self._run()
        except EngineError as error:
            self._end(LoadState.FAILED, error.message)
        else:
            self._end(LoadState.STOPPED if self._stop.is_set() else LoadState.DONE)

    def _end(self, state: LoadState, message: Message | None = None) -> None:
        self._state = state
        self._message = message or self._message
        self._ended_at = self._ended_at or time.monotonic()

    async def _close_processes(self) -> None:
        await asyncio.gather(*(process.close() for process in self._processes))

    def _sample_without_counts(self, step_number: int, now: float, elapsed_s: float) -> LoadSample:
        plan = self._plan
        step = plan.steps[step_number - 1]
        return LoadSample(
            at=now,
            engine=self.engine,
            state=self._state,
            model="closed" if step.rate is None else "open",
            elapsed_s=elapsed_s,
            concurrency=self._users,
            rate=step.rate,
            step=step_number,
            steps=len(plan.steps),
            message=self._message or "",
            target_s=total(each.duration_s for each in plan.steps),
            keepalive=None if self._user_plan else plan.keepalive,
            with_body=any(target.body is not None for target in plan.targets),
            workers=self._workers,
        )
