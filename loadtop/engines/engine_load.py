"""What loads by Locust and JMeter have in common."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from typing import Any, ClassVar

from loadtop.engines.engine_process import EngineError, EngineProcess
from loadtop.generator.plan import Plan, PlanError, total
from loadtop.i18n.message import Message
from loadtop.model import EngineWorker, LoadSample, LoadState
from loadtop.pipeline.commands import Command, SetConcurrency, StopLoad

USERS_PER_RATE = 2
"""Simulated users for each request/s of an open model: the rate holds while responses take up to two seconds."""

_ADVICE = Message("leave it out, or use the built-in engine")


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
        self._earlier_s = 0.0  # seconds of load before the last restart
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

    def command(self, command: Command) -> None:
        """Stop, or continue with another number of users."""
        if isinstance(command, StopLoad):
            self._stop.set()
        elif isinstance(command, SetConcurrency) and not self._state.ended:
            self._set_users(command.connections)

    async def close(self) -> None:
        """End everything on every machine."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)
        await self._close_processes()

    @abstractmethod
    async def _run(self) -> None:
        """Make the load. Raises EngineError."""

    @abstractmethod
    def _set_users(self, users: int) -> None:
        """Continue with this number of users, or say in the message why that is not possible."""

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

    async def _pause(self, seconds: float) -> None:
        """Wait this long, or until the load is to stop."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stop.wait(), seconds)

    async def _close_processes(self) -> None:
        await asyncio.gather(*(process.close() for process in self._processes))

    def _elapsed(self, now: float) -> float:
        """Return the seconds of load, without those of restarts."""
        return self._earlier_s + (now - self._started_at if self._started_at else 0.0)

    def _sample(self, step_number: int, **measured: Any) -> LoadSample:
        """Return what is known without results, replaced and completed by ``measured``."""
        plan = self._plan
        step = plan.steps[min(step_number, len(plan.steps)) - 1]
        now = self._ended_at or time.monotonic()
        known: dict[str, Any] = {
            "concurrency": self._users,
            "message": self._message or "",
            "target_s": total(each.duration_s for each in plan.steps),
            "workers": self._workers,
        }
        return LoadSample(
            at=now,
            engine=self.engine,
            state=self._state,
            model="closed" if step.rate is None else "open",
            elapsed_s=self._elapsed(now),
            rate=step.rate,
            step=step_number,
            steps=len(plan.steps),
            keepalive=None if self._user_plan else plan.keepalive,
            with_body=any(target.body is not None for target in plan.targets),
            **known | measured,
        )


def users_for_rate(rate: float) -> int:
    """Return how many simulated users an open model of ``rate`` requests/s needs."""
    return max(1, ceil(rate * USERS_PER_RATE))


def impossible(option: str | Message, engine: str, advice: Message = _ADVICE) -> PlanError:
    return PlanError(
        "{option} is not possible with --engine {engine}: {advice}", option=option, engine=engine, advice=advice
    )


def check_targets(plan: Plan, engine: str) -> None:
    """Raise PlanError for a step with targets of its own. The table of options says which options an engine lacks."""
    if any(step.targets is not None for step in plan.steps):
        raise impossible(Message("a step with targets of its own"), engine)
