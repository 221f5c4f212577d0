"""One sample of the whole load from the reports of all workers."""

import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace

from loadtop.generator.limits import QuotaPeriods
from loadtop.generator.measurements import Counters
from loadtop.generator.plan import Plan, total
from loadtop.generator.protocol import Report
from loadtop.i18n.message import Message
from loadtop.model import Failures, GeneratorSample, Latencies, LoadSample, LoadState
from loadtop.model.histogram import merge

_PRECEDENCE = [
    LoadState.FAILED,
    LoadState.STARTING,
    LoadState.WARMUP,
    LoadState.RUNNING,
    LoadState.STOPPED,
    LoadState.DONE,
]
"""If workers are in different states, the whole load is in the first of these."""


@dataclass(slots=True)
class WorkerStatus:
    """A worker's newest report, and what it measured since the last sample. ``problem``: its process failed."""

    report: Report | None = None
    latencies: list[Latencies] = field(default_factory=list[Latencies])
    loop_delay_s: float = 0.0
    problem: Message | None = None

    @property
    def ended(self) -> bool:
        return self.problem is not None or (self.report is not None and self.report.state.ended)

    @property
    def failed(self) -> bool:
        return self.problem is not None or (self.report is not None and self.report.state is LoadState.FAILED)


class WorkerProgress:
    """A worker's current status, and its status at the end of each step that no sample has included yet."""

    def __init__(self) -> None:
        self.current = WorkerStatus()
        self._finished: dict[int, WorkerStatus] = {}

    def add(self, report: Report) -> None:
        """Take a new report. A worker reports at the end of each step, before it begins the next."""
        current = self.current
        before = current.report
        if before is not None and 0 < before.step < report.step:
            self._finished[before.step] = WorkerStatus(before, current.latencies)
            current.latencies = []
        if report.latencies is not None:
            current.latencies.append(report.latencies)
        current.loop_delay_s = max(current.loop_delay_s, report.loop_delay_s)
        current.report = replace(report, latencies=None, verbose_text="")

    def at_end_of(self, step: int) -> WorkerStatus | None:
        """Return the status at the end of ``step``, or of the last step before it that the worker had."""
        return self._finished.get(max((number for number in self._finished if number <= step), default=0))

    def take(self, step: int) -> WorkerStatus | None:
        """Return the status at the end of ``step`` with all latencies until then, each of them once."""
        last = self.at_end_of(step)
        if last is None:
            return None
        taken = [self._finished.pop(number) for number in sorted(self._finished) if number <= step]
        # The report stays, for later steps that the worker skips.
        self._finished[step] = WorkerStatus(last.report)
        return WorkerStatus(last.report, [part for status in taken for part in status.latencies], last.loop_delay_s)


class StepSequence:
    """Chooses what to add up for a sample, so that there is one sample at the very end of each step.

    Each worker goes from step to step by itself. A step ends when the last worker has left it.
    """

    def __init__(self) -> None:
        self._step = 1

    def take(self, workers: Sequence[WorkerProgress]) -> tuple[list[WorkerStatus], bool]:
        """Return each worker's status for the next sample, and whether another sample should be taken at once."""
        current = [worker.current for worker in workers]
        last = min((status.report.step for status in current if status.report is not None), default=0)
        over = all(status.ended for status in current) or any(status.failed for status in current)
        if last > self._step:
            ends = [worker.take(self._step) for worker in workers]
            self._step += 1
            return [end for end in ends if end is not None], over or last > self._step
        if not over:
            return [self._status(worker) for worker in workers], False
        for worker in workers:
            report = worker.current.report
            left = None if report is None else worker.take(report.step)
            worker.current.latencies[:0] = [] if left is None else left.latencies
        return current, False

    def _status(self, worker: WorkerProgress) -> WorkerStatus:
        """The current status; for a worker that is ahead, how it left the step, so that counters do not go back."""
        report = worker.current.report
        ahead = report is not None and report.step > self._step
        return (worker.at_end_of(self._step) if ahead else None) or worker.current


