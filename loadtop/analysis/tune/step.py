"""The steps of a sweep: what the load and the machines under test did while each was steady."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from loadtop.analysis.totals.load import latency_json
from loadtop.analysis.totals.steps import TargetFigures, swap_traffic, targets
from loadtop.analysis.tune.servers import Pool, pools
from loadtop.analysis.tune.steady_state import Pulse, Window, window_of
from loadtop.diagnosis.finding import NONE, Finding
from loadtop.i18n import Message
from loadtop.model import Distribution, LoadSample, LoadState
from loadtop.model.histogram import merge
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView

Json = dict[str, Any]

SWAP_KB_S = 40.0
"""kB/s in and out together from which a step swaps: the threshold of the ``swap`` verdict (atop: 10 pages/s)."""

FAILING = 0.10
"""Share of requests that failed or got no 2xx from which a step fails; our own, well below the ``errors`` verdict."""


@dataclass(frozen=True, slots=True)
class Beat:
    """One interval of a step: the moment at its end, and how many requests ended in it."""

    snapshot: Snapshot
    load: LoadSample
    requests: int
    failed: int
    non_2xx: int
    seconds: float

    @classmethod
    def between(cls, before: LoadSample, load: LoadSample, snapshot: Snapshot) -> "Beat | None":
        """The interval between two samples; ``None`` where requests were not counted, or anew."""
        if load.requests is None or before.requests is None or load.requests < before.requests:
            return None
        return cls(
            snapshot,
            load,
            load.requests - before.requests,
            (load.failed or 0) - (before.failed or 0),
            (load.non_2xx or 0) - (before.non_2xx or 0),
            load.elapsed_s - before.elapsed_s,
        )

    @property
    def pulse(self) -> Pulse:
        return Pulse(self.requests, self.seconds)


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step while it was steady. Times in seconds, shares of time in percent, ``swap_kb_s`` in and out together.

    Where several machines serve the load, ``idle``, ``iowait`` and what concerns swap are the worst of them
    (:class:`TargetFigures`). What the sizing needs is of one machine, the first: ``pools`` hold means over the step;
    ``room_kb`` is the memory that the servers have together: what they take and what is free, or the limit of their
    control group; ``used`` is the share of the processors. What was not measured is ``None``.
    """

    concurrency: int
    at_s: float
    seconds: float
    requests: int
    failed: int
    non_2xx: int
    steady: bool
    drift: float
    latency: Distribution
    idle: float | None
    iowait: float | None
    swap_used: float | None
    swap_kb_s: float | None
    verdict: Finding
    pools: tuple[Pool, ...]
    room_kb: float | None
    limited_by_cgroup: bool
    used: float | None = None

    @property
    def rps(self) -> float:
        return self.requests / self.seconds if self.seconds > 0 else 0.0

    @property
    def bottleneck(self) -> str:
        return self.verdict.bottleneck

    @property
    def fails(self) -> bool:
        return self.requests == 0 or max(self.failed, self.non_2xx) > FAILING * self.requests

    @property
    def swaps(self) -> bool:
        """Whether it is felt: the traffic alone may be that of something else on the machine."""
        return self.bottleneck == "swap" and (self.swap_kb_s is None or self.swap_kb_s > SWAP_KB_S)

    @property
    def busy(self) -> int | None:
        """Busy slots of the first Apache."""
        return next((pool.busy for pool in self.pools if not pool.name), None)

    def as_json(self) -> Json:
        """The step's entry in ``steps`` of the JSON summary."""
        return {
            "concurrency": self.concurrency,
            "rate": None,
            "requests": self.requests,
            "failed": self.failed,
            "time_s": round(self.seconds, 3),
            "rps": round(self.rps, 3) if self.seconds > 0 else None,
            "latency_ms": latency_json(self.latency),
            "idle_pct": self.idle,
            "iowait_pct": self.iowait,
            "swap_used_pct": self.swap_used,
            "bottleneck": str(self.bottleneck),
            "swap_kb_s": self.swap_kb_s,
            "busy": self.busy,
            "steady": self.steady,
        }


def window(beats: Sequence[Beat], *, aftermath: bool = False) -> Window | None:
    """Which of the beats count; ``None`` while there are too few.

    In the ``aftermath`` of a step that swapped, what was swapped out must come back first: that traffic is not this
    step's, unless it never ends.
    """
    if not beats:
        return None
    swapping = [index for index, beat in enumerate(beats) if _swaps(beat.snapshot)]
    settled = swapping[-1] if aftermath and swapping else 0
    still = settled == len(beats) - 1
    pulses = [beat.pulse for beat in beats]
    found = window_of(pulses if still else pulses[settled:], beats[-1].load.concurrency or 1)
    if found is not None:
        return found if still else replace(found, first=found.first + settled)
    found = window_of(pulses, beats[-1].load.concurrency or 1)
    return None if found is None else replace(found, steady=False)


