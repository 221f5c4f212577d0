"""The metrics of a test over time, in bounded memory however long it was: for charts and for comparisons."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from loadtop.analysis.totals.load import counts
from loadtop.analysis.totals.settings import LOAD
from loadtop.model import LoadSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS
from loadtop.servers.registry import HOST_METRICS, KINDS

Key = tuple[str, str]
"""Of what (:data:`LOAD` or a machine) and the metric's name."""

POINTS = 1200
"""Points beyond which neighbours become one (batch means: A. M. Law, Simulation Modeling and Analysis). In a test of
20 minutes at 1 s every interval is a point; a page is not more pixels wide."""

COMPARED = ("rps", "failed", "non_2xx", "received_kb_s", "p50", "p90", "p99")
"""The metrics of the load that are compared: more percentiles would say the same."""

PEAKS = {"p50_peak": "p50", "p95_peak": "p95", "p99_peak": "p99"}
"""Series that keep the greatest value of their metric in a point instead of the mean."""

CHARTED = {line.name: line.read for kind in KINDS for chart in kind.report.charts for line in chart.lines}
"""Series of a machine's servers that are only drawn."""

_READ = {m.name: m.read for m in LOAD_METRICS if m.name in COMPARED or m.name in PEAKS.values()}

_GREATEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class SeriesData:
    """A :class:`Series` as plain lists: what is stored of a finished test."""

    began: float
    ended: bool
    width: int
    at: list[float]
    steps: list[int]
    loaded: list[bool]
    counts: list[int]
    loads: dict[int, str]
    values: dict[str, dict[str, list[float | None]]]

    def of(self, subject: str, name: str) -> list[float | None]:
        return self.values.get(subject, {}).get(name) or [None] * len(self.at)

    @property
    def is_whole(self) -> bool:
        values = (len(found) for known in self.values.values() for found in known.values())
        return {len(self.steps), len(self.loaded), len(self.counts), *values} <= {len(self.at)}


