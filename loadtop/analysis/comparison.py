"""Two or more runs compared: settings first, then every number, period by period."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.significance import LEAST, LEVEL, Sample, holm, needed, p_value, sample
from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.series import COMPARED, Key, Series
from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.totals import RunResult
from loadtop.i18n import Translatable
from loadtop.rates.metrics import LOAD_METRICS, AnyMetric
from loadtop.servers.registry import HOST_METRICS

WIDER = {"p90": 1.5, "p95": 1.5, **dict.fromkeys(("p98", "p99", "p99_9", "p99_99", "max"), 2.0)}
"""Times the margin of a mean: the rarer what a percentile counts, the more it jumps."""

FLOORS = {"%": 5.0, "ms": 0.2, "kB/s": 40.0, "/s": 5.0, "tasks": 1.0, "slots": 1.0, "": 1.0, "% of a core": 5.0}
"""Differences that are never counted, in the metric's unit. 40 kB/s is where swap traffic begins to count."""

OWN_FLOORS = {"failed": 1.0, "non_2xx": 1.0, "rps": 0.0, "received_kb_s": 0.0, "swap.major_faults_s": 100.0}

PRESSURE_FLOOR = 10.0  # percentage points: short stalls come and go on every machine

CARRIED = frozenset({"load1", "tcp.time_wait"})  # still hold the minute before the run: shown, but not evaluated


def margin(metric: AnyMetric, mean: float, percent: float) -> float:
    """The least difference that matters, in the metric's unit. Shares are compared in percentage points alone."""
    floor = OWN_FLOORS.get(metric.name, FLOORS.get(metric.unit, 0.0))
    if metric.name.startswith("pressure."):
        floor = PRESSURE_FLOOR
    return max(floor, percent / 100 * WIDER.get(metric.name, 1.0) * abs(mean))


Direction = Annotated[
    Literal[
        "better", "worse", "higher", "lower", "no difference", "too short to evaluate", "not measured", "not evaluated"
    ],
    Translatable,
]
By = Literal["step", "time"]

WINDOWS = 6  # periods that the common time is cut into
SHORTEST_S = 5.0  # seconds of such a period at least

MAIN = frozenset({"rps", "p50", "failed", "non_2xx"})
"""Numbers of the load without which nothing can be concluded; rare slow responses alone leave a conclusion open in any
short run."""

Period = tuple[float, float, int | None]  # from and to in seconds of load, and the step, if any
WHOLE: Period = (-1.0, inf, None)


@dataclass(slots=True)
class Run:
    """A run by the name of its recording. ``series`` covers all of it; ``beginning`` the time that other runs have as
    well, where that is a small part of a long run."""

    path: Path
    result: RunResult
    beginning: Series | None = None

    @property
    def series(self) -> Series:
        return self.result.series

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def summary(self) -> Json:
        return self.result.summary

    @property
    def duration(self) -> float:
        return self.series.duration

    def sample(self, key: Key, period: Period) -> Sample | None:
        """One metric in a period of the load; ``None`` where it was not measured."""
        first, last, step = period
        series = self.series if step is not None or self.beginning is None else self.beginning
        loaded = np.asarray(series.loaded, dtype=np.bool_)
        at, steps = np.asarray(series.at)[loaded] - series.began, np.asarray(series.steps)[loaded]
        wanted = (at > first) & (at <= last)
        if wanted.size > 2 * LEAST:
            # Load ran for a part only of the interval in which it began, and of that in which it ended.
            wanted[0] = False
            wanted[-1] &= not series.ended
        if step is not None:
            # The interval in which a step begins belongs to the step before as well.
            wanted &= (steps == step) & np.concatenate(([True], steps[1:] == steps[:-1]))
        return sample(np.asarray(series.of(*key), dtype=float)[loaded][wanted], series.width)

    def limit(self, period: Period) -> str | None:
        """The verdict that held longest in a period of the load."""
        first, last, step = period
        if step is not None:
            order = list(self.series.loads.values()).index(self.series.loads[step])
            steps = self.summary["steps"]
            return str(steps[order]["bottleneck"]) if order < len(steps) and steps[order]["bottleneck"] else None
        held: dict[str, float] = {}
        began = self.series.began
        for span in self.summary["timeline"]:
            seconds = min(span["to_s"] - began, last) - max(span["from_s"] - began, first, 0.0)
            name = span["bottleneck"] + (f" on {span['host']}" if span["host"] else "")
            if seconds > 0:
                held[name] = held.get(name, 0.0) + seconds
        return max(held, key=lambda name: held[name]) if held else None

    def rename(self, names: dict[str, str]) -> None:
        for series in (self.series, self.beginning):
            if series is not None:
                series.values = {names.get(of, of): known for of, known in series.values.items()}
        settings = tuple(replace(each, subject=names.get(each.subject, each.subject)) for each in self.result.settings)
        roles = {names.get(host, host): role for host, role in self.result.roles.items()}
        self.result = replace(self.result, settings=settings, roles=roles)


