"""Rules of --fail-if."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.condition import Condition, ConditionError, Watchdog
from loadtop.diagnosis.verdict import Diagnoser
from loadtop.model import Frame
from loadtop.moment import Measurer, Moment

SUMMARY: dict[str, Any] = {
    "load": {"requests": 1000, "failed": 20, "non_2xx": 0, "rps": 99.0, "latency_ms": {"p99": 510.0, "mean": 100.0}},
    "verdict": {"bottleneck": "swap"},
    "hosts": [
        {"name": "web", "cpu": {"idle": {"mean": 4.0}, "steal": None}, "load1": {"mean": 3.0}, "apache": None},
        {"name": "db", "cpu": {"idle": {"mean": 80.0}, "steal": None}, "load1": None, "apache": None},
    ],
}


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("p99>500ms", True),
        ("p99>0.5s", True),
        ("p99 > 511 ms", False),
        ("p99>=510ms", True),
        ("mean>100000us", False),
        ("failed>1%", True),
        ("failed>2%", False),
        ("failed>19", True),
        ("failed>20", False),
        ("non_2xx>0", False),
        ("rps<100", True),
        ("rps<100/s", True),
        ("bottleneck=swap", True),
        ("bottleneck==cpu", False),
        ("bottleneck!=none", True),
        ("web.cpu.idle<5%", True),
        ("db.cpu.idle<5%", False),
        ("cpu.idle<5%", True),
        ("web.cpu.steal<5%", False),
        ("apache.busy>1", False),
        ("load1>2", True),
    ],
)
def test_a_rule_without_a_time_is_about_the_whole_run(text: str, broken: bool) -> None:
    assert Watchdog([Condition.parse(text)]).broken(SUMMARY) == ([text] if broken else [])


@pytest.mark.parametrize(
    "text", ["", "p99", "p99>", ">5", "p99>x ms", "rps>5ms", "bottleneck>swap", "p99>5ms for", "a=b"]
)
def test_what_cannot_be_read_says_what_can(text: str) -> None:
    with pytest.raises(ConditionError):
        Condition.parse(text)


@given(st.text())
def test_any_text_is_a_rule_or_a_clear_error(text: str) -> None:
    try:
        Condition.parse(text)
    except ConditionError as error:
        assert str(error)  # noqa: PT017 - both outcomes are right; only another exception is not


def test_a_rule_with_a_time_holds_only_after_that_time_in_a_row(
    machine: Any, load: Any, frame_of: Callable[..., Frame]
) -> None:
    condition = Condition.parse("web1.cpu.idle<5% for 3s")
    measurer, diagnoser = Measurer(), Diagnoser()

    def watch(busy: list[float]) -> bool:
        watchdog = Watchdog([condition])
        for number, share in enumerate(busy):
            measured = measurer.measure(frame_of(number, load.sample(), machine.state(busy=(share, share))))
            watchdog.add(Moment(measured, diagnoser.diagnose(measured)))
        return bool(watchdog.broken(SUMMARY))

    assert not watch([0, 99, 99, 0, 99, 99, 0])
    assert watch([0, 99, 99, 99, 0])
