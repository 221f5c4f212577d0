"""A load that Locust makes on one or more machines: a master here, workers here and over SSH."""

import asyncio
import json
import re
import secrets
import socket
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from loadtop.engines.engine import (
    LOCAL,
    EngineError,
    EngineLoad,
    EngineProcess,
    Machine,
    impossible,
    read_resource,
    users_for_rate,
)
from loadtop.engines.locust.master import TIMEOUT_S, Status, Workers, ask_master
from loadtop.generator.plan import Plan, Step
from loadtop.i18n import Message, verbatim
from loadtop.model import Failures, Latencies, LoadSample, LoadState
from loadtop.model.histogram import distribution_of_milliseconds
from loadtop.pipeline.background import background

POLL_S = 0.2
READY_S = 30.0  # how long Locust may take to start on all machines
LAST_RESULTS_S = 3.0  # how long the workers' last results are waited for: they report every second
QUIET_S = 0.25  # all results are in if nothing has changed for this time after all users have stopped
TERM_S = 5.0  # how long the master may take to end if it has left its process group
ANSWER_S = 2.0  # how long the master may take to answer
MAX_UNANSWERED = 10  # requests in a row that the master may leave unanswered before the load has failed
_LOG_PREFIX = re.compile(
    r"^\[[^]]{0,100}\] \S{1,300}/[A-Z]{1,20}/\S{1,300}: "
)  # Locust's time, machine and level before a line

_KEY_BYTES = 32  # of Curve25519
_ANY_PORT = ("127.0.0.1", 0)
_NOT_A_REASON = ("Traceback", "File ", "Warning: Perm")


class LocustProcess(EngineProcess):
    """Locust's master, or the workers of one machine."""

    engine = "locust"
    script = "locust/locust.sh"
    install: ClassVar[Mapping[str, Message]] = {
        "locust": Message("pip install locust there, so that `locust` is on PATH")
    }

    def _reason(self) -> Message | None:
        lines = [_LOG_PREFIX.sub("", line) for line in self.lines if not line.startswith(_NOT_A_REASON)]
        return verbatim(lines[-1]) if lines else None