class Change(Struct, frozen=True):
    """One run against the first. ``p`` is corrected for all comparisons of its table; ``percent`` is ``None`` where the
    first has 0. ``needed_intervals``: where it is too short to tell, how many each of both would need for such a
    difference to count; ``None`` where that is not known."""

    direction: Direction
    difference: float | None = None
    percent: float | None = None
    p: float | None = None
    needed_intervals: int | None = None


class MetricRow(Struct, frozen=True):
    """One number in one period: its values in each run, and the changes from the first run."""

    of: str
    metric: AnyMetric
    samples: tuple[Sample | None, ...]
    changes: tuple[Change, ...]


class PeriodTable(Struct, frozen=True):
    """All numbers of one period or step, which has ``periods`` in the runs. ``limits`` are the verdicts that held
    longest in it, ``None`` without any."""

    title: str
    periods: tuple[Period, ...]
    rows: tuple[MetricRow, ...]
    limits: tuple[str | None, ...]


class Comparison(Struct, frozen=True):
    """``settings`` are those that differ: subject, name, a value for each run. ``tables``: the whole first, where runs
    are compared by time."""

    runs: tuple[Run, ...]
    by: By
    percent: float
    settings: tuple[tuple[str, str, tuple[str | None, ...]], ...]
    tables: tuple[PeriodTable, ...]

    def overall(self, run: int) -> Direction:
        """What the load's numbers say of a run (from 1) against the first: better, worse, no difference; or too short
        to tell, where a main number differs by more than the margin in half of the periods, and may do so by chance.

        What got worse outweighs: a run that serves more requests with more failures is no better.
        """
        found = {row.changes[run - 1].direction for table in self.judged for row in table.rows if row.of == LOAD}
        if "worse" in found:
            return "worse"
        if "better" in found:
            return "better"
        main = [[row for row in table.rows if row.of == LOAD and row.metric.name in MAIN] for table in self.judged]
        unclear = [
            rows for rows in main if any(row.changes[run - 1].direction == "too short to evaluate" for row in rows)
        ]
        if 2 * len(unclear) >= len(self.judged) or not found & {"no difference", "higher", "lower"}:
            return "too short to evaluate"
        return "no difference"

    @property
    def judged(self) -> tuple[PeriodTable, ...]:
        """The tables that the conclusion is drawn from: every step, or the whole time."""
        return self.tables if self.by == "step" else self.tables[:1]


def compare(runs: Sequence[Run], percent: float, by: By | None = None) -> Comparison:
    """Compare runs with the first, aligned as :func:`alignment` says.

    Raises ValueError, with the reason, where there is nothing in common to compare.
    """
    _align_machines(runs)
    chosen = alignment(runs, by)
    tables = tuple(_table(runs, *period, percent) for period in (_steps(runs) if chosen == "step" else _times(runs)))
    if not tables:
        raise ValueError(
            "these runs have no step in common: compare them with --by time"
            if chosen == "step"
            else f"{next((run.path for run in runs if not run.duration), 'one of these runs')}: no interval with load"
        )
    return Comparison(tuple(runs), chosen, percent, tuple(_differing(runs)), tables)


def alignment(runs: Sequence[Run], by: By | None = None) -> By:
    """By step where all share two or more, unless ``by`` says otherwise."""
    return by or ("step" if len(_common_steps(runs)) > 1 else "time")


def common(runs: Sequence[Run]) -> float:
    return min(run.duration for run in runs)


def _align_machines(runs: Sequence[Run]) -> None:
    """The one target of each run is the same machine, whatever it was called."""
    if len({frozenset(run.result.roles) for run in runs}) == 1:
        return
    targets = [[host for host, role in run.result.roles.items() if "target" in role] for run in runs]
    if all(len(found) == 1 for found in targets) and not any("target" in run.result.roles for run in runs):
        for run, (name,) in zip(runs, targets, strict=True):
            run.rename({name: "target"})


