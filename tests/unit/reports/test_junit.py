"""Rules as JUnit XML: read by another program, and whole whatever a server or a person wrote."""

from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.analysis.fail_if import Condition, Watchdog
from loadtop.reports.junit import junit
from tests.junit import Case, cases_of

SUMMARY: dict[str, Any] = {
    "url": "http://web1/", "started": "2026-11-23T01:55:03+00:00", "duration_s": 10.04,
    "verdict": {"bottleneck": "swap"}, "hosts": [],
    "load": {"failed": 3, "non_2xx": None, "requests": 200, "latency_ms": {"p99": 612.4}},
}  # fmt: skip


def cases(*rules: str, error: str = "") -> list[Case]:
    outcomes = Watchdog([Condition.parse(rule) for rule in rules]).outcomes(SUMMARY)
    return cases_of(junit(SUMMARY, outcomes, "A report.", error))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("p99>500ms", "p99>500ms: 612 ms"),
        ("failed>1%", "failed>1%: 1.5 %"),
        ("failed>=3", "failed>=3: 3"),
        ("bottleneck=swap", "bottleneck=swap: swap"),
    ],
)
def test_a_rule_that_holds_is_a_failure_with_the_measured_value(rule: str, said: str) -> None:
    assert cases(rule) == [Case(rule, "Failure", said)]


def test_a_rule_that_does_not_hold_passes() -> None:
    assert cases("p99>1s") == [Case("p99>1s", "", "")]


def test_a_rule_about_an_unmeasured_value_is_skipped() -> None:
    assert cases("non_2xx>1%") == [Case("non_2xx>1%", "Skipped", "not measured")]


def test_without_a_load_every_rule_is_an_error() -> None:
    why = "connection refused by web1"
    assert cases("p99>1s", "p99>500ms", error=why) == [Case(rule, "Error", why) for rule in ("p99>1s", "p99>500ms")]


def test_without_a_rule_there_is_no_test_case() -> None:
    assert cases() == []


def test_the_suite_names_target_start_and_duration() -> None:
    suite = ET.fromstring(junit(SUMMARY, [], "Two\nlines.").encode())[0]  # noqa: S314 - made here
    assert suite.get("name") == "loadtop http://web1/"
    assert (suite.get("time"), suite.get("timestamp")) == ("10.040", "2026-11-23T01:55:03")
    assert suite.findtext("system-out") == "Two\nlines."


@given(st.text())
def test_any_text_leaves_it_whole(text: str) -> None:
    rule = Watchdog([Condition.parse("p99>500ms")]).outcomes(SUMMARY)
    written = junit({**SUMMARY, "url": text}, rule, text, text)
    assert len(ET.fromstring(written.encode())) == 1  # noqa: S314 - made here
