"""The built-in load as the monitor sees it: worker processes in step with each other, and their commands."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from loadtop.generator.aggregation import StepSequence, aggregate, overall_state
from loadtop.generator.limits import CpuQuota
from loadtop.generator.plan import Plan, Portion, total
from loadtop.generator.protocol import Handover, Report
from loadtop.generator.request_log import RequestLogFiles
from loadtop.generator.scaling import ScalingPolicy, idle_cores, usable_cores
from loadtop.generator.worker_process import WorkerProcess
from loadtop.i18n.message import Message
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.commands import Command, Mark, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad

_SCALING_PERIOD_S = 0.25
"""How often to check whether there should be more workers."""
_HANDOVER_TIMEOUT_S = 5.0


class LoadPool:
    """The built-in generator as a :class:`loadtop.pipeline.monitor.LoadSource`. Its processes end with it.

    ``request_logs`` get a row for each request. ``print_text`` is called with the text of -v. ``scaling`` decides when
    to add a worker, if the plan allows that.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        request_logs: RequestLogFiles | None = None,
        print_text: Callable[[str], None] = lambda _: None,
        scaling: ScalingPolicy | None = None,
    ) -> None:
        self._plan = plan
        self._request_logs = request_logs
        self._print_text = print_text
        self._scaling = scaling
        self._changed = asyncio.Event()
        self._workers = [self._new_worker(number) for number in range(plan.workers)]
        self._steps = StepSequence()
        self._joining: WorkerProcess | None = None
        self._coordinator: asyncio.Task[None] | None = None
        self._scaler: asyncio.Task[None] | None = None
        self._started = self._handing_over = False
        self._level: Handover | None = None
        """The level of the whole load during a handover."""
        self._pending_commands: list[Command] = []
        self._problem: Message | None = None
        self._quota = CpuQuota()

    def _new_worker(self, number: int) -> WorkerProcess:
        return WorkerProcess(number, self._print_text, self._changed)

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
                "no load worker can be started ({reason}): is the machine out of processes?", reason=error.strerror
            )
            return
        self._coordinator = asyncio.create_task(self._coordinate())
        if self._plan.more_workers:
            policy = self._scaling or ScalingPolicy(usable_cores(), idle_cores)
            self._scaler = asyncio.create_task(self._scale(policy))

    async def wait(self) -> None:
        """Return when every worker has ended its load."""
        # Without waiting if they have: the monitor also calls this at its end.
        if self._coordinator is not None and not self._coordinator.done():
            await asyncio.wait({self._coordinator})

    async def _start(self, worker: WorkerProcess, workers: int) -> None:
        await worker.start(self._plan, workers, None if self._request_logs is None else self._request_logs.add())

    async def _coordinate(self) -> None:
        """Start all workers together, begin steps together, and stop all when one fails."""
        while self._handing_over or not all(worker.ended for worker in self._workers):
            await self._changed.wait()
            self._changed.clear()
            if self._problem is not None or any(worker.progress.current.failed for worker in self._workers):
                self._send_all({"stop": True})
                return
            reports = self._reports()
            if len(reports) < len(self._workers):
                continue
            if not self._started:
                self._started = True
                self._send_all({"start": True})
                self._run_pending_commands()
            finished = min(report.waits_after for report in reports)
            if finished and not self._handing_over:
                self._send_all({"step": finished})

    async def _scale(self, policy: ScalingPolicy) -> None:
        """Add workers, one after the other, while they are needed and there is load to share."""
        while True:
            await asyncio.sleep(_SCALING_PERIOD_S)
            reports = self._reports()
            if not self._started or any(worker.ended for worker in self._workers):
                continue
            divisible = reports[0].rate is not None or sum(report.concurrency for report in reports) > len(reports)
            usage = [(report.at, report.cpu_s) for report in reports]
            if policy.wants_worker(usage) and divisible and not await self._add_worker():
                return

    async def _add_worker(self) -> bool:
        """Start a worker and give it its part of the load. Return whether more workers can be started."""
        joining = self._joining = self._new_worker(len(self._workers))
        try:
            await self._start(joining, joining.number + 1)
        except OSError:
            return False
        await joining.wait_until(lambda _: True)
        usable = not joining.ended
        steps = {report.step - 1 for report in self._reports() if not report.waits_after}
        if usable and len(steps) == 1 and not any(worker.ended for worker in self._workers):
            self._handing_over = True
            try:
                async with asyncio.timeout(_HANDOVER_TIMEOUT_S):
                    await self._hand_over(joining, steps.pop())
            except TimeoutError:
                self._problem = Message("a load worker does not answer: is this machine overloaded?")
            self._handing_over = False
            self._level = None
            self._run_pending_commands()
        self._joining = None
        if joining not in self._workers:
            await joining.close()
        self._changed.set()
        return usable

    async def _hand_over(self, joining: WorkerProcess, step: int) -> None:
        count = joining.number + 1
        answers = await asyncio.gather(*(worker.hand_over(count, step, 1 / count) for worker in self._workers))
        handovers = [answer for answer in answers if answer is not None]
        if not handovers or any(answer.finishing for answer in handovers):
            return
        level = self._level = _combined(handovers, step)
        everyone = [*self._workers, joining]
        joining.send({"join": asdict(level)})
        for worker in everyone:
            if self._plan.steps[step].concurrency is not None:
                worker.send({"concurrency": Portion(worker.number, count).of(level.concurrency)})
            if level.rate is not None:
                worker.send({"rate": level.rate / count})
        sent_at = time.monotonic()
        for worker in everyone:
            await worker.wait_until(lambda report: report.at > sent_at and report.state is not LoadState.STARTING)
        self._workers.append(joining)

    def command(self, command: Command) -> None:
        count = len(self._workers)
        if not self._started or self._handing_over:
            self._pending_commands.append(command)
            return
        match command:
            case SetConcurrency(connections):
                for worker in self._workers:
                    worker.send({"concurrency": Portion(worker.number, count).of(connections)})
            case SetRate(per_second):
                self._send_all({"rate": per_second / count})
            case StopLoad():
                self._send_all({"stop": True})
            case NextStep():
                number = max((report.step for report in self._reports()), default=0)
                statuses = [worker.progress.current for worker in self._workers]
                running = overall_state(statuses, self._problem)[0] is LoadState.RUNNING
                if running and number < len(self._plan.steps):
                    self._send_all({"step": number})  # workers count steps from 0, reports from 1: this is the next one
            case RestartLoad() | Mark():
                pass

    def take(self) -> LoadSample | None:
        """Return the load now, or at the end of a step. Latencies are those since the last call."""
        statuses, more = self._steps.take([worker.progress for worker in self._workers])
        sample = aggregate(self._plan, statuses, self._problem, more=more, quota=self._quota.periods())
        if self._level is None:
            return sample
        # During a handover the reports are of different moments, while the level of the whole load does not change.
        concurrency = None if sample.concurrency is None else self._level.concurrency
        return replace(sample, concurrency=concurrency, rate=self._level.rate)

    async def close(self) -> None:
        for task in (self._scaler, self._coordinator):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        joining = [] if self._joining is None or self._joining in self._workers else [self._joining]
        await asyncio.gather(*(worker.close() for worker in [*self._workers, *joining]))

    def _reports(self) -> list[Report]:
        return [worker.report for worker in self._workers if worker.report is not None]

    def _run_pending_commands(self) -> None:
        pending, self._pending_commands = self._pending_commands, []
        for command in pending:
            self.command(command)

    def _send_all(self, command: dict[str, Any]) -> None:
        for worker in self._workers:
            worker.send(command)


def _combined(handovers: list[Handover], step: int) -> Handover:
    """Where a new worker starts: in ``step``, with all requests of it that the others gave away."""
    in_step = [each for each in handovers if each.step == step] or handovers
    return replace(
        in_step[0],
        step=step,
        requests=total(each.requests for each in in_step),
        concurrency=sum(each.concurrency for each in handovers),
        rate=total(each.rate for each in in_step),
    )