def _common_steps(runs: Sequence[Run]) -> list[str]:
    first, *others = [list(dict.fromkeys(run.series.loads.values())) for run in runs]
    return [load for load in first if all(load in other for other in others)]


def _steps(runs: Sequence[Run]) -> Iterator[tuple[str, tuple[Period, ...]]]:
    """The same load in all runs, in the order of the first."""
    for load in _common_steps(runs):
        numbers = [next(step for step, known in run.series.loads.items() if known == load) for run in runs]
        yield load, tuple((-1.0, inf, number) for number in numbers)


def _times(runs: Sequence[Run]) -> Iterator[tuple[str, tuple[Period, ...]]]:
    """The time that all have since their load began: as a whole, then in parts."""
    end = common(runs)
    if end <= 0:
        return
    yield f"0 to {end:.0f} s", ((-1.0, end, None),) * len(runs)
    count = min(WINDOWS, int(end // SHORTEST_S))
    for i in range(count if count > 1 else 0):
        start, stop = end * i / count, end * (i + 1) / count
        yield f"{start:.0f} to {stop:.0f} s", ((start if i else -1.0, stop, None),) * len(runs)


def _table(runs: Sequence[Run], title: str, periods: tuple[Period, ...], percent: float) -> PeriodTable:
    rows = judged(runs, _metrics(runs), periods, percent)
    return PeriodTable(title, periods, rows, tuple(run.limit(each) for run, each in zip(runs, periods, strict=True)))


def judged(
    runs: Sequence[Run], metrics: Iterable[tuple[str, AnyMetric]], periods: Sequence[Period], percent: float
) -> tuple[MetricRow, ...]:
    """The metrics that were measured in any of these runs, each judged against the first run; ``periods`` has one for
    each run. Their p values are corrected together."""
    found: list[tuple[str, AnyMetric, tuple[Sample | None, ...], float]] = []
    for of, metric in metrics:
        samples = tuple(run.sample((of, metric.name), each) for run, each in zip(runs, periods, strict=True))
        if any(samples):
            least = 0.0 if samples[0] is None else margin(metric, samples[0].mean, percent)
            found.append((of, metric, samples, least))
    chances = [
        None if metric.name in CARRIED else p_value(samples[0], other, least)
        for _, metric, samples, least in found
        for other in samples[1:]
    ]
    corrected = iter(holm(chances))
    level = LEVEL / max(1, sum(p is not None for p in chances))
    return tuple(
        MetricRow(
            of,
            metric,
            samples,
            tuple(_change(metric, samples[0], other, next(corrected), least, level) for other in samples[1:]),
        )
        for of, metric, samples, least in found
    )


def _metrics(runs: Sequence[Run]) -> Iterator[tuple[str, AnyMetric]]:
    yield from ((LOAD, metric) for metric in LOAD_METRICS if metric.name in COMPARED)
    for host in dict.fromkeys(host for run in runs for host in run.result.roles):
        yield from ((host, metric) for metric in HOST_METRICS)


def _change(
    metric: AnyMetric, before: Sample | None, after: Sample | None, p: float | None, margin: float, level: float
) -> Change:
    """``p`` is corrected; ``level`` is what one alone has to be below to count."""
    if before is None or after is None:
        return Change("not measured")
    difference = after.mean - before.mean
    percent = 100 * difference / abs(before.mean) if before.mean else None
    if p is None:
        return Change("not evaluated" if metric.name in CARRIED else "too short to evaluate", difference, percent)
    if abs(difference) <= margin:
        return Change("no difference", difference, percent, p)
    if p >= LEVEL:
        return Change("too short to evaluate", difference, percent, p, needed(before, after, margin, level))
    if metric.better == "neither":
        return Change("higher" if difference > 0 else "lower", difference, percent, p)
    return Change("better" if (difference > 0) == (metric.better == "higher") else "worse", difference, percent, p)


def _differing(runs: Sequence[Run]) -> Iterator[tuple[str, str, tuple[str | None, ...]]]:
    values = [{(each.subject, each.name): each.value for each in run.result.settings} for run in runs]
    for key in dict.fromkeys(key for known in values for key in known):
        found = tuple(known.get(key) for known in values)
        if len(set(found)) > 1:
            yield (*key, found)
