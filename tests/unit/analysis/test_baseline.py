"""Rules about a baseline: when they hold, what they say, and what cannot be compared."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.baseline import Baseline
from loadtop.analysis.fail_if import Condition, ConditionError, RuleOutcome, Watchdog
from loadtop.analysis.totals.totals import RunResult
from loadtop.reports.junit import junit
from loadtop.reports.rules import as_json, sentence, table
from tests.junit import cases_of
from tests.unit.recording.made import added_up, moments, under_load


def run(count: int = 45, *, slower: float = 1.0, url: str = "http://web1/") -> RunResult:
    """The result of a test that serves 100 requests/s, or fewer by that factor."""
    found = added_up(
        (under_load(each, float(i), (100.0 + i % 3) / slower, concurrency=10) for i, each in enumerate(moments(count))),
        url,
    )
    served = {**found.summary["load"], "rps": 100.0 / slower}
    return replace(found, summary={**found.summary, "load": served})


def outcome(rule: str, before: RunResult, after: RunResult) -> RuleOutcome:
    rules = [Condition.parse(rule)]
    compared = Baseline(Path("main.loadtop"), before).compared(rules, after, after.summary)
    (found,) = Watchdog(rules).outcomes(after.summary, compared)
    return found


def test_a_rule_holds_where_the_difference_is_beyond_its_limit_and_significant() -> None:
    found = outcome("rps<baseline-5%", run(), run(slower=1.25))
    assert found.broken
    assert sentence(found) == "80 /s, baseline 100 /s (-20.0 %); significant (p < 0.001)"


@pytest.mark.parametrize("slower", [1.0, 0.8, 1.04])
def test_it_does_not_hold_where_the_test_is_as_good(slower: float) -> None:
    assert not outcome("rps<baseline-5%", run(), run(slower=slower)).broken


def test_a_difference_within_the_limit_does_not_hold() -> None:
    found = outcome("rps<baseline-30%", run(), run(slower=1.25))
    assert not found.broken
    assert sentence(found) == "80 /s, baseline 100 /s (-20.0 %)"


def test_a_difference_that_may_be_chance_does_not_hold() -> None:
    after = run(slower=1.25)
    values = after.series.values["load"]["rps"]
    values[:] = [10.0 if i % 2 else 150.0 for i in range(len(values))]
    found = outcome("rps<baseline-5%", run(), after)
    assert not found.broken
    assert "not significant: it may be chance (p = " in sentence(found)


def test_too_few_intervals_tell_nothing() -> None:
    before, after = run(3), run(3, slower=2)
    found = outcome("rps<baseline-5%", before, after)
    assert not found.broken
    assert sentence(found).endswith("3 whole intervals under load")
    (case,) = cases_of(junit(after.summary, [found], "A report."))
    assert (case.result, case.message) == ("Skipped", sentence(found))


def test_every_report_names_the_compared_runs() -> None:
    after = run(slower=1.25)
    found = outcome("rps<baseline-5/s", run(), after)
    (case,) = cases_of(junit(after.summary, [found], "A report."))
    assert (case.result, case.message) == ("Failure", f"rps<baseline-5/s: {sentence(found)}")
    (rule,) = as_json([found])
    (value,) = rule["values"]
    assert (rule["rule"], rule["held"], rule["unit"]) == ("rps<baseline-5/s", True, "/s")
    assert {**value, "p": None} == {
        "host": None, "value": 80.0, "baseline": 100.0, "limit": 95.0, "exceeds": True, "significant": True, "p": None,
    }  # fmt: skip
    assert table([found]).rows == [("rps<baseline-5/s", "failed", sentence(found))]


def test_machines_are_compared_by_name() -> None:
    result = run()
    found = outcome("cpu.idle<baseline-5%", result, result)
    assert found.compared.keys() == set(result.roles)
    assert not found.broken


def test_values_missing_from_the_baseline_are_reported() -> None:
    baseline = Baseline(Path("main.loadtop"), run())
    hosts = ", ".join(baseline.result.roles)
    said = {rule: baseline.missing(Condition.parse(rule)) for rule in (
        "rps<baseline", "other.cpu.idle<baseline-5%", "redis.clients>baseline", "load1>baseline+1",
    )}  # fmt: skip
    assert list(said.values()) == [
        "",
        f"main has no host other; its hosts are {hosts}",
        "redis.clients was not measured in main",
        "load1 still contains values from before the test and cannot be compared. Use another metric",
    ]


def test_another_url_and_another_load_are_named() -> None:
    baseline, other = Baseline(Path("main.loadtop"), run()), run(url="http://web1/other")
    assert list(baseline.differences(baseline.result)) == []
    other.series.loads = {1: "c=20"}
    assert list(baseline.differences(other)) == [
        "main has a different URL: http://web1/, not http://web1/other",
        "main has a different load: c=10, not c=20",
    ]
    assert baseline.as_json(other)["differences"] == list(baseline.differences(other))


@pytest.mark.parametrize(
    ("rule", "before", "limit"),
    [
        ("p99>baseline", 200.0, 200.0),
        ("p99>baseline+10%", 200.0, 220.0),
        ("p99 > baseline + 10 %", 200.0, 220.0),
        ("p99>baseline+0.02s", 200.0, 220.0),
        ("rps<=baseline-5%", 200.0, 190.0),
        ("failed>baseline+2%", 1.0, 3.0),
        ("web.cpu.idle<baseline-10%", 50.0, 40.0),
        ("memory.available_kb<baseline-1MB", 5000.0, 3976.0),
        ("running>baseline+2", 3.0, 5.0),
    ],
)
def test_an_offset_is_in_percent_or_in_the_unit_of_the_metric(rule: str, before: float, limit: float) -> None:
    beyond = Condition.parse(rule).beyond
    assert beyond is not None
    assert beyond.limit(before) == pytest.approx(limit)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("p99>baseline-10%", "write baseline\\+10%"),
        ("p99=baseline", "use > or < to compare"),
        ("p99>baseline+5", "write a unit"),
        ("failed>baseline+5", "write a unit"),
        ("rps<baseline-5ms", "rps is not a time"),
        ("p99>baseline+10% for 5s", "leave out 'for'"),
        ("bottleneck!=baseline", "cannot be compared"),
        ("p99>baseline+x", "cannot read"),
    ],
)
def test_a_rule_that_cannot_use_a_baseline_lists_those_that_can(rule: str, said: str) -> None:
    with pytest.raises(ConditionError, match=said):
        Condition.parse(rule)
