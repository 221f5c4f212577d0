"""The steps of a sweep over concurrencies: what the load and the machines under test did while each was steady."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.statistic import Json, TargetMeans, TargetValues, latency_json, target_values, targets
from loadtop.diagnosis.finding import NONE, Finding
from loadtop.diagnosis.memory import TRAFFIC_KB_S
from loadtop.i18n import Message
from loadtop.model import OTHER, Distribution, HostSample, LoadSample, LoadState
from loadtop.model.histogram import merge
from loadtop.model.server import Role
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import HostRates
from loadtop.servers.kind import WorkerPool
from loadtop.servers.registry import KINDS, WORKERS

FAILING = 0.10  # share of requests failed or not 2xx from which a step fails; our own, well below the errors verdict
SKIPPED = 1  # intervals at the start of a step that never count: the change of the load falls into the first
DRIFT = 0.10  # relative difference of the mean throughput of both halves of a window below which it is steady; our own
MOST_DRIFT = 0.5  # the greatest drift that counting whole requests can explain; our own
LEAST_INTERVALS = 4  # intervals in a window: two in each half
PER_CONNECTION = 2  # requests that must have ended per connection, so that each has served this load at least once


class Window(NamedTuple):
    """The intervals of a step that count: from index ``first`` on."""

    first: int
    steady: bool


class Interval(Struct, frozen=True):
    """One interval of a step, which ended at ``at`` on the session's axis: the requests that ended in it, and what the
    machines under test did. ``pools``, ``room_kb`` and ``others`` are those of the first machine. ``seconds`` is its
    length."""

    at: float
    concurrency: int
    requests: int
    failed: int
    non_2xx: int
    seconds: float
    latency: Distribution | None
    findings: tuple[Finding, ...]
    targets: dict[str, TargetValues]
    pools: tuple[WorkerPool, ...]
    room_kb: float | None
    others: float = 0.0

    @classmethod
    def between(cls, before: LoadSample, load: LoadSample, snapshot: Snapshot) -> "Interval | None":
        """The interval between two samples; ``None`` where requests were not counted, or counted from 0 again."""
        if load.requests is None or before.requests is None or load.requests < before.requests:
            return None
        first = next(iter(targets(snapshot)), None)
        found = () if first is None else worker_pools(first)
        verdict, findings = snapshot.diagnosis.verdict, snapshot.diagnosis.findings
        return cls(
            snapshot.at,
            load.concurrency or 0,
            load.requests - before.requests,
            (load.failed or 0) - (before.failed or 0),
            (load.non_2xx or 0) - (before.non_2xx or 0),
            load.elapsed_s - before.elapsed_s,
            None if load.latencies is None else load.latencies.total,
            (verdict, *(each for each in findings if each != verdict)),
            target_values(snapshot),
            found,
            None if first is None or first.sample is None else _room(first.sample, found),
            0.0 if first is None or first.rates is None else _others(first.rates),
        )

    @property
    def swaps(self) -> bool:
        return any((values.swap_kb_s or 0.0) > TRAFFIC_KB_S for values in self.targets.values())


class StepResult(Struct, frozen=True):
    """A step while it was steady. Times in seconds, shares of time in percent, ``swap_kb_s`` in and out together.

    Where several machines serve the load, ``idle``, ``iowait`` and swap are those of the worst. What the sizing
    needs is of the first machine: ``pools`` hold means over the step; ``room_kb`` is the memory that servers can
    have there: what they take and what is free, or the limit of their control group; ``used`` is the share of the
    processors, and ``others`` that of programs that are no servers. What was not measured is ``None``.
    """

    concurrency: int
    at_s: float
    seconds: float
    requests: int
    failed: int
    non_2xx: int
    steady: bool
    latency: Distribution
    idle: float | None
    iowait: float | None
    swap_used: float | None
    swap_kb_s: float | None
    verdict: Finding
    pools: tuple[WorkerPool, ...]
    room_kb: float | None
    used: float | None = None
    others: float = 0.0

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
        """Whether swapping limits the step: the traffic alone may be that of something else on the machine."""
        return self.bottleneck == "swap" and (self.swap_kb_s is None or self.swap_kb_s > TRAFFIC_KB_S)

    @property
    def busy(self) -> int | None:
        return next((pool.busy for pool in self.pools if not pool.name), None)

    def as_json(self) -> Json:
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


class Sweep:
    """Takes every snapshot once, in order, live or from a recording. Only the running step is kept in full.

    A step begins where the sample's ``step`` or its concurrency changes. ``results`` are those of steps that ended.
    ``most_intervals`` bounds the running step to its newest intervals.
    """

    def __init__(self, most_intervals: int | None = None) -> None:
        self._most_intervals = most_intervals
        self.results: list[StepResult] = []
        self.intervals: list[Interval] = []
        self.step_at = 0.0  # when the first interval of the running step ended, in seconds of the session
        self._before: LoadSample | None = None

    def add(self, snapshot: Snapshot) -> None:
        load = snapshot.load
        if load is None or load.state in (LoadState.STARTING, LoadState.WARMUP):
            return
        before, self._before = self._before, load
        if before is None or before.state.ended:
            return
        if load.step != before.step or load.concurrency != before.concurrency or load.state.ended:
            self.end_step()
        interval = None if load.state.ended else Interval.between(before, load, snapshot)
        if interval is not None:
            if not self.intervals:
                self.step_at = interval.at
            self.intervals.append(interval)
            if len(self.intervals) == (self._most_intervals or -1) + 1:
                del self.intervals[0]

    def end_step(self) -> None:
        """Finish the running step, and keep its result where it was long enough to measure anything."""
        if (result := self.running) is not None:
            self.results.append(result)
        self.intervals = []

    @property
    def running(self) -> StepResult | None:
        return measure(self.intervals, after_swapping=self.after_swapping)

    @property
    def after_swapping(self) -> bool:
        return bool(self.results) and self.results[-1].swaps


def window(intervals: Sequence[Interval], *, after_swapping: bool) -> Window | None:
    """The intervals that count; ``None`` while there are too few.

    After a step that swapped, what was swapped out must come back first: that traffic is not this step's, unless it
    never ends.
    """
    if not intervals:
        return None
    connections = intervals[-1].concurrency or 1
    served = [(interval.requests, interval.seconds) for interval in intervals]
    swapping = [index for index, interval in enumerate(intervals) if interval.swaps] if after_swapping else []
    settled = swapping[-1] if swapping and swapping[-1] < len(intervals) - 1 else 0
    found = steady_window(served[settled:], connections)
    if found is not None:
        return found._replace(first=found.first + settled)
    found = steady_window(served, connections)
    return None if found is None else found._replace(steady=False)


def steady_window(served: Sequence[tuple[int, float]], connections: int) -> Window | None:
    """The longest stretch at the end of a step over which throughput does not drift; ``served`` are the requests that
    ended in each interval, and its length in seconds.

    Where there is none, the later half of the step, as not steady; ``None`` before there is enough to judge.
    """
    last = len(served) - LEAST_INTERVALS
    if last < SKIPPED:
        return None
    for first in range(SKIPPED, last + 1):
        if _is_steady(served[first:], connections):
            return Window(first, steady=True)
    return Window(min(last, max(SKIPPED, len(served) // 2)), steady=False)


def _is_steady(part: Sequence[tuple[int, float]], connections: int) -> bool:
    """Whether both halves have the same mean throughput; the odd interval in the middle belongs to none.

    A drift up to ``DRIFT`` counts as none, or one that counting whole requests alone can cause: connections answered
    together end in one interval or in the next, and where few requests end, each of them weighs.
    """
    if sum(requests for requests, _ in part) < PER_CONNECTION * connections:
        return False
    half = len(part) // 2
    halves = [[sum(column) for column in zip(*each, strict=True)] for each in (part[:half], part[-half:])]
    slow, fast = sorted(requests / seconds if seconds > 0 else 0.0 for requests, seconds in halves)
    drift = (fast - slow) / fast if fast > 0 else 0.0
    fewest = min(requests for requests, _ in halves)
    if fewest <= 0:
        return drift <= DRIFT
    together = min(1.0, connections / fewest) if fewest < 8 * connections else 0.0
    return drift <= max(DRIFT, min(MOST_DRIFT, max(together, 1 / math.sqrt(fewest))))


def measure(intervals: Sequence[Interval], *, after_swapping: bool) -> StepResult | None:
    """The result of a step from all its intervals; ``None`` where it was too short to measure anything."""
    found = window(intervals, after_swapping=after_swapping)
    if found is None:
        return None
    part = intervals[found.first :]
    means = TargetMeans()
    for interval in part:
        means.add(interval.targets)
    worst, first = means.worst, next(iter(means.machines), TargetValues())
    return StepResult(
        concurrency=part[-1].concurrency,
        at_s=part[-1].at,
        seconds=sum(interval.seconds for interval in part),
        requests=sum(interval.requests for interval in part),
        failed=sum(interval.failed for interval in part),
        non_2xx=sum(interval.non_2xx for interval in part),
        steady=found.steady,
        latency=merge(interval.latency for interval in part if interval.latency is not None),
        idle=worst.idle,
        iowait=worst.iowait,
        swap_used=worst.swap_used,
        swap_kb_s=worst.swap_kb_s,
        verdict=_verdict(part, worst.swap_kb_s),
        pools=_mean_pools(interval.pools for interval in part),
        room_kb=min((interval.room_kb for interval in part if interval.room_kb is not None), default=None),
        used=None if first.idle is None else 100.0 - first.idle - (first.iowait or 0.0),
        others=sum(interval.others for interval in part) / len(part),
    )


def _verdict(part: Sequence[Interval], swap_kb_s: float | None) -> Finding:
    """The verdict of most intervals in the later half: a finding is raised, and cleared, a few intervals late. A
    ``swap`` left over from the step before is disregarded."""
    over = swap_kb_s is not None and swap_kb_s <= TRAFFIC_KB_S
    later: list[Finding] = []
    for each in part[len(part) // 2 :]:
        calm = Finding(NONE, None, 0.0, each.at, 0.0, (), Message("There is headroom."))
        later.append(next((found for found in each.findings if not over or found.bottleneck != "swap"), calm))
    counts = Counter((finding.bottleneck, finding.host) for finding in later)
    most = max(counts.values())
    return next(f for f in reversed(later) if counts[f.bottleneck, f.host] == most)


def _others(rates: HostRates) -> float:
    """Percent of the processors that programs take which are neither servers nor loadtop's."""
    taken = sum(each.cpu or 0.0 for each in rates.processes or () if each.process.group == OTHER)
    return taken / max(1, len(rates.cores))


