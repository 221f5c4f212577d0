"""The metrics of a test over time, in bounded memory however long it was: for charts and for comparisons."""

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isnan, nan

from msgspec import Struct, field
from msgspec.structs import replace

from loadtop.analysis.statistic import Statistic
from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.timeline import counts
from loadtop.diagnosis.breakdown import Breakdown, read_apart
from loadtop.model import LoadLevel, LoadSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import RULE_METRICS
from loadtop.servers.registry import HOST_METRICS, KINDS

Key = tuple[str, str]  # of what (LOAD or a machine) and the metric's name

POINTS = 1200
"""Points beyond which neighbours become one (batch means: A. M. Law, Simulation Modeling and Analysis). In a test of
20 minutes at 1 s every interval is a point; a page is not more pixels wide."""

COMPARED = ("rps", "failed", "non_2xx", "received_kb_s", "p50", "p90", "p99")
"""The metrics of the load that ``compare`` shows: more percentiles would say the same. A rule about a baseline may
compare any."""

PEAKS = {"p50_peak": "p50", "p95_peak": "p95", "p99_peak": "p99"}  # the greatest value of a point, not the mean

CHARTED = {line.name: line.read for kind in KINDS for chart in kind.charts for line in chart.lines}
"""Series of a machine's servers that are only drawn."""

BREAKDOWN = "response time"
"""Of what the series are that :func:`part_series` names, with those of the mean time (:data:`MEAN_MS`) and of what
remains unexplained (:data:`UNEXPLAINED_MS`)."""
MEAN_MS, UNEXPLAINED_MS = "mean_ms", "unexplained_ms"
MOST_PARTS = 64  # series of parts that are kept: locks and addresses may be new in each interval

_METRICS = {metric.name: metric.read for metric in RULE_METRICS}
_READ = _METRICS | {peak: _METRICS[name] for peak, name in PEAKS.items()}

_GREATEST = (1 << 63) - 1


def part_series(part: str, host: str | None, name: str | None) -> str:
    """The name of the series of one part of the breakdown, in ms."""
    return "\t".join((part, host or "", name or ""))


class Series(Struct):
    """A value of every metric for each point: the mean of up to ``width`` intervals of one step, of which ``counts``
    says how many. The first interval of a step stays a point of its own; the last one, which the end of the load cuts
    short, goes into the point before, with the weight of its length. What was not measured is ``None``.

    ``at`` are the ends of the points in seconds of the session; ``loaded`` says in which of them load ran, without
    warm-up. ``began`` is when load began, ``ended`` whether its end is in the series; ``loads`` is what ran in each
    step (``c=20``, ``50/s``), as far as it is known. ``values`` are listed by :data:`LOAD`, :data:`BREAKDOWN` or
    machine, and by the metric's name.
    """

    began: float = 0.0
    ended: bool = False
    width: int = 1
    at: list[float] = field(default_factory=list[float])
    steps: list[int] = field(default_factory=list[int])
    loaded: list[bool] = field(default_factory=list[bool])
    counts: list[int] = field(default_factory=list[int])
    loads: dict[int, str] = field(default_factory=dict[int, str])
    values: dict[str, dict[str, list[float | None]]] = field(default_factory=dict[str, dict[str, list[float | None]]])

    def of(self, subject: str, name: str) -> list[float | None]:
        return self.values.get(subject, {}).get(name) or [None] * len(self.at)

    @property
    def is_whole(self) -> bool:
        values = (len(found) for known in self.values.values() for found in known.values())
        return {len(self.steps), len(self.loaded), len(self.counts), *values} <= {len(self.at)}

    @property
    def duration(self) -> float:
        return next((self.at[i] - self.began for i in reversed(range(len(self.at))) if self.loaded[i]), 0.0)


