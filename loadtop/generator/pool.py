"""The built-in load as the monitor sees it: worker processes in step with each other, and their commands."""

import asyncio
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

import loadtop
from loadtop.generator.aggregation import Aggregator, Handover, Report, WorkerProgress, overall_state
from loadtop.generator.limits import ScalingPolicy, idle_cores, quota_periods, usable_cores
from loadtop.generator.plan import Plan, Portion, total
from loadtop.i18n import Message, verbatim
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, Mark, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad, TakeProfile
from loadtop.pipeline.heartbeat import end_process, send_heartbeats, write_input

_SCALING_PERIOD_S = 0.25  # how often to check whether there should be more workers
_HANDOVER_TIMEOUT_S = 5.0
_STOP_TIMEOUT_S = 1.0  # how long a worker may take to stop before it is killed
MAX_LINE = 1 << 24  # bytes of a report; the longest has the text of -v, which its worker bounds
_MAX_ERROR_LINE = 1 << 16
_MAX_ERROR = 1000  # characters of a worker's last line that are shown


def child_environment() -> dict[str, str]:
    """The environment of a Python process that imports this copy of loadtop, whatever is in the working directory,
    which ``-P`` leaves out."""
    package = str(Path(loadtop.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))}


class WorkerProcess(WorkerProgress):
    """One worker process. Each report, and its end, set ``changed``. ``print_text`` is called with the text of -v.
    ``handover`` is its newest answer to ``hand_over``."""

    def __init__(self, number: int, print_text: Callable[[str], None], changed: asyncio.Event) -> None:
        super().__init__()
        self.number = number
        self.handover: Handover | None = None
        self._commands = 0
        self._print_text = print_text
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._last_error = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._new_report = asyncio.Event()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def start(self, plan: Plan, workers: int, request_log: int | None) -> None:
        """Start the process and send it its plan, through a pipe: everyone can read arguments. It inherits the
        descriptor ``request_log``. Raises OSError."""
        self._process = process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "loadtop.generator.worker"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_LINE,
            env=child_environment(),
            pass_fds=() if request_log is None else (request_log,),
            # Ctrl-C is for the parent, which decides what happens to the load. No session of its own: Linux shares the
            # CPUs among sessions (autogroups, see sched(7)), so the load would get another share than ab.
            process_group=0,
        )
        write_input(process, pickle.dumps((plan, Portion(self.number, workers), request_log)))
        self._tasks = [
            background(self._read_output(process), "reports of a worker"),
            background(self._read_errors(process), "errors of a worker"),
        ]

    async def wait_until(self, condition: "Callable[[WorkerProcess], bool]") -> None:
        """Return when ``condition`` holds after a report, or when the worker has ended."""
        while not self.ended and not condition(self):
            self._new_report.clear()
            await self._new_report.wait()

    def send(self, command: str, *values: float | None) -> None:
        """Send a command: the name of a method of :class:`loadtop.generator.worker.LoadRunner`, and its arguments."""
        self._commands += 1
        write_input(self._process, json.dumps([command, *values]).encode() + b"\n")

    async def wait_until_executed(self) -> None:
        """Return when a report says that all commands sent by now have been executed, or when the worker has ended."""
        sent = self._commands
        await self.wait_until(lambda worker: worker.report is not None and worker.report.commands >= sent)

    def send_heartbeat(self) -> None:
        write_input(self._process, b"\n")

    async def close(self) -> None:
        """Let the process end; kill it after :data:`_STOP_TIMEOUT_S`."""
        if self._process is not None:
            await end_process(self._process, _STOP_TIMEOUT_S)
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read_output(self, process: asyncio.subprocess.Process) -> None:
        import msgspec

        # The last line has no end where the process was killed while it wrote.
        while process.stdout is not None and (line := await process.stdout.readline()).endswith(b"\n"):
            report = msgspec.json.decode(line, type=Report)
            self.handover = report.handover or self.handover
            if report.verbose_text:
                self._print_text(report.verbose_text)
            self.add(report)
            self._notify()
        if not self.ended:
            code = await process.wait()
            await asyncio.sleep(0)
            self.problem = Message(
                "a generator process ended unexpectedly (exit code {code}){error}",
                code=code,
                error=Message(": {text}", text=verbatim(self._last_error)) if self._last_error else None,
            )
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._new_report.set()

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Keep the last line of an error, cut off, whatever the process writes."""
        rest = b""
        while process.stderr is not None and (data := await process.stderr.read(_MAX_ERROR_LINE)):
            *lines, rest = (rest + data)[-_MAX_ERROR_LINE:].split(b"\n")
            last = next(filter(None, (line.strip() for line in reversed(lines))), None)
            if last is not None:
                self._last_error = last.decode("utf-8", "replace")[:_MAX_ERROR]


class LoadPool:
    """The built-in generator as a :class:`loadtop.pipeline.monitor.LoadSource`. Its processes end with it.

    ``request_logs`` gets a file for each worker, with a row for each request. ``print_text`` is called with the text of
    -v. ``scaling`` decides when to add a worker, if the plan allows that.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        request_logs: list[BinaryIO] | None = None,
        print_text: Callable[[str], None] = lambda _: None,
        scaling: ScalingPolicy | None = None,
    ) -> None:
        self._plan = plan
        self._request_logs = request_logs
        self._print_text = print_text
        self._scaling = scaling
        self._changed = asyncio.Event()
        self._processes: list[WorkerProcess] = []
        self._workers = [self._new_process(number) for number in range(plan.workers)]
        self._aggregator = Aggregator(plan)
        self._tasks: list[asyncio.Task[None]] = []
        self._started = self._handing_over = False
        self._level: Handover | None = None  # the level of the whole load during a handover
        self._pending_commands: list[Command] = []
        self._problem: Message | None = None

    def _new_process(self, number: int) -> WorkerProcess:
        self._processes.append(WorkerProcess(number, self._print_text, self._changed))
        return self._processes[-1]

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    async def start(self) -> None:
        """Start the workers. The load begins when all are ready; problems with the target appear in the samples."""
        try:
            for worker in self._workers:
                await self._start(worker, len(self._workers))
        except OSError as error:
            self._problem = Message(
                "cannot start a generator process ({reason}): is the process limit reached?", reason=error.strerror
            )
            return
        self._tasks = [
            background(self._coordinate(), "coordinate the workers"),
            background(send_heartbeats(self._send_heartbeat), "heartbeats"),
        ]
        if self._plan.more_workers:
            self._tasks.append(background(self._scale(), "add workers"))

    async def wait(self) -> None:
        """Return when every worker has ended its load."""
        # Without waiting if they have: the monitor also calls this at its end.
        if self._tasks and not self._tasks[0].done():
            await asyncio.wait(self._tasks[:1])

    async def _start(self, worker: WorkerProcess, workers: int) -> None:
        descriptor = None
        if self._request_logs is not None:
            # Without a name, so that none is left however the program ends.
            file = tempfile.TemporaryFile(prefix="loadtop-")  # noqa: SIM115 - its owner reads it after the load
            self._request_logs.append(file)
            descriptor = file.fileno()
        await worker.start(self._plan, workers, descriptor)

    async def _coordinate(self) -> None:
        """Start all workers together, begin steps together, and stop all when one fails."""
        while self._handing_over or not all(worker.ended for worker in self._workers):
            await self._changed.wait()
            self._changed.clear()
            if self._problem is not None or any(worker.failed for worker in self._workers):
                self._send_all("stop")
                return
            reports = self._reports()
            if len(reports) < len(self._workers):
                continue
            if not self._started:
                self._started = True
                self._send_all("start")
                self._run_pending_commands()
            finished = min(report.waits_after for report in reports)
            if finished and not self._handing_over:
                self._send_all("start_step", finished)

    async def _scale(self) -> None:
        """Add workers, one after the other, while they are needed and there is load to share."""
        policy = self._scaling or ScalingPolicy(usable_cores(), idle_cores)
        usable = True
        while usable:
            await asyncio.sleep(_SCALING_PERIOD_S)
            reports = self._reports()
            if not self._started or any(worker.ended for worker in self._workers):
                continue
            connections = sum(report.load.concurrency or 0 for report in reports)
            divisible = reports[0].load.rate is not None or connections > len(reports)
            usage = [(report.load.at, report.generator.worker_cpu_s[0]) for report in reports]
            if policy.wants_worker(usage) and divisible:
                usable = await self._add_worker()

    async def _add_worker(self) -> bool:
        """Start a worker and give it its part of the load. Return whether more workers can be started."""
        joining = self._new_process(len(self._workers))
        try:
            await self._start(joining, joining.number + 1)
        except OSError:
            return False
        await joining.wait_until(lambda worker: worker.report is not None)
        usable = not joining.ended
        steps = {report.load.step - 1 for report in self._reports() if not report.waits_after}
        if usable and len(steps) == 1 and not any(worker.ended for worker in self._workers):
            self._handing_over = True
            try:
                async with asyncio.timeout(_HANDOVER_TIMEOUT_S):
                    await self._hand_over(joining, steps.pop())
            except TimeoutError:
                self._problem = Message("a generator process does not respond: is this machine overloaded?")
            self._handing_over = False
            self._level = None
            self._run_pending_commands()
        if joining not in self._workers:
            await joining.close()
        self._changed.set()
        return usable

    async def _hand_over(self, joining: WorkerProcess, step: int) -> None:
        count = joining.number + 1
        for worker in self._workers:
            worker.handover = None
            worker.send("hand_over", worker.number, count, step, 1 / count)
        for worker in self._workers:
            await worker.wait_until(lambda each: each.handover is not None)
        handovers = [worker.handover for worker in self._workers if worker.handover is not None]
        if not handovers or any(each.finishing for each in handovers):
            return
        in_step = [each for each in handovers if each.step == step] or handovers
        self._level = level = replace(
            in_step[0],
            step=step,
            requests=total(each.requests for each in in_step),
            concurrency=sum(each.concurrency for each in handovers),
            rate=total(each.rate for each in in_step),
        )
        joining.send("join", step, level.requests, level.started, level.ends, level.warmup_ends)
        everyone = [*self._workers, joining]
        for worker in everyone:
            if self._plan.steps[step].concurrency is not None:
                worker.send("set_concurrency", Portion(worker.number, count).of(level.concurrency))
            if level.rate is not None:
                worker.send("set_rate", level.rate / count)
        for worker in everyone:
            await worker.wait_until_executed()
        self._workers.append(joining)

    def command(self, command: Command) -> None:
        count = len(self._workers)
        if not self._started or self._handing_over:
            self._pending_commands.append(command)
            return
        match command:
            case SetConcurrency(connections):
                for worker in self._workers:
                    worker.send("set_concurrency", Portion(worker.number, count).of(connections))
            case SetRate(per_second):
                self._send_all("set_rate", per_second / count)
            case StopLoad():
                self._send_all("stop")
            case NextStep():
                loads = [report.load for report in self._reports()]
                number = max(load.step for load in loads)
                running = self._problem is None and overall_state(loads)[0] is LoadState.RUNNING
                if running and number < len(self._plan.steps):
                    # Workers count steps from 0, reports from 1: this is the next one.
                    self._send_all("start_step", number)
            case RestartLoad() | Mark() | TakeProfile():
                pass

    def take(self) -> LoadSample | None:
        """Return the load now, or at the end of a step. Latencies are those since the last call."""
        sample = self._aggregator.sample(self._workers, self._problem, quota_periods(), joining=self._handing_over)
        if self._level is None:
            return sample
        # During a handover the reports are of different moments, while the level of the whole load does not change.
        concurrency = None if sample.concurrency is None else self._level.concurrency
        return replace(sample, concurrency=concurrency, rate=self._level.rate)

    async def close(self) -> None:
        for task in reversed(self._tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(*(process.close() for process in self._processes))

    def _reports(self) -> list[Report]:
        return [worker.report for worker in self._workers if worker.report is not None]

    def _run_pending_commands(self) -> None:
        pending, self._pending_commands = self._pending_commands, []
        for command in pending:
            self.command(command)

    def _send_heartbeat(self) -> None:
        for process in self._processes:
            process.send_heartbeat()

    def _send_all(self, command: str, *values: float) -> None:
        for worker in self._workers:
            worker.send(command, *values)
