"""What worker processes report, and one sample of the whole load from the reports of all."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple, replace

from loadtop.generator.notable import merged
from loadtop.generator.plan import Plan, total
from loadtop.i18n import Message, Text
from loadtop.model import Failures, GeneratorSample, Latencies, LoadSample, LoadState, Requests
from loadtop.model.histogram import merge

COUNTERS = (
    "requests",
    "non_2xx",
    "server_errors",
    "keepalive_requests",
    "received_bytes",
    "body_bytes",
    "sent_bytes",
)
"""The counters of a sample, besides those of its failures."""
_PRECEDENCE = ("failed", "starting", "warmup", "running", "stopped", "done")
"""If workers are in different states, the whole load is in the first of these."""


class Handover(Struct, frozen=True):
    """Where a worker stands that gives a part of its load to a new one. ``finishing``: it sends no more requests.

    ``step`` counts from 0; ``requests`` are those given away to it (None: the step has no limit of requests). Times are
    seconds of the monotonic clock: when counting started, when the step ends and when the warm-up ends, where they do.
    """

    finishing: bool
    step: int
    requests: int | None
    started: float
    ends: float | None
    warmup_ends: float | None
    concurrency: int
    rate: float | None


class Report(Struct, frozen=True):
    """One worker at one moment, several times a second: a line of JSON on its standard output.

    ``load`` is its part of the load, with the latencies since the last report, and ``generator`` belongs to it; its
    ``ports_used`` are those of the whole machine in TIME_WAIT. ``waits_after`` is the step after which the worker waits
    for the others, or 0. ``commands`` of its parent have been executed. ``handover`` answers the command ``hand_over``.
    ``verbose_text`` (-v) is that since the last report. ``load.noted`` is ``None`` if it has not changed.
    """

    load: LoadSample
    generator: GeneratorSample
    waits_after: int = 0
    commands: int = 0
    handover: Handover | None = None
    verbose_text: str = ""


class WorkerProgress:
    """A worker's newest report, and what it measured since the last sample. ``problem``: its process failed."""

    def __init__(self) -> None:
        self.report: Report | None = None
        self.problem: Message | None = None
        self.noted: Requests | None = None  # those of the reports that were taken
        self._new: list[Report] = []
        self._taken: list[Report] = []

    @property
    def ended(self) -> bool:
        return self.problem is not None or (self.report is not None and self.report.load.state.ended)

    @property
    def failed(self) -> bool:
        return self.problem is not None or (self.report is not None and self.report.load.state is LoadState.FAILED)

    def add(self, report: Report) -> None:
        """Take a new report. A worker reports at the end of each step, before it begins the next."""
        self.report = report
        self._new.append(report)

    def take(self, step: int) -> list[Report]:
        """Return the new reports until the end of ``step``, or the last one again without what it measured."""
        taken = [report for report in self._new if report.load.step <= step]
        self._new = [report for report in self._new if report.load.step > step]
        for report in taken:
            self.noted = report.load.noted or self.noted
        if taken:
            last = taken[-1]
            generator = replace(last.generator, loop_delay_s=0.0)
            self._taken = [replace(last, load=replace(last.load, latencies=None), generator=generator)]
        return taken or self._taken


