"""Rules of --fail-if."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.analysis.fail_if import HOST_READERS, LOAD_READERS, Condition, ConditionError, Watchdog
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import Distribution, Failures, Latencies, LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measurer
from loadtop.servers.registry import DEMANDS, KINDS, VERDICT_NAMES, VERDICTS
from tests.unit.course import frame_of

SUMMARY: dict[str, Any] = {
    "load": {
        "requests": 1000,
        "failed": 20,
        "non_2xx": 0,
        "rps": 99.0,
        "received_bytes": 2_048_000,
        "latency_ms": {"p99": 510.0, "mean": 100.0, "min": 9.0},
    },
    "duration_s": 10.0,
    "verdict": {"bottleneck": "swap"},
    "hosts": [
        {"name": "web", "cpu": {"idle": {"mean": 4.0}, "steal": None}, "load1": {"mean": 3.0}, "apache": None},
        {"name": "db", "cpu": {"idle": {"mean": 80.0}, "steal": None}, "load1": None, "apache": None},
    ],
}


@pytest.mark.parametrize(("text", "broken"), [
    ("p99>500ms", True), ("p99>0.5s", True), ("p99 > 511 ms", False), ("p99>=510ms", True), ("mean>100000us", False),
    ("mean>=100000us", True), ("min<10ms", True), ("received_kb_s<201", True), ("received_kb_s<199", False),
    ("failed>1%", True), ("failed>2%", False), ("failed>19", True), ("failed>20", False), ("non_2xx>0", False),
    ("rps<100", True), ("rps<100/s", True), ("bottleneck=swap", True), ("bottleneck==cpu", False),
    ("bottleneck!=none", True), ("web.cpu.idle<5%", True), ("db.cpu.idle<5%", False), ("cpu.idle<5%", True),
    ("web.cpu.steal<5%", False), ("apache.busy>1", False), ("load1>2", True),
])  # fmt: skip
def test_a_rule_without_a_time_is_about_the_whole_run(text: str, broken: bool) -> None:
    (outcome,) = Watchdog([Condition.parse(text)]).outcomes(SUMMARY)
    assert outcome.broken is broken


@pytest.mark.parametrize(
    "text", ["", "p99", "p99>", ">5", "p99>x ms", "rps>5ms", "bottleneck>swap", "p99>5ms for", "a=b"]
)
def test_an_unreadable_rule_comes_with_valid_ones(text: str) -> None:
    with pytest.raises(ConditionError):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("p99>5%", "in ms, us, s"), ("cpu.idle<5kB", "in %"), ("memory.available_kb<5%", "in kB, MB"),
        ("rps>5MB/s", "in /s"), ("running>3%", "no unit"),
    ],
)  # fmt: skip
def test_a_unit_is_that_of_the_metric(text: str, units: str) -> None:
    with pytest.raises(ConditionError, match=units):
        Condition.parse(text)


def test_every_metric_takes_its_unit() -> None:
    assert Condition.parse("memory.available_kb<500MB").value == 512_000
    assert Condition.parse("httpd.cpu_pct>150%").value == 150
    assert Condition.parse("swap.in_kb_s>1MB/s").value == 1024
    assert all(Condition.parse(f"{name}>1").value == 1 for name in HOST_READERS)


@pytest.mark.parametrize(
    ("name", "host", "metric"),
    [
        ("web1.example.org.cpu.idle", "web1.example.org", "cpu.idle"),
        ("web.httpd.running", "web", "httpd.running"),
        ("httpd.running", None, "httpd.running"),
        ("httpd.load1", "httpd", "load1"),
    ],
)
def test_a_name_of_a_host_may_have_dots(name: str, host: str | None, metric: str) -> None:
    found = Condition.parse(f"{name}>1")
    assert (found.host, found.metric) == (host, metric)


@given(st.text())
def test_any_text_is_a_rule_or_a_clear_error(text: str) -> None:
    try:
        Condition.parse(text)
    except ConditionError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right; only another exception is not


def test_a_rule_with_a_time_holds_only_after_that_time_in_a_row(machine: Any, load: Any) -> None:
    condition = Condition.parse("web1.cpu.idle<5% for 3s")
    measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)

    def watch(busy: list[float]) -> bool:
        watchdog = Watchdog([condition])
        for number, share in enumerate(busy):
            measured = measurer.measure(frame_of(number, load.sample(), machine.state(busy=(share, share))))
            watchdog.add(Snapshot(measured, diagnoser.diagnose(measured)))
        return any(outcome.broken for outcome in watchdog.outcomes(SUMMARY))

    assert not watch([0, 99, 99, 0, 99, 99, 0])
    assert watch([0, 99, 99, 99, 0])


def watched(text: str, samples: Iterable[LoadSample]) -> bool:
    """Whether a rule held over intervals with these samples of the load."""
    measurer, diagnoser, watchdog = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS), Watchdog([Condition.parse(text)])
    for number, sample in enumerate(samples):
        measured = measurer.measure(frame_of(number, sample))
        watchdog.add(Snapshot(measured, diagnoser.diagnose(measured)))
    return any(outcome.broken for outcome in watchdog.outcomes(SUMMARY))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("mean>200ms for 3s", True),
        ("mean>300ms for 3s", False),
        ("min>=100ms for 3s", True),
        ("mean<1s", True),
        ("failed>2 for 2s", True),
        ("failed>4 for 2s", False),
        ("failed>30% for 2s", False),
    ],
)
def test_times_and_counts_are_watched_too(text: str, broken: bool, load: Any) -> None:
    times = Latencies(Distribution(2, 500_000, 0, 100_000, 400_000, (1, 2), (1, 1)))
    samples = [load.sample(latencies=times, failures=Failures(connect=number)) for number in range(6)]
    assert watched(text, samples) == broken


def test_intervals_before_and_after_the_load_hold_no_rule(load: Any) -> None:
    def samples(state: LoadState, count: int = 5) -> list[LoadSample]:
        return [load.sample(state=state) for _ in range(count)]

    rule = "bottleneck=none for 3s"
    assert not watched(rule, [*samples(LoadState.STARTING), *samples(LoadState.WARMUP)])
    assert not watched(rule, samples(LoadState.DONE))
    assert watched(rule, samples(LoadState.RUNNING))
    parts = [*samples(LoadState.RUNNING, 3), *samples(LoadState.WARMUP, 1), *samples(LoadState.RUNNING, 2)]
    assert not watched(rule, parts), "in a row"


@pytest.mark.parametrize("text", ["failed>1%", "failed>0", "non_2xx>1%", "rps>1", "received_kb_s>1", "p99>1ms"])
def test_values_unmeasured_by_an_engine_hold_no_rule(text: str) -> None:
    unknown = dict.fromkeys(("failed", "non_2xx", "rps", "received_bytes", "latency_ms"))
    summary = {**SUMMARY, "load": {**SUMMARY["load"], **unknown}}
    assert not any(outcome.broken for outcome in Watchdog([Condition.parse(text)]).outcomes(summary))


@pytest.mark.parametrize("metric", sorted({*LOAD_READERS, *HOST_READERS}))
def test_every_metric_is_in_the_manual(metric: str) -> None:
    manual = Path(__file__).parents[3] / "docs" / "scripts.md"
    assert f"`{metric}`" in manual.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VERDICT_NAMES)
def test_a_rule_can_name_every_verdict(name: str) -> None:
    condition = Condition.parse(f"bottleneck={name}")
    assert condition.holds(name)
    assert not condition.holds("something else")
