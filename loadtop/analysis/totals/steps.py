"""The steps of a load, each with what the machines under test did meanwhile."""

from typing import Any, NamedTuple

from loadtop.analysis.totals.load import latency_json
from loadtop.analysis.totals.statistic import Statistic
from loadtop.analysis.totals.timeline import Timeline
from loadtop.model import LoadSample
from loadtop.model.histogram import EMPTY, merge
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import swap_used


class Figures(NamedTuple):
    """Of one interval, or the means of some: percent, and kB/s in and out together. ``None``: not measured."""

    idle: float | None
    iowait: float | None
    swap_used: float | None
    swap_kb_s: float | None


_WORST = (min, max, max, max)


def targets(snapshot: Snapshot) -> tuple[HostView, ...]:
    """The machines under test that are watched."""
    return tuple(host for host in snapshot.measured.hosts if "target" in host.state.role)


def swap_traffic(host: HostView) -> float | None:
    """kB/s in and out together."""
    paging = None if host.rates is None else host.rates.paging
    if paging is None or paging.swap_in_kb is None or paging.swap_out_kb is None:
        return None
    return paging.swap_in_kb + paging.swap_out_kb


class TargetFigures:
    """Adds intervals up, each machine by itself."""

    def __init__(self) -> None:
        self._machines: dict[str, tuple[Statistic, ...]] = {}

    def add(self, snapshot: Snapshot) -> None:
        """Count one interval."""
        for host in targets(snapshot):
            cpu = None if host.rates is None else host.rates.cpu
            idle, iowait = (None, None) if cpu is None else (cpu.idle, cpu.iowait)
            found = Figures(idle, iowait, swap_used(host), swap_traffic(host))
            if host.name not in self._machines:
                self._machines[host.name] = tuple(Statistic() for _ in found)
            for statistic, value in zip(self._machines[host.name], found, strict=True):
                statistic.add(value)

    @property
    def worst(self) -> Figures:
        """Each figure of the machine where it is worst: the least idle, the most iowait, the most swap in use, the most
        swap traffic. One that is full is not hidden by others that are not."""
        machines = list(map(_means, self._machines.values()))
        known = ([mean for means in machines if (mean := means[each]) is not None] for each in range(len(_WORST)))
        return Figures._make(choose(means, default=None) for choose, means in zip(_WORST, known, strict=True))

    @property
    def first(self) -> Figures | None:
        """Of the first machine, where there is one."""
        return next(map(_means, self._machines.values()), None)


def _means(statistics: tuple[Statistic, ...]) -> Figures:
    return Figures._make(statistic.mean for statistic in statistics)


Json = dict[str, Any]


class StepSummary:
    """Adds up the intervals of one step, from ``start`` on. An interval belongs to the step in which it ended."""

    def __init__(self, before: LoadSample | None, start: float) -> None:
        self._before = before
        self._last: LoadSample | None = None
        self._latency = EMPTY
        self._timeline = Timeline(start)
        self._targets = TargetFigures()

    def add(self, snapshot: Snapshot, sample: LoadSample) -> None:
        """Count one interval."""
        self._last = sample
        if sample.latencies is not None:
            self._latency = merge((self._latency, sample.latencies.total))
        self._timeline.add(snapshot, counted=True)
        self._targets.add(snapshot)

    def as_json(self) -> Json | None:
        """The step's entry in ``steps``; ``None`` before anything was counted. Of several machines under test the worst
        is told (:class:`TargetFigures`)."""
        last, before = self._last, self._before
        if last is None:
            return None
        requests = _since(last.requests, None if before is None else before.requests)
        failed = _since(last.failed, None if before is None else before.failed)
        seconds = last.elapsed_s - (before.elapsed_s if before else 0.0)
        verdict = self._timeline.longest()
        worst = self._targets.worst
        return {
            "concurrency": last.concurrency,
            "rate": last.rate,
            "requests": requests,
            "failed": failed,
            "time_s": round(seconds, 6),
            "rps": round(requests / seconds, 3) if requests is not None and seconds > 0 else None,
            "latency_ms": latency_json(self._latency),
            "idle_pct": worst.idle,
            "iowait_pct": worst.iowait,
            "swap_used_pct": worst.swap_used,
            "bottleneck": None if verdict is None else str(verdict[0].bottleneck),
        }


def _since(last: int | None, before: int | None) -> int | None:
    """How far a counter has moved since the step before; that one counted nothing where there was none."""
    return None if last is None else last - (before or 0)
