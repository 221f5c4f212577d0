"""The reports of all workers added up: one sample of the whole load."""

import time
from collections.abc import Iterable, Sequence

from loadtop.generator.passage import Heard
from loadtop.generator.plan import Plan
from loadtop.generator.quota import Periods
from loadtop.generator.report import Report
from loadtop.model import Failures, GeneratorSample, Latencies, LoadSample, LoadState
from loadtop.model.histogram import merge

_ORDER = [
    LoadState.FAILED,
    LoadState.STARTING,
    LoadState.WARMUP,
    LoadState.RUNNING,
    LoadState.STOPPED,
    LoadState.DONE,
]
"""Where workers differ, the whole is in the state that comes first."""


def take_sample(
    plan: Plan, workers: Sequence[Heard], problem: str, *, more: bool = False, periods: Periods | None = None
) -> LoadSample:
    """The load now; latencies are those of all requests that ended since the last call. ``problem`` is what keeps the
    whole from running, or empty; ``periods`` are those of the generator's own quota, where it has one."""
    reports = [worker.report for worker in workers if worker.report is not None]
    number = max((report.step for report in reports), default=1) or 1
    step = plan.steps[min(number, len(plan.steps)) - 1]
    state, message = whole_state(workers, problem)
    requests = _total(each.requests for each in plan.steps)
    return LoadSample(
        at=sum(report.at for report in reports) / len(reports) if reports else time.monotonic(),
        engine="builtin",
        state=state,
        model="closed" if step.rate is None else "open",
        elapsed_s=max((report.elapsed_s for report in reports), default=0.0),
        concurrency=_sum(reports, "concurrency") if reports and step.concurrency is not None else step.concurrency,
        rate=None if step.rate is None else sum(report.rate or 0.0 for report in reports) or step.rate,
        step=number,
        steps=len(plan.steps),
        in_flight=_sum(reports, "in_flight"),
        connections=_sum(reports, "connections"),
        requests=_sum(reports, "requests"),
        failures=Failures(
            connect=_sum(reports, "connect"),
            receive=_sum(reports, "receive"),
            length=_sum(reports, "length"),
            exceptions=_sum(reports, "exceptions"),
            timeout=_sum(reports, "timeout"),
        ),
        non_2xx=_sum(reports, "non_2xx"),
        keepalive_requests=_sum(reports, "keepalive"),
        received_bytes=_sum(reports, "received"),
        body_bytes=_sum(reports, "body"),
        sent_bytes=_sum(reports, "sent"),
        # A worker whose warm-up ended first has counted already: that stays until the warm-up of all is over.
        latencies=None if state is LoadState.WARMUP else _take_latencies(workers),
        generator=_generator(workers, reports, periods),
        server=next((report.server for report in reports if report.server is not None), None),
        message=message,
        target_requests=None if requests is None else int(requests),
        target_s=_total(each.duration_s for each in plan.steps),
        keepalive=plan.keepalive,
        with_body=any(target.body is not None for target in plan.targets),
        more=more,
    )


def _sum(reports: Iterable[Report], name: str) -> int:
    return sum(getattr(report, name) for report in reports)


def whole_state(workers: Sequence[Heard], problem: str) -> tuple[LoadState, str]:
    """The state of all workers together, and a message on what is wrong or an empty string."""
    reports = [worker.report for worker in workers if worker.report is not None]
    problem = problem or next((worker.problem for worker in workers if worker.problem), "")
    if problem:
        return LoadState.FAILED, problem
    if len(reports) < len(workers):
        return LoadState.STARTING, ""
    state = min((LoadState(report.state) for report in reports), key=_ORDER.index)
    messages = sorted((report for report in reports if report.message), key=lambda each: each.state != state.value)
    return state, messages[0].message if messages else ""


def _take_latencies(workers: Sequence[Heard]) -> Latencies | None:
    parts = [part for worker in workers for part in worker.latencies]
    for worker in workers:
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


def _generator(workers: Sequence[Heard], reports: list[Report], periods: Periods | None) -> GeneratorSample | None:
    if not reports:
        return None
    # Each worker counts its own connections, and all of the machine's ports that are not free again yet.
    one = reports[0]
    ports = None if one.ports_used is None else one.ports_used - one.connections + _sum(reports, "connections")
    delay = max(worker.loop_delay_s for worker in workers)
    for worker in workers:
        worker.loop_delay_s = 0.0
    return GeneratorSample(
        worker_cpu_s=tuple(report.cpu_s for report in reports),
        loop_delay_s=delay,
        late=_sum(reports, "late"),
        unsent=_sum(reports, "unsent"),
        ports_used=ports,
        ports_limit=one.ports_limit,
        files_used=max(report.files_used for report in reports),
        files_limit=min(report.files_limit for report in reports),
        quota_periods=None if periods is None else periods.all,
        quota_stops=None if periods is None else periods.stopped,
    )


def _total(parts: Iterable[float | None]) -> float | None:
    """The sum, where every part is known."""
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)
