"""Comparisons of generated runs."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.comparison import Comparison, Run, compare, margin
from loadtop.analysis.totals.settings import LOAD
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS, AnyMetric
from loadtop.reports.compare import as_json, text
from loadtop.servers.registry import HOST_METRICS
from tests.unit.recording.made import added_up, moments, under_load


def _run(name: str, snapshots: list[Snapshot], *, slower: float = 1.0, step_s: int = 0) -> Run:
    """A run of these snapshots at one speed, or in steps of so many intervals."""
    steps = [1 + i // step_s if step_s else 1 for i in range(len(snapshots))]
    found = (under_load(each, float(i), (100.0 + i % 3) / slower, steps[i]) for i, each in enumerate(snapshots))
    return Run(Path(f"{name}.loadtop"), added_up(found))


@pytest.fixture(scope="module")
def snapshots() -> list[Snapshot]:
    return moments(45)


def _direction(comparison: Comparison, name: str) -> str:
    (row,) = [row for row in comparison.tables[0].rows if (row.of, row.metric.name) == (LOAD, name)]
    return row.changes[0].direction


def test_a_run_does_not_differ_from_itself(snapshots: list[Snapshot]) -> None:
    comparison = compare([_run("a", snapshots), _run("b", snapshots)], 10)
    told = {change.direction for table in comparison.tables for row in table.rows for change in row.changes}
    assert told <= {"no difference", "not evaluated", "too short to evaluate"}
    assert comparison.overall(1) == "no difference"
    assert comparison.settings == ()


def test_slower_run_is_worse_and_the_faster_better(snapshots: list[Snapshot]) -> None:
    slow, fast = _run("slow", snapshots, slower=2), _run("fast", snapshots)
    comparison = compare([fast, slow], 10)
    assert (_direction(comparison, "rps"), comparison.overall(1)) == ("worse", "worse")
    assert "B is worse than A" in text(comparison)
    comparison = compare([slow, fast], 10)
    assert (_direction(comparison, "rps"), comparison.overall(1)) == ("better", "better")


def test_a_great_difference_in_few_intervals_is_not_called_none(snapshots: list[Snapshot]) -> None:
    runs = [_run("a", snapshots[:4]), _run("b", snapshots[:4])]
    for run, speeds in zip(runs, ((90.0, 120.0, 80.0, 110.0), (130.0, 190.0, 150.0, 175.0)), strict=True):
        run.series.values[LOAD]["rps"] = list(speeds)
    comparison = compare(runs, 10)
    (row,) = [row for row in comparison.tables[0].rows if (row.of, row.metric.name) == (LOAD, "rps")]
    (change,) = row.changes
    assert (change.direction, comparison.overall(1)) == ("too short to evaluate", "too short to evaluate")
    assert change.percent == pytest.approx(61.25)
    assert change.needed_intervals is not None
    assert 4 < change.needed_intervals < 60
    told = text(comparison)
    assert f"4 and 4 intervals; need about {change.needed_intervals} each" in told
    assert "+61 % too short to evaluate" in told
    assert f'"needed_intervals": {change.needed_intervals}' in json.dumps(as_json(comparison))
    # As many intervals as it asks for, of the same kind, do tell.
    times = -(-change.needed_intervals // 4)
    for run, speeds in zip(runs, ((90.0, 120.0, 80.0, 110.0), (130.0, 190.0, 150.0, 175.0)), strict=True):
        run.series.at, run.series.steps = list(map(float, range(1, 4 * times + 3))), [1] * (4 * times + 2)
        run.series.values = {LOAD: {"rps": [0.0, *(speeds * times), 0.0]}}
        run.series.loaded = [True] * (4 * times + 2)
        run.series.ended = True
    assert compare(runs, 10).overall(1) == "better"


def test_the_margin_decides_which_differences_count(snapshots: list[Snapshot]) -> None:
    runs = [_run("a", snapshots), _run("b", snapshots, slower=1.2)]
    assert _direction(compare(runs, 10), "rps") == "worse"
    assert _direction(compare(runs, 30), "rps") == "no difference"


def test_the_rarer_what_a_number_counts_the_wider_its_margin() -> None:
    everything: tuple[AnyMetric, ...] = (*LOAD_METRICS, *HOST_METRICS)
    metrics = {metric.name: metric for metric in everything}
    least = [margin(metrics[name], 200.0, 10) for name in ("rps", "p50", "p90", "p99")]
    assert least == pytest.approx([20.0, 20.0, 30.0, 40.0])
    assert margin(metrics["p50"], 1.0, 10) == 0.2
    assert (margin(metrics["failed"], 0.0, 10), margin(metrics["cpu.idle"], 0.0, 10)) == (1.0, 5.0)
    assert margin(metrics["pressure.cpu_some_pct"], 0.0, 10) == 10.0


def test_worse_values_outweigh_better_ones(snapshots: list[Snapshot]) -> None:
    runs = [_run("a", snapshots), _run("b", snapshots, slower=0.5)]
    values = runs[1].series.values[LOAD]
    values["failed"] = [20.0] * len(values["failed"])
    comparison = compare(runs, 10)
    assert (_direction(comparison, "rps"), _direction(comparison, "failed")) == ("better", "worse")
    assert comparison.overall(1) == "worse"


def test_steps_are_compared_with_their_like(snapshots: list[Snapshot]) -> None:
    comparison = compare([_run("a", snapshots, step_s=15), _run("b", snapshots, slower=2, step_s=15)], 10)
    assert comparison.by == "step"
    assert [table.title for table in comparison.tables] == ["c=2", "c=4", "c=8"]
    assert "requests at c=4: " in text(comparison)
    assert compare([_run("a", snapshots, step_s=15)] * 2, 10, "time").by == "time"


def test_nothing_in_common_is_reported(snapshots: list[Snapshot]) -> None:
    other = _run("b", snapshots[:20], step_s=30)
    other.series.loads = {1: "c=77"}
    with pytest.raises(ValueError, match="no step in common"):
        compare([_run("a", snapshots, step_s=15), other], 10, "step")
    with pytest.raises(ValueError, match=r"b\.loadtop: no interval with load"):
        compare([_run("a", snapshots), _run("b", [])], 10)


def test_settings_that_differ_come_first(snapshots: list[Snapshot]) -> None:
    runs = [_run("a", snapshots), _run("b", snapshots), _run("c", snapshots)]
    known = runs[1].result.settings
    settings = tuple(replace(each, value="4") if each.name == "cores" else each for each in known)
    runs[1].result = replace(runs[1].result, settings=settings)
    comparison = compare(runs, 10)
    assert comparison.settings == (("web1", "cores", ("2", "4", "2")), ("gen", "cores", ("2", "4", "2")))
    lines = text(comparison).splitlines()
    assert lines.index("Settings that differ") < lines.index(next(line for line in lines if "each against A" in line))


def test_the_target_is_the_same_machine_whatever_it_is_called(snapshots: list[Snapshot]) -> None:
    other = _run("b", snapshots)
    other.rename({"web1": "web-new"})
    comparison = compare([_run("a", snapshots), other], 10)
    (row,) = [row for row in comparison.tables[0].rows if row.of == "target" and row.metric.name == "cpu.idle"]
    assert None not in row.samples


def test_json_matches_the_text(snapshots: list[Snapshot]) -> None:
    comparison = compare([_run("a", snapshots), _run("b", snapshots, slower=2)], 10)
    found = json.loads(json.dumps(as_json(comparison)))
    assert found["schema"] == "loadtop.compare/1"
    (conclusion,) = found["conclusions"]
    assert conclusion == {"session": 1, "against": 0, "direction": "worse", "same_verdict": True, "breakdown": []}
    (rps,) = [metric for metric in found["periods"][0]["metrics"] if (metric["of"], metric["name"]) == ("load", "rps")]
    assert rps["changes"][0]["direction"] == "worse"
    assert rps["changes"][0]["percent"] == pytest.approx(-50)
    assert rps["values"][0]["worth"] <= rps["values"][0]["intervals"]
