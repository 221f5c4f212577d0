"""The load as the Monitor sees it: worker processes, kept together, and the commands they obey."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from loadtop.generator.growth import Growth, IdleCores, usable_cores
from loadtop.generator.journal import JournalFiles
from loadtop.generator.passage import Passage
from loadtop.generator.plan import Plan
from loadtop.generator.process import WorkerProcess
from loadtop.generator.quota import Quota
from loadtop.generator.report import Parting, Report
from loadtop.generator.sampling import take_sample, whole_state
from loadtop.generator.share import Share
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.commands import Command, Mark, NextStep, RestartLoad, SetConcurrency, SetRate, StopLoad

_LOOK_S = 0.25
"""How often to look whether there should be more workers."""
_PATIENCE_S = 5.0
"""How long workers may take to make room for a new one."""


class LoadPool:
    """The built-in generator as a :class:`loadtop.pipeline.monitor.LoadSource`. Its processes end with it, whatever
    happens.

    ``journals`` get a row for each request. ``said`` is called with what is told of requests and responses (-v).
    ``growth`` decides when there are more workers, where the plan allows that.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        journals: JournalFiles | None = None,
        said: Callable[[str], None] = lambda _: None,
        growth: Growth | None = None,
    ) -> None:
        self._plan = plan
        self._journals = journals
        self._said = said
        self._growth = growth
        self._workers = [WorkerProcess(number, said) for number in range(plan.workers)]
        self._passage = Passage()
        self._joining: WorkerProcess | None = None
        self._changed = asyncio.Event()
        self._conductor: asyncio.Task[None] | None = None
        self._grower: asyncio.Task[None] | None = None
        self._going = self._handing_over = False
        self._level: Parting | None = None
        self._early: list[Command] = []
        self._problem = ""
        self._quota = Quota()

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers' processes."""
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    async def start(self) -> None:
        """Start the workers. The load begins when all are ready; problems with the target show in the samples."""
        try:
            for worker in self._workers:
                await self._start(worker, len(self._workers))
        except OSError as error:
            self._problem = f"no load worker can be started ({error.strerror}): is the machine out of processes?"
            return
        self._conductor = asyncio.create_task(self._conduct())
        if self._plan.more_workers:
            self._grower = asyncio.create_task(self._grow(self._growth or Growth(usable_cores(), IdleCores())))

    async def wait(self) -> None:
        """Return when every worker has ended its load."""
        # At once where it has: the monitor asks again at its end, and would wait for a load that still runs.
        if self._conductor is not None and not self._conductor.done():
            await asyncio.wait({self._conductor})

    async def _start(self, worker: WorkerProcess, workers: int) -> None:
        journal = None if self._journals is None else self._journals.add()
        await worker.start(self._plan, workers, self._changed, journal)

    async def _conduct(self) -> None:
        """Start all workers together, keep their steps together, and stop all when one fails."""
        while self._handing_over or not all(worker.ended for worker in self._workers):
            await self._changed.wait()
            self._changed.clear()
            if self._problem or any(worker.failed for worker in self._workers):
                self._tell({"stop": True})
                return
            reports = self._reports()
            if len(reports) < len(self._workers):
                continue
            if not self._going:
                self._going = True
                self._tell({"go": True})
                self._obey_early()
            held = min(report.held for report in reports)
            if held and not self._handing_over:
                self._tell({"step": held})

    async def _grow(self, growth: Growth) -> None:
        """Add workers, one after the other, as long as they are wanted and there is a load to share."""
        while True:
            await asyncio.sleep(_LOOK_S)
            reports = self._reports()
            if not self._going or any(worker.ended for worker in self._workers):
                continue
            sharable = reports[0].rate is not None or sum(report.concurrency for report in reports) > len(reports)
            if growth.wanted([(report.at, report.cpu_s) for report in reports]) and sharable and not await self._add():
                return

    async def _add(self) -> bool:
        """Start a worker beside the others; when it is ready, they give it its part, and it begins. Whether more can be
        started after it."""
        joining = self._joining = WorkerProcess(len(self._workers), self._said)
        try:
            await self._start(joining, joining.number + 1)
        except OSError:
            return False
        await joining.until(lambda _: True)
        able = not joining.ended
        steps = {report.step - 1 for report in self._reports() if not report.held}
        if not joining.ended and len(steps) == 1 and not any(worker.ended for worker in self._workers):
            self._handing_over = True
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    await self._hand_over(joining, steps.pop())
            except TimeoutError:
                self._problem = "a load worker does not answer: is this machine overloaded?"
            self._handing_over = False
            self._level = None
            self._obey_early()
        self._joining = None
        if joining not in self._workers:
            await joining.close()
        self._changed.set()
        return able

    async def _hand_over(self, joining: WorkerProcess, step: int) -> None:
        count = joining.number + 1
        answers = await asyncio.gather(*(worker.part(count, step, 1 / count) for worker in self._workers))
        here = [answer for answer in answers if answer is not None]
        if not here or any(answer.over for answer in here):
            return
        level = self._level = _together(here, step)
        limited = self._plan.steps[step].concurrency is not None
        for worker in [*self._workers, joining]:
            if worker is joining:
                worker.tell({"join": asdict(level)})
            if limited:
                worker.tell({"concurrency": Share(worker.number, count).of(level.concurrency)})
            if level.rate is not None:
                worker.tell({"rate": level.rate / count})
        told = time.monotonic()
        for worker in [*self._workers, joining]:
            await worker.until(lambda report: report.at > told and report.state != "starting")
        self._workers.append(joining)

    def command(self, command: Command) -> None:
        """Change the load while it runs."""
        count = len(self._workers)
        if not self._going or self._handing_over:
            self._early.append(command)
            return
        match command:
            case SetConcurrency(connections):
                for worker in self._workers:
                    worker.tell({"concurrency": Share(worker.number, count).of(connections)})
            case SetRate(per_second):
                self._tell({"rate": per_second / count})
            case StopLoad():
                self._tell({"stop": True})
            case NextStep():
                number = max((report.step for report in self._reports()), default=0)
                running = whole_state(self._workers, self._problem)[0] is LoadState.RUNNING
                if running and number < len(self._plan.steps):
                    self._tell({"step": number})  # they count from 0 and the report from 1: this is the one after it
            case RestartLoad() | Mark():
                pass

    def take(self) -> LoadSample | None:
        """The load now, or as it was when a step ended; latencies are those of all requests that ended since the last
        call."""
        parts, more = self._passage.parts(self._workers)
        sample = take_sample(self._plan, parts, self._problem, more=more, periods=self._quota.periods())
        if self._level is None:
            return sample
        # While a part moves to another worker, reports speak of different moments; the whole stays as it is.
        concurrency = None if sample.concurrency is None else self._level.concurrency
        return replace(sample, concurrency=concurrency, rate=self._level.rate)

    async def close(self) -> None:
        """Stop whatever still runs and wait until it is gone."""
        for task in (self._grower, self._conductor):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        joining = [] if self._joining is None or self._joining in self._workers else [self._joining]
        await asyncio.gather(*(worker.close() for worker in [*self._workers, *joining]))

    def _reports(self) -> list[Report]:
        return [worker.report for worker in self._workers if worker.report is not None]

    def _obey_early(self) -> None:
        early, self._early = self._early, []
        for command in early:
            self.command(command)

    def _tell(self, command: dict[str, Any]) -> None:
        for worker in self._workers:
            worker.tell(command)


def _together(answers: list[Parting], step: int) -> Parting:
    """Where a new worker begins, of what the others answered: in ``step`` with all that they gave away of it."""
    there = [answer for answer in answers if answer.step == step] or answers
    given = [answer.ceded for answer in there]
    rates = [answer.rate for answer in there]
    return replace(
        there[0],
        step=step,
        ceded=None if None in given else sum(each for each in given if each is not None),
        concurrency=sum(answer.concurrency for answer in answers),
        rate=None if None in rates else sum(each for each in rates if each is not None),
    )
