"""The load over a whole test: its counters at the end, its distributions merged exactly."""

from dataclasses import asdict
from typing import Any

from loadtop.analysis.statistic import Statistic, latency_json, times_json
from loadtop.model import Distribution, EngineWorker, Failures, LoadSample, LoadState, StatedTimes
from loadtop.model.histogram import Merger
from loadtop.rates.metrics import PERCENTILES

Json = dict[str, Any]
PARTS = ("total", "connect", "processing", "waiting")


def counts(load: LoadSample | None, before: LoadSample | None) -> bool:
    """Whether the interval that ends with ``load`` had load: also the last, cut short by the end of the load. Where
    there is no load at all, every interval counts."""
    if load is None:
        return True
    if load.state in (LoadState.STARTING, LoadState.WARMUP):
        return False
    return not load.state.ended or (before is not None and not before.state.ended)


class LoadTotals:
    """Adds up the intervals of the load that are not warm-up."""

    def __init__(self) -> None:
        self.last: LoadSample | None = None
        self._parts = {part: Merger() for part in PARTS}
        self._corrected: Merger | None = None
        self._workers: dict[str, WorkerTotals] = {}

    def add(self, sample: LoadSample) -> None:
        """Count one interval."""
        self.last = sample
        for worker in sample.workers:
            known = self._workers.setdefault(worker.name, WorkerTotals(worker))
            known.add(worker, running=sample.state is LoadState.RUNNING)
        if sample.latencies is None or sample.state in (LoadState.WARMUP, LoadState.STARTING):
            return
        for part, merger in self._parts.items():
            merger.add(getattr(sample.latencies, part))
        if sample.latencies.corrected is not None:
            self._corrected = self._corrected or Merger()
            self._corrected.add(sample.latencies.corrected)

    @property
    def distributions(self) -> dict[str, Distribution]:
        """The response times of the whole load by part."""
        return {part: merger.merged for part, merger in self._parts.items()}

    @property
    def rps(self) -> float | None:
        """Requests per second over the whole run, as ab counts: requests / time. Where another engine states a figure
        of its own, that."""
        last = self.last
        if last is None or last.stated_rps is not None:
            return None if last is None else last.stated_rps
        return last.requests / last.elapsed_s if last.requests is not None and last.elapsed_s > 0 else None

    def as_json(self) -> Json | None:
        """The ``load`` part of the JSON summary, ``None`` where no load was run."""
        last = self.last
        if last is None:
            return None
        failures = last.failures
        stated = {times.part: times for times in last.stated}
        distributions = self.distributions
        total = latency_json(distributions["total"])
        return {
            "engine": last.engine,
            "model": last.model,
            "concurrency": last.concurrency,
            "rate": last.rate,
            "keepalive": last.keepalive,
            "requests": last.requests,
            "failed": last.failed,
            "failures": None if failures is None else _failures_json(failures),
            "non_2xx": last.non_2xx,
            "keepalive_requests": last.keepalive_requests,
            "rps": None if self.rps is None else round(self.rps, 3),
            "received_bytes": last.received_bytes,
            "body_bytes": last.body_bytes,
            "sent_bytes": last.sent_bytes,
            "latency_ms": _stated_latency(stated["total"]) if "total" in stated else total,
            "latency_source": "stated" if "total" in stated else (None if total is None else "measured"),
            "corrected_latency_ms": None if self._corrected is None else latency_json(self._corrected.merged),
            **_schedule_json(last),
            **{f"{part}_ms": _times(distributions[part], stated.get(part)) for part in PARTS[1:]},
            "workers": [worker.as_json() for worker in self._workers.values()] or None,
            "state": str(last.state),
            "message": str(last.message) or None,
        }


def _times(distribution: Distribution, stated: StatedTimes | None) -> Json | None:
    measured = times_json(distribution)
    if measured is not None or stated is None:
        return measured
    latency = _stated_latency(stated)
    return {name: latency["p50" if name == "median" else name] for name in ("min", "mean", "sd", "median", "max")}


def _schedule_json(last: LoadSample) -> Json:
    """How many requests of the open model were sent after their time, and how many never; ``None`` where there is no
    schedule, or the engine does not tell."""
    generator = last.generator
    if last.rate is None or generator is None or generator.late is None or generator.unsent is None:
        return {"late": None, "unsent": None}
    return {"late": max(0, generator.late - generator.unsent), "unsent": generator.unsent}


def _failures_json(failures: Failures) -> Json:
    """The contract's classes, ``None`` where the engine does not tell one apart; ``unclassified`` only with such."""
    classes = asdict(failures)
    if not failures.unclassified and None not in classes.values():
        del classes["unclassified"]
    return classes


def _stated_latency(stated: StatedTimes) -> Json:
    return {name: getattr(stated, f"{name}_ms") for name in ("min", "mean", "sd", *PERCENTILES, "max")}


class WorkerTotals:
    """One worker: its state at the end, and figures of the intervals in which load ran."""

    def __init__(self, worker: EngineWorker) -> None:
        self._last = worker
        self._figures = {name: Statistic() for name in ("users", "cpu_pct", "memory_kb")}

    def add(self, worker: EngineWorker, *, running: bool) -> None:
        """Count one interval; one in which no load ran any more has a state only."""
        self._last = worker
        if running:
            for name, statistic in self._figures.items():
                statistic.add(getattr(worker, name))

    def as_json(self) -> Json:
        """Its entry in ``load.workers`` of the JSON summary."""
        return {
            "name": self._last.name,
            "host": self._last.host,
            "state": self._last.state,
            **{name: statistic.as_json() for name, statistic in self._figures.items()},
        }