class SeriesTotals:
    """Values are kept as arrays of numbers, with NaN for what was not measured: lists of floats take four times as much
    memory, which grows until there are :data:`POINTS`."""

    def __init__(self) -> None:
        self._series = Series()  # without its values
        self._values = defaultdict[str, dict[str, "array[float]"]](dict)
        self._most = POINTS
        self._newest = defaultdict[Key, Statistic](Statistic)  # what is in the newest point
        self._parts: dict[str, str] = {}  # series of the breakdown
        self._before: LoadSample | None = None
        self._seconds = 0.0  # how long load ran in the newest interval

    @property
    def series(self) -> Series:
        """All that was added so far."""
        values = {
            of: {name: [None if isnan(value) else value for value in found] for name, found in known.items()}
            for of, known in self._values.items()
        }
        return replace(self._series, values=values)

    @property
    def duration(self) -> float:
        return self._series.duration

    def add(self, snapshot: Snapshot) -> None:
        load, series = snapshot.load, self._series
        loaded = counts(load, self._before)
        if loaded and not any(series.loaded):
            series.began = series.at[-1] if series.at else 0.0
        step = 0 if load is None else _bounded(load.step)
        rates = snapshot.measured.load_rates
        seconds, weight = 0.0 if rates is None else rates.seconds, 1.0
        series.ended = load is not None and load.state.ended
        if series.ended and loaded and series.at and (series.steps[-1], series.loaded[-1]) == (step, loaded):
            weight = min(1.0, seconds / self._seconds) if self._seconds else 1.0
        else:
            self._make_room(step, loaded)
        series.at[-1] = snapshot.at
        self._read(snapshot, loaded, weight)
        self._before, self._seconds = load, seconds

    def _make_room(self, step: int, loaded: bool) -> None:
        """Put an interval into the last point, or begin a point for it."""
        series = self._series
        if not self._has_room(step, loaded) and len(series.at) >= self._most:
            self._halve()
        if self._has_room(step, loaded):
            series.counts[-1] += 1
            return
        series.at.append(0.0)
        series.steps.append(step)
        series.loaded.append(loaded)
        series.counts.append(1)
        for known in self._values.values():
            for values in known.values():
                values.append(nan)
        self._newest.clear()

    def _has_room(self, step: int, loaded: bool) -> bool:
        series = self._series
        last = len(series.at) - 1
        if last < 0 or self._is_first(last):
            return False
        return (series.steps[last], series.loaded[last]) == (step, loaded) and series.counts[last] < series.width

    def _is_first(self, point: int) -> bool:
        """Whether a step, or the load, begins or ends with this point."""
        steps, loaded, before = self._series.steps, self._series.loaded, point - 1
        return before < 0 or steps[point] != steps[before] or loaded[point] != loaded[before]

    def _read(self, snapshot: Snapshot, loaded: bool, weight: float) -> None:
        load = snapshot.load
        if load is not None:
            if loaded and not load.state.ended:
                label = LoadLevel.of(load).label
                if label:
                    self._series.loads.setdefault(_bounded(load.step), label)
            for name, read in _READ.items():
                self._put((LOAD, name), read(snapshot.measured), weight)
            rates = snapshot.measured.load_rates
            self._put((LOAD, "failed_s"), None if rates is None else rates.failed, weight)
        if snapshot.breakdown is not None:
            self._read_breakdown(snapshot.breakdown, weight)
        for host in snapshot.measured.hosts:
            if host.rates is not None:
                for known in HOST_METRICS:
                    self._put((host.name, known.name), known.read(host), weight)
                for name, chart in CHARTED.items():
                    self._put((host.name, name), chart(host.rates), weight)

    def _read_breakdown(self, found: Breakdown, weight: float) -> None:
        """A part that is missing in an interval took no time there, unless it was not measured."""
        if found.shares is None:
            return
        self._put((BREAKDOWN, MEAN_MS), found.mean_ms, weight)
        self._put((BREAKDOWN, UNEXPLAINED_MS), found.unexplained_ms, weight)
        unknown = {share.part for share in found.shares if share.ms is None}
        now = {part_series(share.part, share.host, share.name): share for share in found.shares if share.ms is not None}
        for name, share in now.items():
            if name not in self._parts and len(self._parts) < MOST_PARTS:
                self._parts[name] = read_apart(share.part, share.name) or share.part
                before = self._values[BREAKDOWN][MEAN_MS]
                self._values[BREAKDOWN][name] = array("d", (nan if isnan(mean) else 0.0 for mean in before))
        for name, part in self._parts.items():
            if part not in unknown:
                self._put((BREAKDOWN, name), now[name].ms if name in now else 0.0, weight)

    def _put(self, key: Key, value: float | None, weight: float) -> None:
        if value is None or isnan(value) or not weight:
            return
        of, name = key
        known = self._values[of]
        if name not in known:
            known[name] = array("d", [nan]) * len(self._series.at)
        statistic = self._newest[key]
        statistic.add(value, weight)
        known[name][-1] = statistic.highest if name in PEAKS else statistic.total / statistic.count

    def _halve(self) -> None:
        """Make one point of every two. With very many steps that frees little, so more points are allowed then."""
        series, pairs = self._series, list(self._pairs())
        for known in self._values.values():
            for name, values in known.items():
                known[name] = array("d", (self._joined(values, i, j, peak=name in PEAKS) for i, j in pairs))
        series.at = [series.at[j] for _, j in pairs]
        series.counts = [sum(series.counts[i : j + 1]) for i, j in pairs]
        series.steps = [series.steps[i] for i, _ in pairs]
        series.loaded = [series.loaded[i] for i, _ in pairs]
        series.width *= 2
        self._most = POINTS if len(pairs) <= 3 * POINTS // 4 else 2 * len(pairs)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """The points that become one, first and last: neighbours within a step, but for its first."""
        i, end = 0, len(self._series.at)
        while i < end:
            alone = self._is_first(i) or i + 1 == end or self._is_first(i + 1)
            yield i, i if alone else i + 1
            i += 1 if alone else 2

    def _joined(self, values: Sequence[float], i: int, j: int, *, peak: bool) -> float:
        one, other, counts = values[i], values[j], self._series.counts
        if i == j or isnan(one) or isnan(other):
            return other if isnan(one) else one
        if peak:
            return max(one, other)
        return (one * counts[i] + other * counts[j]) / (counts[i] + counts[j])


def _bounded(step: int) -> int:
    """A step's number in 64 bits: a recording that was made up may have any."""
    return max(-_GREATEST, min(step, _GREATEST))