class Series:
    """Takes the snapshots of a test in order and keeps a value of every metric for each point.

    A point is the mean of up to ``width`` intervals of one step; the first interval of a step stays a point of its own.
    ``at`` are the ends of the points in seconds of the session; ``loaded`` says in which of them load ran, without
    warm-up. ``began`` is when load began, ``ended`` whether its end is in the series; ``loads`` is what ran in each
    step (``c=20``, ``50/s``). Values that were not measured are NaN.
    """

    def __init__(self) -> None:
        self.began = 0.0
        self.ended = False
        self.width = 1
        self.at = array("d")
        self.steps = array("q")
        self.loaded = array("b")
        self.counts = array("q")
        self.loads: dict[int, str] = {}
        self.values: dict[Key, array[float]] = {}
        self._most = POINTS
        self._added: dict[Key, int] = {}
        self._before: LoadSample | None = None
        self._last = 0.0
        self._has_load = False

    def add(self, snapshot: Snapshot) -> None:
        load = snapshot.load
        loaded = counts(load, self._before)
        if loaded and not self._has_load:
            self.began, self._has_load = self._last, True
        self._make_room(0 if load is None else _bounded(load.step), loaded)
        self.at[-1] = snapshot.at
        self._read(snapshot, loaded)
        self.ended = load is not None and load.state.ended
        self._before, self._last = load, snapshot.at

    @property
    def duration(self) -> float:
        return next((self.at[i] - self.began for i in reversed(range(len(self.at))) if self.loaded[i]), 0.0)

    def of(self, subject: str, name: str) -> "array[float]":
        """The values of one metric, one for each point, NaN where it was not measured."""
        known = self.values.get((subject, name), array("d"))
        known.extend([nan] * (len(self.at) - len(known)))
        return known

    def rename(self, names: Mapping[str, str]) -> None:
        self.values = {(names.get(of, of), name): known for (of, name), known in self.values.items()}

    def as_data(self) -> SeriesData:
        values: dict[str, dict[str, list[float | None]]] = {}
        for of, name in self.values:
            values.setdefault(of, {})[name] = [None if isnan(value) else value for value in self.of(of, name)]
        return SeriesData(
            self.began,
            self.ended,
            self.width,
            list(self.at),
            list(self.steps),
            [bool(loaded) for loaded in self.loaded],
            list(self.counts),
            dict(self.loads),
            values,
        )

    @classmethod
    def from_data(cls, data: SeriesData) -> "Series":
        """The series that :meth:`as_data` gave; nothing can be added to it."""
        found = cls()
        found.began, found.ended, found.width, found.loads = data.began, data.ended, data.width, dict(data.loads)
        found.at, found.steps = array("d", data.at), array("q", data.steps)
        found.loaded, found.counts = array("b", data.loaded), array("q", data.counts)
        for of, known in data.values.items():
            for name, values in known.items():
                found.values[of, name] = array("d", (nan if value is None else value for value in values))
        return found

    def _make_room(self, step: int, loaded: bool) -> None:
        """Put an interval into the last point, or begin a point for it."""
        if not self._has_room(step, loaded) and len(self.at) >= self._most:
            self._halve()
        if self._has_room(step, loaded):
            self.counts[-1] += 1
            return
        self.at.append(0.0)
        self.steps.append(step)
        self.loaded.append(loaded)
        self.counts.append(1)
        self._added = {}

    def _has_room(self, step: int, loaded: bool) -> bool:
        last = len(self.at) - 1
        if last < 0 or self._is_first(last):
            return False
        return (self.steps[last], self.loaded[last]) == (step, loaded) and self.counts[last] < self.width

    def _is_first(self, point: int) -> bool:
        """Whether a step, or the load, begins or ends with this point."""
        before = point - 1
        return before < 0 or self.steps[point] != self.steps[before] or self.loaded[point] != self.loaded[before]

    def _read(self, snapshot: Snapshot, loaded: bool) -> None:
        load = snapshot.load
        if load is not None:
            if loaded and not load.state.ended:
                text = f"{load.rate:g}/s" if load.rate is not None else f"c={load.concurrency}"
                self.loads.setdefault(_bounded(load.step), text)
            found = {name: read(snapshot.measured) for name, read in _READ.items()}
            for name in COMPARED:
                self._put((LOAD, name), found[name])
            for name, metric in PEAKS.items():
                self._put((LOAD, name), found[metric], peak=True)
            rates = snapshot.measured.load_rates
            self._put((LOAD, "failed_s"), None if rates is None else rates.failed)
        for host in snapshot.measured.hosts:
            if host.rates is not None:
                for known in HOST_METRICS:
                    self._put((host.name, known.name), known.read(host))
                for name, read in CHARTED.items():
                    self._put((host.name, name), read(host.rates))

    def _put(self, key: Key, value: float | None, *, peak: bool = False) -> None:
        if value is None:
            return
        series = self.values.get(key)
        if series is None:
            series = self.values[key] = array("d")
        missing = len(self.at) - len(series)
        if missing > 1:
            series.extend([nan] * (missing - 1))
        count = self._added.get(key, 0)
        if missing:
            series.append(value)
        elif not count:
            series[-1] = value
        elif peak:
            series[-1] = max(series[-1], value)
        else:
            series[-1] += (value - series[-1]) / (count + 1)
        self._added[key] = count + 1

    def _halve(self) -> None:
        """Make one point of every two. With very many steps that frees little, so more points are allowed then."""
        pairs = list(self._pairs())
        for of, name in self.values:
            known = self.of(of, name)
            self.values[of, name] = array("d", (self._joined(known, i, j, peak=name in PEAKS) for i, j in pairs))
        self.at = array("d", (self.at[j] for _, j in pairs))
        self.counts = array("q", (sum(self.counts[i : j + 1]) for i, j in pairs))
        self.steps = array("q", (self.steps[i] for i, _ in pairs))
        self.loaded = array("b", (self.loaded[i] for i, _ in pairs))
        self.width *= 2
        self._most = POINTS if len(pairs) <= 3 * POINTS // 4 else 2 * len(pairs)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """The points that become one, first and last: neighbours within a step, but for its first."""
        i, end = 0, len(self.at)
        while i < end:
            alone = self._is_first(i) or i + 1 == end or self._is_first(i + 1)
            yield i, i if alone else i + 1
            i += 1 if alone else 2

    def _joined(self, known: Sequence[float], i: int, j: int, *, peak: bool) -> float:
        one, other = known[i], known[j]
        if i == j or isnan(one) or isnan(other):
            return other if isnan(one) else one
        if peak:
            return max(one, other)
        return (one * self.counts[i] + other * self.counts[j]) / (self.counts[i] + self.counts[j])


def _bounded(step: int) -> int:
    """A step's number as the array holds it: a recording that was made up may have any."""
    return max(-_GREATEST, min(step, _GREATEST))