class Aggregator:
    """Adds the workers' parts of a load up, with a sample at the end of each step, when its last worker has left it."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._step = 1
        self._latencies: list[Latencies] = []

    def sample(
        self,
        workers: Sequence[WorkerProgress],
        problem: Message | None = None,
        quota: tuple[int, int] | None = None,
        *,
        joining: bool = False,
    ) -> LoadSample:
        """Return the next sample of the whole load; ``problem`` keeps it from running. ``quota`` is that of
        :func:`loadtop.generator.limits.quota_periods`. While another worker is ``joining``, the load goes on, even if
        all ``workers`` have ended: it has taken a part of their requests."""
        last = min((worker.report.load.step for worker in workers if worker.report is not None), default=0)
        over = (not joining and all(worker.ended for worker in workers)) or any(worker.failed for worker in workers)
        step, more = self._step, False
        if last > step:
            self._step += 1
            more = over or last > self._step
        elif over:
            step = len(self._plan.steps)
        taken = [reports for worker in workers if (reports := worker.take(step))]
        newest = [reports[-1].load for reports in taken]
        number = max((each.step for each in newest), default=1) or 1
        planned = self._plan.steps[number - 1]
        concurrency = planned.concurrency
        if newest and concurrency is not None:
            concurrency = total(each.concurrency for each in newest)
        message: Text = ""
        problem = problem or next((worker.problem for worker in workers if worker.problem is not None), None)
        if problem is not None:
            state, message = LoadState.FAILED, problem
        elif any(worker.report is None for worker in workers):
            state = LoadState.STARTING
        else:
            state, message = overall_state(newest)
            if joining and state is LoadState.DONE:
                state = LoadState.RUNNING
        loads = [report.load for reports in taken for report in reports]
        self._latencies += [each.latencies for each in loads if each.latencies is not None]
        return LoadSample(
            at=sum(each.at for each in newest) / len(newest) if newest else time.monotonic(),
            engine="builtin",
            state=state,
            model="closed" if planned.rate is None else "open",
            elapsed_s=max((each.elapsed_s for each in newest), default=0.0),
            concurrency=concurrency,
            rate=None if planned.rate is None else sum(each.rate or 0.0 for each in newest) or planned.rate,
            step=number,
            steps=len(self._plan.steps),
            in_flight=total(each.in_flight for each in newest),
            pending=total(each.pending for each in newest),
            connections=total(each.connections for each in newest),
            # A worker whose warm-up ended first has counted already: its latencies wait for the end of all warm-ups.
            latencies=None if state is LoadState.WARMUP else self._take_latencies(),
            generator=_generator(taken, quota) if taken else None,
            server=next((each.server for each in newest if each.server is not None), None),
            message=message,
            target_requests=total(each.requests for each in self._plan.steps),
            target_s=total(each.duration_s for each in self._plan.steps),
            keepalive=self._plan.keepalive,
            with_body=any(target.body is not None for target in self._plan.targets),
            more=more,
            noted=merged(() if state is LoadState.WARMUP else (worker.noted for worker in workers)),
            **counters(newest),
        )

    def _take_latencies(self) -> Latencies | None:
        parts, self._latencies = self._latencies, []
        if not parts:
            return None
        return Latencies(
            total=merge(part.total for part in parts),
            connect=merge(part.connect for part in parts),
            processing=merge(part.processing for part in parts),
            waiting=merge(part.waiting for part in parts),
            corrected=merge(part.corrected for part in parts) if any(part.corrected for part in parts) else None,
        )


def overall_state(loads: Sequence[LoadSample]) -> tuple[LoadState, Text]:
    """Return the state of all workers together, and what is wrong."""
    state = min((each.state for each in loads), key=_PRECEDENCE.index)
    messages = sorted((each for each in loads if each.message), key=lambda each: each.state != state)
    return state, messages[0].message if messages else ""


def counters(samples: Sequence[LoadSample]) -> dict[str, Any]:
    """Return the counters of the samples added up; None for those that one of them lacks."""
    failures = [astuple(each.failures) for each in samples if each.failures is not None]
    classes: Iterable[Any] = map(total, zip(*failures, strict=True))
    return {
        **{name: total(getattr(each, name) for each in samples) for name in COUNTERS},
        "failures": Failures(*classes) if len(failures) == len(samples) else None,
    }


def _generator(taken: Sequence[Sequence[Report]], quota: tuple[int, int] | None) -> GeneratorSample:
    parts = [reports[-1].generator for reports in taken]
    return GeneratorSample(
        worker_cpu_s=tuple(each.worker_cpu_s[0] for each in parts),
        worker_wait_s=tuple(wait_s for each in parts for wait_s in each.worker_wait_s),
        loop_delay_s=max(report.generator.loop_delay_s or 0.0 for reports in taken for report in reports),
        late=total(each.late for each in parts),
        unsent=total(each.unsent for each in parts),
        ports_used=total([parts[0].ports_used, *(reports[-1].load.connections for reports in taken)]),
        ports_limit=parts[0].ports_limit,
        files_used=max(each.files_used or 0 for each in parts),
        files_limit=min(each.files_limit or 0 for each in parts),
        quota_periods=None if quota is None else quota[0],
        quota_stops=None if quota is None else quota[1],
    )