_GROUPS = {kind.name: kind.group for kind in KINDS}


def worker_pools(host: HostView) -> tuple[WorkerPool, ...]:
    """The pools of the machine in its newest interval, those nearest to the data first."""
    processes = [] if host.rates is None else [row.process for row in host.rates.processes or ()]
    found: list[WorkerPool] = []
    for kind in sorted(KINDS, key=lambda kind: list(Role).index(kind.role), reverse=True):
        if kind.name in WORKERS:
            own = [process for process in processes if process.group == kind.group]
            found += WORKERS[kind.name].pools(kind.rates(host.rates), own)
    return tuple(found)


def _room(sample: HostSample, found: Collection[WorkerPool]) -> float | None:
    """The memory that servers can have, in kB; see :class:`StepResult`."""
    taken = sum(pool.memory_kb for pool in found if pool.memory_kb is not None)
    available = None if sample.memory is None else sample.memory.available_kb
    free = None if available is None or not taken else available + taken
    groups = (sample.cgroup_of(_GROUPS[pool.kind]) for pool in found)
    limits = (each.memory_limit_kb for each in groups if each is not None)
    return min((float(each) for each in (free, *limits) if each is not None), default=None)


def _mean_pools(seen: Iterable[tuple[WorkerPool, ...]]) -> tuple[WorkerPool, ...]:
    """Each pool with the means of what changes, and the newest of what does not."""
    found = defaultdict[tuple[str, str], list[WorkerPool]](list)
    for pools in seen:
        for pool in pools:
            found[pool.kind, pool.name].append(pool)
    return tuple(map(_mean_pool, found.values()))


def _mean_pool(part: Sequence[WorkerPool]) -> WorkerPool:
    rss = [pool.rss_kb for pool in part if pool.rss_kb is not None]
    shared = [pool.shared_kb for pool in part if pool.shared_kb is not None]
    return replace(
        part[-1],
        started=round(fmean(pool.started for pool in part)),
        busy=round(fmean(pool.busy for pool in part)),
        busy_most=max(pool.busy_most for pool in part),
        rss_kb=round(fmean(rss)) if rss else None,
        shared_kb=fmean(shared) if rss and 2 * len(shared) >= len(rss) else None,
    )
