"""Means and extremes over intervals, and of the machines under test."""

from typing import Any

import pytest

from loadtop.analysis.statistic import (
    Statistic,
    Statistics,
    TargetMeans,
    TargetValues,
    latency_json,
    target_values,
    times_json,
)
from loadtop.diagnosis.finding import NONE, Diagnosis, Finding
from loadtop.i18n import Message
from loadtop.model import Swap
from loadtop.model.histogram import EMPTY, distribution
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import PagingRates
from tests.unit.interval import NO_PAGING, busy, host, measured


def test_a_statistic() -> None:
    found = Statistic()
    assert (found.mean, found.as_json()) == (None, None)
    for value in (2.0, None, 1.0, 4.0005, 2.0):
        found.add(value)
    assert (found.count, found.lowest, found.highest) == (4, 1.0, 4.0005)
    assert found.as_json() == {"mean": 2.25, "min": 1.0, "max": 4.0}
    several = Statistics(["a", "b"])
    several.add([1.0, None])
    assert several.as_json() == {"a": {"mean": 1.0, "min": 1.0, "max": 1.0}, "b": None}
    with pytest.raises(ValueError, match="zip"):
        several.add([1.0])


@pytest.mark.parametrize(
    ("paging", "cpu", "values"),
    [
        (PagingRates(3.0, 4.0, 0, 0, 0, 0, 0), busy(70.0), TargetValues(30.0, 0.0, 75.0, 7.0)),
        (PagingRates(None, 4.0, 0, 0, 0, 0, 0), None, TargetValues(None, None, 75.0, None)),
        (PagingRates(3.0, None, 0, 0, 0, 0, 0), None, TargetValues(None, None, 75.0, None)),
        (None, None, TargetValues(None, None, 75.0, None)),
    ],
)
def test_what_counts_of_a_target(paging: PagingRates | None, cpu: Any, values: TargetValues) -> None:
    sample = {"swap": Swap(1000, 250)}
    views = (host(sample, paging=paging, cpu=cpu), host(sample, role="generator"), host(sample, role="other"))
    finding = Finding(NONE, None, 0.0, 0.0, 1.0, (), Message(""))
    assert target_values(Snapshot(measured(*views), Diagnosis(finding, ()))) == {"web1": values}
    without = HostView(views[0].state, None, 1.0)
    found = target_values(Snapshot(measured(without), Diagnosis(finding, ())))
    assert found == {"web1": TargetValues(None, None, 75.0, None)}
    assert NO_PAGING.swap_in_kb == 0.0


def test_of_several_targets_the_worst_of_each_value_counts() -> None:
    means = TargetMeans()
    assert means.worst == TargetValues()
    means.add({"a": TargetValues(10.0, 1.0, None, 5.0), "b": TargetValues(30.0, 4.0, None, 2.0)})
    means.add({"a": TargetValues(20.0, 2.0, None, 7.0), "b": TargetValues(None, 6.0, None, 2.0)})
    assert means.machines == [TargetValues(15.0, 1.5, None, 6.0), TargetValues(30.0, 5.0, None, 2.0)]
    assert means.worst == TargetValues(15.0, 5.0, None, 6.0)


def test_times_in_milliseconds() -> None:
    known = distribution([1000, 2000, 6000])
    times = {"min": 1.0, "mean": 3.0, "sd": 2.646, "median": times_json(known)["median"], "max": 6.0}  # type: ignore[index]
    assert times_json(known) == times
    assert times["median"] == pytest.approx(2.0, rel=0.005)
    found = latency_json(known)
    assert found is not None
    assert list(found)[:3] == ["min", "mean", "sd"]
    assert (found["p50"], found["p99_99"], found["max"]) == (times["median"], pytest.approx(5.999, abs=0.01), 6.0)
    assert (times_json(EMPTY), latency_json(EMPTY)) == (None, None)