class LocustLoad(EngineLoad):
    """A load by Locust, whose command here is ``program``; other machines look for it on PATH. ``user_plan`` is the
    text of the user's locustfile; without one, the plan's targets are requested."""

    engine = "locust"

    def __init__(self, plan: Plan, machines: tuple[Machine, ...], program: str, user_plan: str | None = None) -> None:
        super().__init__(plan, users_of(plan.steps[0]), user_plan=user_plan is not None)
        self._files = {
            "loadtop_locustfile.py": read_resource("locust/locustfile.txt"),
            "plan.json": plan_json(plan, secrets.token_hex(_KEY_BYTES), with_targets=user_plan is None),
        }
        if user_plan is not None:
            self._files["user_plan.py"] = user_plan
        with socket.create_server(_ANY_PORT) as free:
            self._port = free.getsockname()[1]
        self._master = LocustProcess(LOCAL, ("master", program), term_s=TERM_S)
        self._worker_processes = [
            LocustProcess(machine, ("worker", "locust" if machine.remote else program, str(plan.workers), machine.name))
            for machine in machines
        ]
        self._processes = (self._master, *self._worker_processes)
        self._status: Status | None = None
        self._status_at = self._counted_at = 0.0
        self._step = 1
        self._reported_times: Counter[int] = Counter()
        self._reported_ms = 0.0
        self._known_workers = Workers()

    def take(self) -> LoadSample | None:
        """Return the results so far; response times are those of the interval, as rounded by Locust."""
        status = self._status
        results: dict[str, Any] = {}
        if status is not None and self._state is not LoadState.STARTING:
            results = {
                "requests": status.requests,
                "failures": Failures.undivided(status.failures),
                "body_bytes": status.body_bytes,
                "latencies": self._latencies(status),
                "stated_rps": status.rps,
                "stated": status.stated,
            }
        return self._sample(
            self._step,
            generator=self._known_workers.cpu_time,
            counted_at=self._counted_at or None,
            workers=self._known_workers.all,
            **results,
        )

    def _set_users(self, users: int) -> None:
        if self._state is LoadState.RUNNING:
            self._users = users
            self._change = background(self._start_users(users), "change of the users")

    async def _start_users(self, users: int) -> None:
        try:
            await ask_master(self._master.directory, f"/start/{users}")
        except EngineError as error:
            self._message = error.message

    async def _run(self) -> None:
        try:
            if await self._start_processes():
                await self._run_steps()
        except EngineError:
            if self._master.ended:
                raise EngineError(self._master.failure) from None
            raise

    async def _start_processes(self) -> bool:
        """Start master and workers and wait until all are ready; False if the load was stopped before."""
        await self._master.start(self._files, self._port)
        starting = asyncio.gather(*(process.start(self._files, self._port) for process in self._worker_processes))
        try:
            return await self._until_ready(starting)
        finally:
            starting.cancel()

    async def _until_ready(self, starting: "asyncio.Future[list[None]]") -> bool:
        wanted = self._plan.workers * len(self._worker_processes)
        timeout_at = time.monotonic() + READY_S
        while not self._stop.is_set():
            ended = next((process for process in self._processes if process.ended), None)
            if ended is not None:
                await asyncio.sleep(0.1)
                raise EngineError(ended.failure)
            try:
                await self._update()
            except EngineError:
                if time.monotonic() > timeout_at:
                    raise
            ready = len(self._known_workers.all)
            if starting.done():
                starting.result()  # raises what broke it off
                if ready >= wanted:
                    return True
            if time.monotonic() > timeout_at:
                raise EngineError(
                    "only {ready} of {wanted} Locust workers were ready within {seconds:.0f} s",
                    ready=ready,
                    wanted=wanted,
                    seconds=READY_S,
                )
            await asyncio.sleep(0.1)
        return False

    async def _run_steps(self) -> None:
        plan = self._plan
        await ask_master(self._master.directory, f"/start/{self._users}")
        self._started_at = self._counted_at = time.monotonic()
        if plan.warmup_s:
            self._state = LoadState.WARMUP
            await self._watch_until(self._started_at + plan.warmup_s)
            await ask_master(self._master.directory, "/reset")
            self._reported_times.clear()
            self._reported_ms = 0.0
            await self._update()
            self._started_at = self._counted_at = time.monotonic()
        self._state = LoadState.RUNNING
        end = self._started_at
        for number, step in enumerate(plan.steps, 1):
            if self._stop.is_set():
                break
            if number > 1:
                rate = rate_per_user(plan)
                self._step = number
                self._users = max(1, round(step.rate / rate)) if step.rate is not None and rate else users_of(step)
                await ask_master(self._master.directory, f"/start/{self._users}")
            end += step.duration_s or float("inf")
            await self._watch_until(end)
        stopped_at = time.monotonic()
        await ask_master(self._master.directory, "/stop")
        await self._wait_for_last_results()
        self._ended_at = stopped_at
        status = self._status
        if status is not None and status.exception and not status.requests and not self._stop.is_set():
            raise EngineError("no user sent a request: {reason}", reason=status.exception)

    async def _watch_until(self, end: float) -> None:
        """Follow the load until then or until it is stopped. Raises EngineError if master or workers are gone."""
        unanswered = 0
        while not self._stop.is_set() and (left := end - time.monotonic()) > 0:
            try:
                self._message = self._worst_problem(await self._update(ANSWER_S))
                unanswered = 0
            except EngineError as error:
                unanswered += 1
                self._message = error.message
                self._known_workers.set_unknown()
                if unanswered >= MAX_UNANSWERED or self._master.ended:
                    raise
            if all(process.ended for process in self._worker_processes):
                raise EngineError(self._worker_processes[0].failure)
            await self._pause(min(POLL_S, left))

    async def _wait_for_last_results(self) -> None:
        """Wait until the workers have reported everything up to their end."""
        end = time.monotonic() + LAST_RESULTS_S
        quiet_since = time.monotonic()
        while time.monotonic() < end:
            before = self._status
            status = await self._update()
            if before is None or status.requests != before.requests:
                quiet_since = time.monotonic()
            if status.state in ("stopped", "ready") and time.monotonic() - quiet_since > QUIET_S:
                return
            await asyncio.sleep(0.1)

    async def _update(self, timeout_s: float = TIMEOUT_S) -> Status:
        before = self._status
        answer = await ask_master(self._master.directory, timeout_s=timeout_s)
        status = self._status = msgspec.json.decode(answer, type=Status)
        now = time.monotonic()
        if before is None or status.requests != before.requests:
            self._counted_at = now - status.age_s
        self._known_workers.update(status.workers, now - self._status_at if self._status_at else 0.0)
        self._status_at = now
        return status

    def _worst_problem(self, status: Status) -> Message | None:
        """Return which worker is gone or full, or what fails."""
        workers = self._known_workers
        left = len(workers.all) - len(workers.missing)
        ended = next((process for process in self._worker_processes if process.ended), None)
        if ended is not None:
            return Message("{problem}; {left} workers continue", problem=ended.failure, left=left)
        if workers.missing:
            return Message(
                "worker {worker} is missing: {left} of {total} workers continue",
                worker=workers.missing[0].name,
                left=left,
                total=len(workers.all),
            )
        if status.exception:
            return Message("Locust's users stopped: {reason}", reason=status.exception)
        if workers.full is not None:
            return Message(
                "worker {worker} uses {cpu:.0f} % of a core: raise --workers or use more machines",
                worker=workers.full.name,
                cpu=workers.full.cpu_pct,
            )
        return verbatim(status.error) if status.failures else None

    def _latencies(self, status: Status) -> Latencies | None:
        new = Counter(dict(status.times))
        new.subtract(self._reported_times)
        sum_us = max(0, round(1000 * (status.total_ms - self._reported_ms)))
        self._reported_times, self._reported_ms = Counter(dict(status.times)), status.total_ms
        found = distribution_of_milliseconds(new)
        if not found.count:
            return None
        # Locust's sum is exact, its single times are rounded: their squares are at least what the sum implies.
        least_squares = -(-(sum_us**2) // found.count)
        return Latencies(replace(found, sum_us=sum_us, sum_squares_us2=max(found.sum_squares_us2, least_squares)))


def check(plan: Plan) -> None:
    """Raise PlanError for what Locust cannot do."""
    if plan.more_workers:
        raise impossible("--workers auto", "locust", Message("enter a number of workers"))


def users_of(step: Step) -> int:
    """Return the simulated users of a step: one for each connection, or enough for the rate."""
    return users_for_rate(step.rate or 0.0) if step.concurrency is None else step.concurrency


def rate_per_user(plan: Plan) -> float | None:
    """Return the requests/s of each user in the open model. The number of users follows the rate of each step."""
    step = plan.steps[0]
    return None if step.rate is None else step.rate / users_of(step)


def plan_json(plan: Plan, key: str, *, with_targets: bool) -> str:
    """Return what our locustfile reads. It holds secrets: only for pipes and private files. ``key``, 32 bytes in
    hexadecimal, is what master and workers prove to each other who they are by."""
    targets = [
        {
            "url": target.url,
            "path": target.path,
            "method": target.method,
            "headers": {"User-Agent": plan.user_agent, "Accept": "*/*", **dict(target.headers)},
            "body": None if target.body is None else target.body.hex(),
            "weight": target.weight,
        }
        for target in plan.targets
    ]
    return json.dumps(
        {
            "key": key,
            "targets": targets if with_targets else [],
            "host": f"{plan.targets[0].origin.scheme}://{plan.targets[0].origin.authority}",
            "rate_per_user": rate_per_user(plan),
            "keepalive": plan.keepalive,
            "insecure": not plan.verify_tls,
            "timeout_s": plan.timeout_s,
        }
    )
