"""Means and extremes over intervals: of gauges and rates, of response times, and of the machines under test."""

from collections import defaultdict
from collections.abc import Iterable
from functools import partial
from math import inf
from typing import Any, NamedTuple

from loadtop.model import Distribution
from loadtop.model.histogram import mean, percentile, sd
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import PERCENTILES, swap_used

Json = dict[str, Any]


class Statistic:
    """The mean and the extremes of a gauge or a rate over the intervals in which it was measured."""

    __slots__ = ("count", "highest", "lowest", "total")

    def __init__(self) -> None:
        self.count = 0.0
        self.total = 0.0
        self.lowest = inf
        self.highest = -inf

    def add(self, value: float | None, weight: float = 1.0) -> None:
        """Count the value of one interval, or of the part ``weight`` of one; ``None`` (not measured) does not count."""
        if value is None:
            return
        if value < self.lowest:
            self.lowest = value
        if value > self.highest:
            self.highest = value
        self.count += weight
        self.total += weight * value

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def as_json(self) -> dict[str, float] | None:
        """``{"mean", "min", "max"}`` to three decimals, ``None`` where nothing was measured."""
        if (mean := self.mean) is None:
            return None
        return {"mean": round(mean, 3), "min": round(self.lowest, 3), "max": round(self.highest, 3)}


class Statistics(dict[str, Statistic]):
    def __init__(self, names: Iterable[str]) -> None:
        super().__init__((name, Statistic()) for name in names)

    def add(self, values: Iterable[float | None]) -> None:
        """Count the values of one interval, in the order of the names."""
        for statistic, value in zip(self.values(), values, strict=True):
            statistic.add(value)

    def as_json(self) -> Json:
        return {name: statistic.as_json() for name, statistic in self.items()}


class TargetValues(NamedTuple):
    """Of one interval, or means: percent, and swap traffic in kB/s, in and out together. ``None``: not measured."""

    idle: float | None = None
    iowait: float | None = None
    swap_used: float | None = None
    swap_kb_s: float | None = None


_WORST = (min, max, max, max)


def targets(snapshot: Snapshot) -> tuple[HostView, ...]:
    return tuple(host for host in snapshot.measured.hosts if host.state.is_target)


def target_values(snapshot: Snapshot) -> dict[str, TargetValues]:
    return {host.name: _values(host) for host in targets(snapshot)}


def _values(host: HostView) -> TargetValues:
    cpu = host.cpu
    paging = None if host.rates is None else host.rates.paging
    traffic = None if paging is None else paging.swap_kb
    idle, iowait = (None, None) if cpu is None else (cpu.idle, cpu.iowait)
    return TargetValues(idle, iowait, swap_used(host), traffic)


class TargetMeans:
    def __init__(self) -> None:
        self._machines = defaultdict[str, Statistics](partial(Statistics, TargetValues._fields))

    def add(self, values: dict[str, TargetValues]) -> None:
        for name, found in values.items():
            self._machines[name].add(found)

    @property
    def machines(self) -> list[TargetValues]:
        return [TargetValues(*(each.mean for each in found.values())) for found in self._machines.values()]

    @property
    def worst(self) -> TargetValues:
        """Each value of the machine on which it is worst, so that idle machines do not hide a full one."""
        columns = ([value for value in means if value is not None] for means in zip(*self.machines, strict=True))
        return TargetValues(*(choose(means, default=None) for choose, means in zip(_WORST, columns, strict=False)))


def latency_json(distribution: Distribution) -> Json | None:
    """Extremes, mean, sd and percentiles in ms; ``None`` where nothing was measured."""
    times = times_json(distribution)
    if times is None:
        return None
    percentiles = {name: _ms(percentile(distribution, percent)) for name, percent in PERCENTILES.items()}
    return {"min": times["min"], "mean": times["mean"], "sd": times["sd"], **percentiles, "max": times["max"]}


def times_json(distribution: Distribution) -> Json | None:
    """Min, mean, sd, median and max in ms; ``None`` where nothing was measured."""
    if distribution.count == 0:
        return None
    return {
        "min": _ms(distribution.min_us),
        "mean": _ms(mean(distribution)),
        "sd": _ms(sd(distribution)),
        "median": _ms(percentile(distribution, 50)),
        "max": _ms(distribution.max_us),
    }


def _ms(microseconds: float) -> float:
    return round(microseconds / 1000.0, 3)
