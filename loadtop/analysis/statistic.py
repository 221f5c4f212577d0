"""Means and extremes of gauges, and of response times, as the JSON summary has them."""

from math import inf
from typing import Any

from loadtop.model import Distribution
from loadtop.model.histogram import mean, median, percentile, sd
from loadtop.rates.metrics import PERCENTILES

Json = dict[str, Any]


class Statistic:
    """The mean and the extremes of a gauge or a rate over the intervals in which it was measured."""

    __slots__ = ("count", "highest", "lowest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.lowest = inf
        self.highest = -inf

    def add(self, value: float | None) -> None:
        """Count the value of one interval; ``None`` (not measured) does not count."""
        if value is None:
            return
        if value < self.lowest:
            self.lowest = value
        if value > self.highest:
            self.highest = value
        self.count += 1
        self.total += value

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def as_json(self) -> dict[str, float] | None:
        """``{"mean", "min", "max"}`` to three decimals, ``None`` where nothing was measured."""
        if (mean := self.mean) is None:
            return None
        return {"mean": round(mean, 3), "min": round(self.lowest, 3), "max": round(self.highest, 3)}


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
        "median": _ms(median(distribution)),
        "max": _ms(distribution.max_us),
    }


def _ms(microseconds: float) -> float:
    return round(microseconds / 1000.0, 3)