def aggregate(
    plan: Plan,
    workers: Sequence[WorkerStatus],
    problem: Message | None,
    *,
    more: bool = False,
    quota: QuotaPeriods | None = None,
) -> LoadSample:
    """Return the sample of the whole load, and clear the workers' latencies. ``problem`` keeps the load from running;
    ``more``: another sample follows at once."""
    reports = [worker.report for worker in workers if worker.report is not None]
    number = max((report.step for report in reports), default=1) or 1
    step = plan.steps[min(number, len(plan.steps)) - 1]
    state, message = overall_state(workers, problem)
    counters = Counters(*map(sum, zip(*(astuple(report.counters) for report in reports), strict=True)))
    concurrency = sum(report.concurrency for report in reports)
    return LoadSample(
        at=sum(report.at for report in reports) / len(reports) if reports else time.monotonic(),
        engine="builtin",
        state=state,
        model="closed" if step.rate is None else "open",
        elapsed_s=max((report.elapsed_s for report in reports), default=0.0),
        concurrency=concurrency if reports and step.concurrency is not None else step.concurrency,
        rate=None if step.rate is None else sum(report.rate or 0.0 for report in reports) or step.rate,
        step=number,
        steps=len(plan.steps),
        in_flight=sum(report.in_flight for report in reports),
        connections=sum(report.connections for report in reports),
        requests=counters.requests,
        failures=Failures(counters.connect, counters.receive, counters.length, counters.exceptions, counters.timeout),
        non_2xx=counters.non_2xx,
        keepalive_requests=counters.keepalive,
        received_bytes=counters.received,
        body_bytes=counters.body,
        sent_bytes=counters.sent,
        # A worker whose warm-up ended first has counted already: its latencies wait until the warm-up of all is over.
        latencies=None if state is LoadState.WARMUP else _take_latencies(workers),
        generator=_generator(workers, reports, counters, quota),
        server=next((report.server for report in reports if report.server is not None), None),
        message=message or "",
        target_requests=total(each.requests for each in plan.steps),
        target_s=total(each.duration_s for each in plan.steps),
        keepalive=plan.keepalive,
        with_body=any(target.body is not None for target in plan.targets),
        more=more,
    )


def overall_state(workers: Sequence[WorkerStatus], problem: Message | None) -> tuple[LoadState, Message | None]:
    """Return the state of all workers together, and what is wrong."""
    reports = [worker.report for worker in workers if worker.report is not None]
    problem = problem or next((worker.problem for worker in workers if worker.problem is not None), None)
    if problem is not None:
        return LoadState.FAILED, problem
    if len(reports) < len(workers):
        return LoadState.STARTING, None
    state = min((report.state for report in reports), key=_PRECEDENCE.index)
    messages = sorted(
        (report for report in reports if report.message is not None), key=lambda each: each.state != state
    )
    return state, messages[0].message if messages else None


def _take_latencies(workers: Sequence[WorkerStatus]) -> Latencies | None:
    parts = [part for worker in workers for part in worker.latencies]
    for worker in workers:
        worker.latencies.clear()
    if not parts:
        return None
    return Latencies(
        total=merge(part.total for part in parts),
        connect=merge(part.connect for part in parts),
        processing=merge(part.processing for part in parts),
        waiting=merge(part.waiting for part in parts),
        corrected=merge(part.corrected for part in parts) if any(part.corrected for part in parts) else None,
    )


def _generator(
    workers: Sequence[WorkerStatus], reports: Sequence[Report], counters: Counters, quota: QuotaPeriods | None
) -> GeneratorSample | None:
    if not reports:
        return None
    # Each worker reports its own connections and all ports of the machine that are in TIME_WAIT.
    one = reports[0]
    connections = sum(report.connections for report in reports)
    delay = max(worker.loop_delay_s for worker in workers)
    for worker in workers:
        worker.loop_delay_s = 0.0
    return GeneratorSample(
        worker_cpu_s=tuple(report.cpu_s for report in reports),
        loop_delay_s=delay,
        late=counters.late,
        unsent=counters.unsent,
        ports_used=None if one.ports_used is None else one.ports_used - one.connections + connections,
        ports_limit=one.ports_limit,
        files_used=max(report.files_used for report in reports),
        files_limit=min(report.files_limit for report in reports),
        quota_periods=None if quota is None else quota.all,
        quota_stops=None if quota is None else quota.throttled,
    )
