"""The load as the Monitor sees it: worker processes, their reports added up, and the commands they obey."""

import asyncio
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import loadtop
from loadtop.commands import Command, Mark, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad
from loadtop.load.histogram import merge
from loadtop.load.plan import Plan
from loadtop.load.report import Report
from loadtop.model import Failures, GeneratorSample, Latencies, LoadSample, LoadState

_LONGEST_LINE = 1 << 24
_PATIENCE_S = 1.0
"""How long a worker may take to stop before it is killed."""
_ORDER = [
    LoadState.FAILED,
    LoadState.STARTING,
    LoadState.WARMUP,
    LoadState.RUNNING,
    LoadState.STOPPED,
    LoadState.DONE,
]
"""Where workers differ, the whole is in the state that comes first."""


class WorkerProcess:
    """One worker: its process, its newest report, and the latencies that nobody took yet."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.report: Report | None = None
        self.latencies: list[Latencies] = []
        self.loop_delay_s = 0.0
        self.problem = ""
        self._process: asyncio.subprocess.Process | None = None
        self._last_words = ""
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def ready(self) -> bool:
        return self.report is not None

    @property
    def ended(self) -> bool:
        return bool(self.problem) or (self.report is not None and LoadState(self.report.state).ended)

    async def start(self, plan: str, workers: int, changed: "asyncio.Event") -> None:
        """Start the process and give it its plan, through the pipe: arguments can be read by everyone."""
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        package = str(Path(loadtop.__file__).parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH", "")]))
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "loadtop.load.worker"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the parent, which decides what becomes of the load
        )
        self.tell({"plan": plan, "worker": self.number, "workers": workers})
        self._tasks = [
            asyncio.create_task(self._listen(self._process, changed)),
            asyncio.create_task(self._hear_errors(self._process)),
        ]

    def tell(self, command: dict[str, Any]) -> None:
        """Send a command; a worker that is gone is told nothing."""
        if self._process is not None and self._process.stdin is not None and self._process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(command).encode() + b"\n")

    async def close(self) -> None:
        """Let the process end; after a second, kill it."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, process: asyncio.subprocess.Process, changed: "asyncio.Event") -> None:
        if process.stdout is None:
            return
        while line := await process.stdout.readline():
            report = Report.from_data(json.loads(line))
            if report.latencies is not None:
                self.latencies.append(report.latencies)
            self.loop_delay_s = max(self.loop_delay_s, report.loop_delay_s)
            self.report = replace(report, latencies=None)
            changed.set()
        if not self.ended:
            code = await process.wait()
            await asyncio.sleep(0)
            words = f": {self._last_words}" if self._last_words else ""
            self.problem = f"a load worker ended unexpectedly (exit code {code}){words}"
        changed.set()

    async def _hear_errors(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is None:
            return
        while line := await process.stderr.readline():
            self._last_words = line.decode("utf-8", "replace").strip() or self._last_words


class LoadPool:
    """The built-in generator as a :class:`loadtop.monitor.LoadSource`. Its processes end with it, whatever happens."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._workers = [WorkerProcess(number) for number in range(plan.workers)]
        self._changed = asyncio.Event()
        self._conductor: asyncio.Task[None] | None = None
        self._going = False
        self._early: list[Command] = []
        self._problem = ""

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' processes."""
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    async def start(self) -> None:
        """Start the workers. The load begins when all are ready; problems with the target show in the samples."""
        text = self._plan.to_json()
        try:
            for worker in self._workers:
                await worker.start(text, len(self._workers), self._changed)
        except OSError as error:
            self._problem = f"no load worker can be started ({error.strerror}): is the machine out of processes?"
            return
        self._conductor = asyncio.create_task(self._conduct())

    async def wait(self) -> None:
        """Return when every worker has ended its load."""
        if self._conductor is not None:
            await asyncio.wait({self._conductor})

    async def _conduct(self) -> None:
        """Start all workers together, keep their steps together, and stop all when one fails."""
        while not all(worker.ended for worker in self._workers):
            await self._changed.wait()
            self._changed.clear()
            if any(worker.problem or (worker.report and worker.report.state == "failed") for worker in self._workers):
                self._tell({"stop": True})
                return
            reports = [worker.report for worker in self._workers if worker.report is not None]
            if len(reports) < len(self._workers):
                continue
            if not self._going:
                self._going = True
                self._tell({"go": True})
                for command in self._early:
                    self.command(command)
            held = min(report.held for report in reports)
            if held:
                self._tell({"step": held})

    def command(self, command: Command) -> None:
        """Change the load while it runs."""
        count = len(self._workers)
        if not self._going:
            self._early.append(command)
            return
        match command:
            case SetConcurrency(connections):
                for worker in self._workers:
                    part = connections * (worker.number + 1) // count - connections * worker.number // count
                    worker.tell({"concurrency": part})
            case SetRate(per_second):
                self._tell({"rate": per_second / count})
            case StopLoad():
                self._tell({"stop": True})
            case NextStep():
                reports = [worker.report for worker in self._workers if worker.report is not None]
                number = max((report.step for report in reports), default=0)
                if self._state(reports)[0] is LoadState.RUNNING and number < len(self._plan.steps):
                    self._tell({"step": number})  # they count from 0 and the report from 1: this is the one after it
            case RestartLoad() | Mark():
                pass

    def take(self) -> LoadSample | None:
        """The load now; latencies are those of all requests that ended since the last call."""
        reports = [worker.report for worker in self._workers if worker.report is not None]
        number = max((report.step for report in reports), default=1) or 1
        step = self._plan.steps[min(number, len(self._plan.steps)) - 1]
        state, message = self._state(reports)
        requests = _total(each.requests for each in self._plan.steps)
        return LoadSample(
            at=sum(report.at for report in reports) / len(reports) if reports else time.monotonic(),
            engine="builtin",
            state=state,
            model="closed" if step.rate is None else "open",
            elapsed_s=max((report.elapsed_s for report in reports), default=0.0),
            concurrency=self._sum(reports, "concurrency") if reports else step.concurrency,
            rate=None if step.rate is None else sum(report.rate or 0.0 for report in reports) or step.rate,
            step=number,
            steps=len(self._plan.steps),
            in_flight=self._sum(reports, "in_flight"),
            connections=self._sum(reports, "connections"),
            requests=self._sum(reports, "requests"),
            failures=Failures(
                connect=self._sum(reports, "connect"),
                receive=self._sum(reports, "receive"),
                length=self._sum(reports, "length"),
                exceptions=self._sum(reports, "exceptions"),
                timeout=self._sum(reports, "timeout"),
            ),
            non_2xx=self._sum(reports, "non_2xx"),
            keepalive_requests=self._sum(reports, "keepalive"),
            received_bytes=self._sum(reports, "received"),
            body_bytes=self._sum(reports, "body"),
            sent_bytes=self._sum(reports, "sent"),
            latencies=self._take_latencies(),
            generator=self._generator(reports),
            server=next((report.server for report in reports if report.server is not None), None),
            message=message,
            target_requests=None if requests is None else int(requests),
            target_s=_total(each.duration_s for each in self._plan.steps),
            keepalive=self._plan.keepalive,
            with_body=any(target.body is not None for target in self._plan.targets),
        )

    async def close(self) -> None:
        """Stop whatever still runs and wait until it is gone."""
        if self._conductor is not None:
            self._conductor.cancel()
            await asyncio.gather(self._conductor, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._workers))

    def _tell(self, command: dict[str, Any]) -> None:
        for worker in self._workers:
            worker.tell(command)

    @staticmethod
    def _sum(reports: Iterable[Report], name: str) -> int:
        return sum(getattr(report, name) for report in reports)

    def _state(self, reports: list[Report]) -> tuple[LoadState, str]:
        problem = self._problem or next((worker.problem for worker in self._workers if worker.problem), "")
        if problem:
            return LoadState.FAILED, problem
        if len(reports) < len(self._workers):
            return LoadState.STARTING, ""
        state = min((LoadState(report.state) for report in reports), key=_ORDER.index)
        messages = sorted((report for report in reports if report.message), key=lambda each: each.state != state.value)
        return state, messages[0].message if messages else ""

    def _take_latencies(self) -> Latencies | None:
        parts = [part for worker in self._workers for part in worker.latencies]
        for worker in self._workers:
            worker.latencies.clear()
        if not parts:
            return None
        corrected = [part.corrected for part in parts if part.corrected is not None]
        return Latencies(
            total=merge(part.total for part in parts),
            connect=merge(part.connect for part in parts),
            processing=merge(part.processing for part in parts),
            waiting=merge(part.waiting for part in parts),
            corrected=merge(corrected) if corrected else None,
        )

    def _generator(self, reports: list[Report]) -> GeneratorSample | None:
        if not reports:
            return None
        # Each worker counts its own connections, and all of the machine's ports that are not free again yet.
        one = reports[0]
        ports = None if one.ports_used is None else one.ports_used - one.connections + self._sum(reports, "connections")
        delay = max(worker.loop_delay_s for worker in self._workers)
        for worker in self._workers:
            worker.loop_delay_s = 0.0
        return GeneratorSample(
            worker_cpu_s=tuple(report.cpu_s for report in reports),
            loop_delay_s=delay,
            late=self._sum(reports, "late"),
            unsent=self._sum(reports, "unsent"),
            ports_used=ports,
            ports_limit=one.ports_limit,
            files_used=max(report.files_used for report in reports),
            files_limit=min(report.files_limit for report in reports),
        )


def _total(parts: Iterable[float | None]) -> float | None:
    """The sum, where every part is known."""
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)
