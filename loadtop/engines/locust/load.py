"""A load that Locust makes, on this machine and others, as the monitor sees it."""

import asyncio
import re
import socket
import time
from collections import Counter

from loadtop.engines.generator import HERE
from loadtop.engines.locust.api import PERCENTS, TIMEOUT_S, Master, MasterError, Status
from loadtop.engines.locust.crew import Crew
from loadtop.engines.locust.settings import LocustSettings, far_plan, rate_per_user, users_of
from loadtop.engines.member import Member
from loadtop.engines.parts import own_part
from loadtop.model import Distribution, Failures, Latencies, LoadSample, LoadState, StatedTimes
from loadtop.model.histogram import bucket_of
from loadtop.pipeline.commands import Command, SetConcurrency, StopLoad

POLL_S = 0.2
READY_S = 30.0
"""How long Locust may take to start everywhere."""

LAST_WORDS_S = 3.0
"""How long the workers' last figures are waited for: they report every second."""

QUIET_S = 0.25
"""After so long without a change, once all have stopped, there is nothing more to come."""

TIDY_S = 5.0
"""How long the master may take to end where it left the process group in which it was begun."""

ANSWER_S = 2.0
"""How long the master may take to answer before it is told that it does not."""

SILENT = 10
"""Answers in a row that the master may owe before it is given up."""

_LOGGED = re.compile(r"^\[[^]]*\] \S+/[A-Z]+/\S+: ")
"""What Locust's log puts before each line: when, where, how bad."""

_NO_REASON = ("Traceback", "loadtop:", "File ", "Warning: Perm")


class LocustLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource`. Everything it starts, on whatever machine, ends with it.

    Longer than 200 lines: beginning, following and ending a master and its workers share all of their state.
    """

    def __init__(self, settings: LocustSettings) -> None:
        self._settings = settings
        self._plan = settings.plan
        web, self._port = free_ports(2)
        self._master = Master(web)
        tool, processes = own_part("locust", "tool"), str(self._plan.workers)
        self._leader = Member(HERE, tool, ("master", settings.program, str(web)), patience_s=TIDY_S)
        self._workers = [
            Member(each, tool, ("worker", "locust" if each.far else settings.program, processes, each.name))
            for each in settings.generators
        ]
        self._status: Status | None = None
        self._counted_at = self._began = self._ended_at = 0.0
        self._step = 1
        self._users = users_of(self._plan.steps[0])
        self._state = LoadState.STARTING
        self._message = ""
        self._taken: Counter[int] = Counter()
        self._taken_ms = 0.0
        self._crew = Crew()
        self._looked_at = 0.0
        self._conductor: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start everything in the background; what goes wrong is in the samples."""
        self._conductor = asyncio.create_task(self._conduct(), name="locust")

    async def wait(self) -> None:
        """Return when the load has ended."""
        if self._conductor is not None:
            await asyncio.wait({self._conductor})

    def command(self, command: Command) -> None:
        """Change the number of users, or stop."""
        if isinstance(command, StopLoad):
            self._stop.set()
        elif isinstance(command, SetConcurrency) and self._state is LoadState.RUNNING:
            self._users = command.connections
            self._background = asyncio.create_task(self._master.swarm(self._users))

    async def close(self) -> None:
        """End it on every machine."""
        if self._conductor is not None:
            self._conductor.cancel()
            await asyncio.gather(self._conductor, return_exceptions=True)
        await asyncio.gather(*(member.close() for member in (self._leader, *self._workers)))

    def take(self) -> LoadSample | None:
        """What Locust has said so far; response times are those of the interval, rounded as Locust rounds them."""
        now = time.monotonic() if not self._ended_at else self._ended_at
        status, plan = self._status, self._plan
        step = plan.steps[self._step - 1]
        counted = status is not None and self._state is not LoadState.STARTING
        return LoadSample(
            at=now,
            engine="locust",
            state=self._state,
            model="closed" if step.rate is None else "open",
            elapsed_s=now - self._began if self._began else 0.0,
            concurrency=self._users,
            rate=step.rate,
            step=self._step,
            steps=len(plan.steps),
            in_flight=None,
            connections=None,
            requests=status.requests if counted and status else None,
            failures=Failures.undivided(status.failures) if counted and status else None,
            non_2xx=None,
            keepalive_requests=None,
            received_bytes=None,
            body_bytes=status.body_bytes if counted and status else None,
            sent_bytes=None,
            latencies=self._latencies() if counted else None,
            generator=self._crew.usage,
            message=self._message,
            target_s=_seconds(self._plan),
            keepalive=plan.keepalive if self._settings.own is None else None,
            with_body=any(target.body is not None for target in plan.targets),
            counted_at=self._counted_at or now,
            stated_rps=status.rps if counted and status else None,
            stated=_stated(status) if counted and status else (),
            workers=self._crew.workers,
        )

    async def _conduct(self) -> None:
        try:
            if await self._start_all():
                await self._run_steps()
                self._judge()
            self._end(LoadState.STOPPED if self._stop.is_set() else LoadState.DONE)
        except MasterError as error:
            self._end(LoadState.FAILED, problem(self._leader) if self._leader.ended else str(error))

    async def _start_all(self) -> bool:
        """Start master and workers, and wait until all are ready; False where it was stopped before."""
        files = {"loadtop_hooks.py": own_part("locust", "hooks"), "plan.json": far_plan(self._settings)}
        if self._settings.own is not None:
            files["own_plan.py"] = self._settings.own
        await self._leader.start(files, self._port)
        begun = asyncio.gather(*(worker.start(files, self._port) for worker in self._workers))
        end = time.monotonic() + READY_S
        while not self._stop.is_set():
            gone = next((member for member in (self._leader, *self._workers) if member.ended), None)
            if gone is not None:
                await asyncio.sleep(0.1)
                raise MasterError(problem(gone))
            try:
                await self._look()
            except MasterError:
                if time.monotonic() > end:
                    raise
            came, wanted = len(self._crew), self._settings.processes
            if begun.done() and came >= wanted:
                return True
            if time.monotonic() > end:
                raise MasterError(f"only {came} of {wanted} locust workers came within {READY_S:.0f} s")
            await asyncio.sleep(0.1)
        return False

    async def _run_steps(self) -> None:
        plan = self._plan
        await self._master.swarm(self._users)
        self._began = self._counted_at = time.monotonic()
        if plan.warmup_s:
            self._state = LoadState.WARMUP
            await self._watch(self._began + plan.warmup_s)
            await self._master.reset()
            self._taken.clear()
            self._taken_ms = 0.0
            await self._look()
            self._began = self._counted_at = time.monotonic()
        self._state = LoadState.RUNNING
        end = self._began
        for number, step in enumerate(plan.steps, 1):
            if self._stop.is_set():
                break
            if number > 1:
                self._step, self._users = number, self._users_of(number)
                await self._master.swarm(self._users)
            end = end + (step.duration_s or float("inf"))
            await self._watch(end)
        stopped_at = time.monotonic()
        await self._master.stop()
        await self._hear_the_last()
        self._ended_at = stopped_at

    def _judge(self) -> None:
        """Raise MasterError where users broke off again and again, and none made a request."""
        status = self._status
        if status is not None and status.exception and not status.requests and not self._stop.is_set():
            raise MasterError(f"no user made a request: {status.exception}")

    def _users_of(self, number: int) -> int:
        step, each = self._plan.steps[number - 1], rate_per_user(self._plan)
        if step.rate is not None and each:
            return max(1, round(step.rate / each))
        return users_of(step)

    async def _watch(self, end: float) -> None:
        """Look until then, or until it is stopped. Raises MasterError where the master is gone."""
        silent = 0
        while not self._stop.is_set() and (left := end - time.monotonic()) > 0:
            try:
                await self._look(ANSWER_S)
                silent = 0
                self._note_workers()
            except MasterError as error:
                silent += 1
                self._message = str(error)
                self._crew.lose_sight()
                if silent >= SILENT or self._leader.ended:
                    raise
            if all(worker.ended for worker in self._workers):
                raise MasterError(problem(self._workers[0]))
            try:
                await asyncio.wait_for(self._stop.wait(), min(POLL_S, left))
            except TimeoutError:
                continue

    async def _hear_the_last(self) -> None:
        """Wait until the workers have reported what they did until they were stopped."""
        end = time.monotonic() + LAST_WORDS_S
        quiet_since = time.monotonic()
        while time.monotonic() < end:
            before = None if self._status is None else self._status.requests
            await self._look()
            now = self._status
            if now is not None and now.requests != before:
                quiet_since = time.monotonic()
            stopped = now is not None and now.state in ("stopped", "ready")
            if stopped and time.monotonic() - quiet_since > QUIET_S:
                return
            await asyncio.sleep(0.1)

    async def _look(self, patience_s: float = TIMEOUT_S) -> None:
        before = self._status
        status = await self._master.status(patience_s)
        now = time.monotonic()
        if before is None or status.requests != before.requests:
            self._counted_at = now - status.age_s
        self._crew.look(status.workers, now - self._looked_at if self._looked_at else 0.0)
        self._looked_at = now
        self._status = status

    def _note_workers(self) -> None:
        """Say which worker is gone or full, and what fails."""
        status = self._status
        if status is None:
            return
        missing, full = self._crew.missing, self._crew.full
        lost = [problem(worker) for worker in self._workers if worker.ended]
        there = len(self._crew) - len(missing)
        if lost:
            self._message = f"{lost[0]}; {there} workers go on"
        elif missing:
            self._message = f"worker {missing[0].name} is missing: {there} of {len(self._crew)} go on"
        elif status.exception:
            self._message = f"users break off: {status.exception}"
        elif full:
            self._message = f"worker {full.name} uses {full.cpu_pct:.0f} % of a core: give more --workers or machines"
        elif status.failures:
            self._message = status.error
        else:
            self._message = ""

    def _end(self, state: LoadState, message: str = "") -> None:
        self._state = state
        self._message = message or self._message
        self._ended_at = self._ended_at or time.monotonic()

    def _latencies(self) -> Latencies | None:
        """Those since the last time: Locust gives counts by rounded milliseconds."""
        status = self._status
        if status is None:
            return None
        new = Counter(status.times)
        new.subtract(self._taken)
        passed_ms = status.total_ms - self._taken_ms
        self._taken, self._taken_ms = Counter(status.times), status.total_ms
        found = sorted((time_ms, count) for time_ms, count in new.items() if count > 0)
        if not found:
            return None
        buckets: Counter[int] = Counter()
        for time_ms, count in found:
            buckets[bucket_of(time_ms * 1000)] += count
        order = sorted(buckets)
        requests, sum_us = sum(count for _, count in found), max(0, round(1000 * passed_ms))
        squares = sum((time_ms * 1000) ** 2 * count for time_ms, count in found)
        return Latencies(
            Distribution(
                count=requests,
                sum_us=sum_us,
                # The sum is exact, these are rounded: they are at least what the sum makes them.
                sum_squares_us2=max(squares, -(-(sum_us**2) // requests)),
                min_us=found[0][0] * 1000,
                max_us=found[-1][0] * 1000,
                buckets=tuple(order),
                counts=tuple(buckets[each] for each in order),
            )
        )


def problem(member: Member) -> str:
    """Why a part of Locust has ended, in its own words and one line."""
    if member.problem:
        return f"locust{member.where} cannot be run: {member.problem}"
    if any("loadtop: no locust" in word for word in member.words):
        return f"locust is not installed{member.where}: pip install locust there, so that `locust` is on PATH"
    said = [_LOGGED.sub("", word) for word in member.words if not word.startswith(_NO_REASON)]
    return f"locust{member.where} ended" + (f": {said[-1]}" if said else "")


def _stated(status: Status) -> tuple[StatedTimes, ...]:
    if not status.requests:
        return ()
    known = dict(zip(PERCENTS, status.percentiles, strict=False))
    return (
        StatedTimes(
            "total",
            min_ms=None if status.min_ms is None else round(status.min_ms, 3),
            mean_ms=round(status.mean_ms, 3),
            max_ms=round(status.max_ms, 3),
            **known,
        ),
    )


def _seconds(plan: object) -> float | None:
    durations = [step.duration_s for step in getattr(plan, "steps", ())]
    return None if None in durations else sum(duration for duration in durations if duration is not None)


def free_ports(number: int) -> list[int]:
    """Loopback ports that were free just now, all different."""
    sockets = [socket.socket() for _ in range(number)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()
