"""The load over a whole test and over each of its steps: its counters, and its distributions merged exactly."""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec.structs import asdict

from loadtop.analysis.statistic import Json, Statistics, TargetMeans, latency_json, target_values, times_json
from loadtop.analysis.totals.breakdown import BreakdownTotals
from loadtop.analysis.totals.timeline import Timeline
from loadtop.model import Distribution, EngineWorker, Failures, LoadSample, LoadState, RequestRecord, StatedTimes
from loadtop.model.histogram import Merger
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import PERCENTILES

WORKER_FIGURES = ("users", "cpu_pct", "memory_kb")
MOST_REQUESTS = 30  # in the lists of slow and failed ones; no test has more
PARTS = ("total", "connect", "processing", "waiting")
_AS_COUNTED = (
    "engine", "model", "concurrency", "rate", "keepalive", "requests", "failed", "non_2xx", "server_errors", "pending",
    "keepalive_requests", "received_bytes", "body_bytes", "sent_bytes",
)  # fmt: skip
"""Fields of the last sample that the JSON summary has as they are."""


class LoadTotals:
    """Adds up the intervals of the load that are not warm-up. Of each worker of an engine: its state at the end, and
    figures of the intervals in which load ran."""

    def __init__(self) -> None:
        self.last: LoadSample | None = None
        self._parts = {part: Merger() for part in (*PARTS, "corrected")}
        self._workers: dict[str, tuple[EngineWorker, Statistics]] = {}

    def add(self, sample: LoadSample) -> None:
        self.last = sample
        for worker in sample.workers:
            _, figures = self._workers.get(worker.name) or (worker, Statistics(WORKER_FIGURES))
            if sample.state is LoadState.RUNNING:
                figures.add(getattr(worker, name) for name in figures)
            self._workers[worker.name] = worker, figures
        if sample.latencies is not None and sample.state not in (LoadState.WARMUP, LoadState.STARTING):
            for part, merger in self._parts.items():
                merger.add(getattr(sample.latencies, part))

    @property
    def distributions(self) -> dict[str, Distribution]:
        return {part: self._parts[part].merged for part in PARTS}

    def as_json(self) -> Json | None:
        """The ``load`` part of the JSON summary, ``None`` where no load was run."""
        last = self.last
        if last is None:
            return None
        # As ab counts: requests / time. Where another engine states a figure of its own, that.
        rps = last.stated_rps
        if rps is None and last.requests is not None and last.elapsed_s > 0:
            rps = last.requests / last.elapsed_s
        stated = {times.part: times for times in last.stated}
        distributions = self.distributions
        total = latency_json(distributions["total"])
        return {
            **{name: getattr(last, name) for name in _AS_COUNTED},
            "failures": None if last.failures is None else _failures_json(last.failures),
            "rps": None if rps is None else round(rps, 3),
            "latency_ms": _stated_latency(stated["total"]) if "total" in stated else total,
            "latency_source": "stated" if "total" in stated else (None if total is None else "measured"),
            "corrected_latency_ms": latency_json(self._parts["corrected"].merged),
            **_schedule_json(last),
            **{f"{part}_ms": _times(distributions[part], stated.get(part)) for part in PARTS[1:]},
            "workers": [
                {"name": worker.name, "host": worker.host, "state": worker.state, **figures.as_json()}
                for worker, figures in self._workers.values()
            ]
            or None,
            "slowest": None if last.noted is None else _requests_json(last.noted.slowest),
            "first_failures": None if last.noted is None else _requests_json(last.noted.failures),
            "state": str(last.state),
            "message": str(last.message) or None,
        }


def _requests_json(records: Sequence[RequestRecord]) -> list[Json]:
    """Each with its start in ISO 8601 (``None`` where that is impossible), and ``None`` for empty texts."""
    found: list[Json] = []
    for record in records[:MOST_REQUESTS]:
        try:
            started = datetime.fromtimestamp(record.started, UTC).isoformat(timespec="milliseconds")
        except (OverflowError, ValueError, OSError):  # a recording may say anything
            started = None
        texts = {name: str(getattr(record, name)) or None for name in ("failure", "reason", "trace_id")}
        heads = {name: getattr(record, name).splitlines() or None for name in ("request_head", "response_head")}
        found.append({**asdict(record), "started": started, **texts, **heads})
    return found


def _times(distribution: Distribution, stated: StatedTimes | None) -> Json | None:
    measured = times_json(distribution)
    if measured is not None or stated is None:
        return measured
    latency = _stated_latency(stated)
    return {name: latency["p50" if name == "median" else name] for name in ("min", "mean", "sd", "median", "max")}


def _schedule_json(last: LoadSample) -> Json:
    """How many requests of the open model were sent after their time, and how many never; ``None`` without a schedule,
    or if the engine does not report it."""
    generator = last.generator
    if last.rate is None or generator is None or generator.late is None or generator.unsent is None:
        return {"late": None, "unsent": None}
    return {"late": max(0, generator.late - generator.unsent), "unsent": generator.unsent}


def _failures_json(failures: Failures) -> Json:
    """The contract's classes; ``None`` for a class that the engine does not distinguish; ``unclassified`` only with
    such."""
    classes = asdict(failures)
    if not failures.unclassified and None not in classes.values():
        del classes["unclassified"]
    return classes


def _stated_latency(stated: StatedTimes) -> Json:
    return {name: getattr(stated, f"{name}_ms") for name in ("min", "mean", "sd", *PERCENTILES, "max")}


class StepTotals:
    """Adds up the intervals of one step, which begins at ``start``, after the sample ``before``, with the one that ends
    with ``last``: an interval belongs to the step in which it ended."""

    def __init__(self, before: LoadSample | None, start: float, last: LoadSample) -> None:
        self._before = before
        self._last = last
        self._latency = Merger()
        self._timeline = Timeline(start)
        self._targets = TargetMeans()
        self._breakdown = BreakdownTotals()

    def add(self, snapshot: Snapshot, sample: LoadSample) -> None:
        self._last = sample
        if sample.latencies is not None:
            self._latency.add(sample.latencies.total)
        self._timeline.add(snapshot, counted=True)
        self._targets.add(target_values(snapshot))
        self._breakdown.add(snapshot.breakdown)

    def as_json(self) -> Json:
        """The step's entry in ``steps``, with the worst of several machines under test."""
        last, before = self._last, self._before
        earlier = (None, None, 0.0) if before is None else (before.requests, before.failed, before.elapsed_s)
        requests, failed = _since(last.requests, earlier[0]), _since(last.failed, earlier[1])
        seconds = last.elapsed_s - earlier[2]
        verdict = self._timeline.longest()
        worst = self._targets.worst
        return {
            "concurrency": last.concurrency,
            "rate": last.rate,
            "requests": requests,
            "failed": failed,
            "time_s": round(seconds, 6),
            "rps": round(requests / seconds, 3) if requests is not None and seconds > 0 else None,
            "latency_ms": latency_json(self._latency.merged),
            "idle_pct": worst.idle,
            "iowait_pct": worst.iowait,
            "swap_used_pct": worst.swap_used,
            "bottleneck": None if verdict is None else str(verdict[0].bottleneck),
            "breakdown": self._breakdown.as_json(),
        }


def _since(last: int | None, before: int | None) -> int | None:
    return None if last is None else last - (before or 0)