def measure(beats: Sequence[Beat], *, aftermath: bool = False) -> StepResult | None:
    """The result of a step from all its beats; ``None`` where it was too short to tell anything."""
    found = window(beats, aftermath=aftermath)
    if found is None:
        return None
    part = beats[found.first :]
    figures = TargetFigures()
    for beat in part:
        figures.add(beat.snapshot)
    worst, first = figures.worst, figures.first
    hosts = [host for beat in part for host in targets(beat.snapshot)[:1]]
    rooms = [room for host in hosts if (room := _room(host)) is not None]
    return StepResult(
        concurrency=part[-1].load.concurrency or 0,
        at_s=part[-1].snapshot.at,
        seconds=sum(beat.seconds for beat in part),
        requests=sum(beat.requests for beat in part),
        failed=sum(beat.failed for beat in part),
        non_2xx=sum(beat.non_2xx for beat in part),
        steady=found.steady,
        drift=found.drift,
        latency=merge(beat.load.latencies.total for beat in part if beat.load.latencies is not None),
        idle=worst.idle,
        iowait=worst.iowait,
        swap_used=worst.swap_used,
        swap_kb_s=worst.swap_kb_s,
        verdict=_verdict(part, worst.swap_kb_s),
        pools=_mean_pools([pools(host) for host in hosts]),
        room_kb=min((room for room, _ in rooms), default=None),
        limited_by_cgroup=any(limited for _, limited in rooms),
        used=None if first is None or first.idle is None else 100.0 - first.idle - (first.iowait or 0.0),
    )


def _swaps(snapshot: Snapshot) -> bool:
    """Whether a machine under test swaps."""
    return any((swap_traffic(host) or 0.0) > SWAP_KB_S for host in targets(snapshot))


def _verdict(part: Sequence[Beat], swap_kb_s: float | None) -> Finding:
    """What held most often in the later half: a finding is raised, and dropped, a few intervals late.

    A ``swap`` that is only not cleared yet, by the rest of a step before, is passed over.
    """
    over = swap_kb_s is not None and swap_kb_s <= SWAP_KB_S
    later = [
        _without_swap(beat.snapshot) if over else beat.snapshot.diagnosis.verdict for beat in part[len(part) // 2 :]
    ]
    counts = Counter((finding.bottleneck, finding.host) for finding in later)
    most = max(counts.values())
    return next(f for f in reversed(later) if counts[f.bottleneck, f.host] == most)


def _without_swap(snapshot: Snapshot) -> Finding:
    """The verdict were it not for ``swap``."""
    diagnosis = snapshot.diagnosis
    if diagnosis.verdict.bottleneck != "swap":
        return diagnosis.verdict
    others = (finding for finding in diagnosis.findings if finding.bottleneck != "swap")
    return next(others, Finding(NONE, None, 0.0, snapshot.at, 0.0, (), Message("There is headroom.")))


def _room(host: HostView) -> tuple[float, bool] | None:
    """Memory in kB that the servers of a machine have, and whether a control group sets it."""
    sample = host.sample
    if sample is None:
        return None
    known = [pool.memory_kb for pool in pools(host)]
    taken = sum(memory for memory in known if memory is not None)
    available = None if sample.memory is None else sample.memory.available_kb
    free = None if available is None or not taken else available + taken
    limit = None if sample.cgroup is None else sample.cgroup.memory_limit_kb
    if limit is not None and (free is None or limit < free):
        return float(limit), True
    return None if free is None else (float(free), False)


def _mean_pools(seen: Sequence[tuple[Pool, ...]]) -> tuple[Pool, ...]:
    """Each pool with the means of what changes; the newest of what does not."""
    found: dict[str, list[Pool]] = {}
    for each in seen:
        for pool in each:
            found.setdefault(f"{pool.group} {pool.name}", []).append(pool)
    return tuple(_mean_pool(part) for part in found.values())


def _mean_pool(part: Sequence[Pool]) -> Pool:
    newest = part[-1]
    rss = [pool.rss_kb for pool in part if pool.rss_kb is not None]
    shared = [pool.shared_kb for pool in part if pool.shared_kb is not None]
    return Pool(
        newest.group,
        newest.name,
        newest.manager,
        newest.capacity,
        round(_mean([pool.started for pool in part])),
        round(_mean([pool.busy for pool in part])),
        max(pool.busy_most for pool in part),
        newest.threads_per_child,
        newest.processes,
        round(_mean(rss)) if rss else None,
        _mean(shared) if rss and 2 * len(shared) >= len(rss) else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


class Sweep:
    """Takes every moment once, in order. Only the step that runs is kept in full.

    A step begins where the sample's ``step`` changes. ``results`` are those of steps that ended.
    """

    def __init__(self, most_beats: int | None = None) -> None:
        """``most_beats`` bounds what is kept of the step that runs to its newest intervals."""
        self._most_beats = most_beats
        self.results: list[StepResult] = []
        self.beats: list[Beat] = []
        self._before: LoadSample | None = None

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        load = snapshot.measured.load
        if load is None or load.state in (LoadState.STARTING, LoadState.WARMUP):
            return
        before, self._before = self._before, load
        if before is None or before.state.ended:
            return
        beat = Beat.between(before, load, snapshot)
        if beat is None:
            return
        if load.step != before.step or load.concurrency != before.concurrency:
            self.end_step()
        if load.state.ended:
            self.end_step()
        else:
            self.beats.append(beat)
            if self._most_beats is not None and len(self.beats) > self._most_beats:
                del self.beats[0]

    def end_step(self) -> None:
        """Book the step that ran, if it was long enough to tell anything."""
        result = measure(self.beats, aftermath=self.aftermath)
        if result is not None:
            self.results.append(result)
        self.beats = []

    @property
    def running(self) -> StepResult | None:
        """The step that runs, as far as it is measured."""
        return measure(self.beats, aftermath=self.aftermath)

    @property
    def aftermath(self) -> bool:
        """Whether the step before the one that runs swapped."""
        return bool(self.results) and self.results[-1].swaps
