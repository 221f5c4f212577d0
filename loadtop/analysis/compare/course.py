"""The numbers of a test that are compared, interval by interval, in little memory however long it was."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan

from loadtop.analysis.totals.load import counts
from loadtop.analysis.totals.settings import LOAD
from loadtop.model import LoadSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS
from loadtop.servers.registry import HOST_METRICS

Key = tuple[str, str]
"""Of what (:data:`LOAD` or a machine) and the metric's name."""

JUDGED = ("rps", "failed", "non_2xx", "received_kb_s", "p50", "p90", "p99")
"""The load's numbers that are compared: more percentiles would say the same again."""

POINTS = 1024
"""Points beyond which neighbours become one (batch means, as A. M. Law: Simulation Modeling and Analysis has them for
series whose neighbours are alike). Of a test of a quarter of an hour at 1 s every interval is a point."""


class Course:
    """Takes the moments of a test in order; those without load do not count.

    ``began`` is when load began, in seconds of the session; ``at`` are the ends of the points in seconds since then,
    ``steps`` their steps; ``values`` has a number for each point, NaN where nothing was measured. ``ended``: the load's
    end is in it; ``shapes`` is what load ran by step. A point is the mean of ``width`` intervals (fewer at the end of a
    step); the first interval of a step stays a point of its own.
    """

    def __init__(self) -> None:
        self.began = 0.0
        self.ended = False
        self.at = array("d")
        self.steps = array("q")
        self.shapes: dict[int, str] = {}
        self.values: dict[Key, array[float]] = {}
        self.width = 1
        self._most = POINTS
        self._full = array("q")
        self._counted: dict[Key, int] = {}
        self._before: LoadSample | None = None
        self._last = 0.0

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        load = snapshot.measured.load
        if counts(load, self._before):
            self.began = self.began if self.at else self._last
            self._begin(0 if load is None else _number(load.step))
            self.at[-1] = snapshot.at - self.began
            self._read(snapshot)
        self.ended = load is not None and load.state.ended
        self._before, self._last = load, snapshot.at

    def series(self, key: Key) -> "array[float] | None":
        """The number at each point; ``None`` where it was never measured."""
        known = self.values.get(key)
        if known is not None:
            known.extend([nan] * (len(self.at) - len(known)))
        return known

    def renamed(self, names: Mapping[str, str]) -> None:
        """Call machines otherwise."""
        self.values = {(names.get(of, of), name): known for (of, name), known in self.values.items()}

    def _begin(self, step: int) -> None:
        """Make room for an interval: in the last point, or in one of its own."""
        if not self._has_room(step) and len(self.at) >= self._most:
            self._halve()
        if self._has_room(step):
            self._full[-1] += 1
            return
        self.at.append(0.0)
        self.steps.append(step)
        self._full.append(1)
        self._counted = {}

    def _has_room(self, step: int) -> bool:
        """Whether the last point takes one more interval."""
        last = len(self.at) - 1
        return last >= 0 and self.steps[last] == step and not self._is_first(last) and self._full[last] < self.width

    def _is_first(self, point: int) -> bool:
        return not point or self.steps[point] != self.steps[point - 1]

    def _read(self, snapshot: Snapshot) -> None:
        load = snapshot.measured.load
        if load is not None and not load.state.ended:
            shape = f"{load.rate:g}/s" if load.rate is not None else f"c={load.concurrency}"
            self.shapes.setdefault(_number(load.step), shape)
        for metric in LOAD_METRICS if load is not None else ():
            if metric.name in JUDGED:
                self._put((LOAD, metric.name), metric.read(snapshot.measured))
        for host in snapshot.measured.hosts:
            for known in HOST_METRICS:
                self._put((host.name, known.name), known.read(host))

    def _put(self, key: Key, value: float | None) -> None:
        if value is None:
            return
        series = self.values.get(key)
        if series is None:
            series = self.values[key] = array("d")
        missing = len(self.at) - len(series)
        if missing:
            series.extend([nan] * missing)
        count = self._counted.get(key, 0)
        series[-1] = series[-1] + (value - series[-1]) / (count + 1) if count else value
        self._counted[key] = count + 1

    def _halve(self) -> None:
        """Make one point of every two. With very many steps that frees little, and there may be more points then."""
        pairs = list(self._pairs())
        for key in self.values:
            known = self.series(key) or ()
            self.values[key] = array("d", (self._mean(known, i, j) for i, j in pairs))
        self.at = array("d", (self.at[j] for _, j in pairs))
        self._full = array("q", (sum(self._full[i : j + 1]) for i, j in pairs))
        self.steps = array("q", (self.steps[i] for i, _ in pairs))
        self.width *= 2
        self._most = POINTS if len(pairs) <= 3 * POINTS // 4 else 2 * len(pairs)

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """The points that become one, first and last: neighbours of a step, but for its first."""
        i, end = 0, len(self.at)
        while i < end:
            alone = self._is_first(i) or i + 1 == end or self._is_first(i + 1)
            yield i, i if alone else i + 1
            i += 1 if alone else 2

    def _mean(self, known: Sequence[float], i: int, j: int) -> float:
        """Of two points, or of one."""
        one, other = known[i], known[j]
        if i == j or isnan(other):
            return one
        if isnan(one):
            return other
        return (one * self._full[i] + other * self._full[j]) / (self._full[i] + self._full[j])


def _number(step: int) -> int:
    """A step's number as the array holds it: a recording that was made up may have any."""
    return max(-_GREATEST, min(step, _GREATEST))


_GREATEST = (1 << 63) - 1
