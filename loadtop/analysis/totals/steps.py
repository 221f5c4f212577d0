"""The steps of a load as it was made, each with what the machines under test did meanwhile."""

from typing import Any

from loadtop.analysis.statistic import latency_json
from loadtop.analysis.targets import TargetMeans, target_values
from loadtop.analysis.totals.timeline import Timeline
from loadtop.model import LoadSample
from loadtop.model.histogram import Merger
from loadtop.pipeline.snapshot import Snapshot

Json = dict[str, Any]


class StepTotals:
    """Adds up the intervals of one step, which begins at ``start``, after the sample ``before``. An interval belongs to
    the step in which it ended."""

    def __init__(self, before: LoadSample | None, start: float) -> None:
        self._before = before
        self._last: LoadSample | None = None
        self._latency = Merger()
        self._timeline = Timeline(start)
        self._targets = TargetMeans()

    def add(self, snapshot: Snapshot, sample: LoadSample) -> None:
        """Count one interval."""
        self._last = sample
        if sample.latencies is not None:
            self._latency.add(sample.latencies.total)
        self._timeline.add(snapshot, counted=True)
        self._targets.add(target_values(snapshot))

    def as_json(self) -> Json | None:
        """The step's entry in ``steps``, with the worst of several machines under test; ``None`` before anything was
        counted."""
        last, before = self._last, self._before
        if last is None:
            return None
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
        }


def _since(last: int | None, before: int | None) -> int | None:
    return None if last is None else last - (before or 0)
