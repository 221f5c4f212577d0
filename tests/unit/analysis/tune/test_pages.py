"""The page and the Markdown of a tuned server: they say what the report in the terminal says."""

from collections.abc import Sequence
from html import escape

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals.totals import RunResult
from loadtop.analysis.tune.sizing import TuneResult
from loadtop.analysis.tune.step import StepResult
from loadtop.reports.html import html
from loadtop.reports.tables import markdown
from loadtop.reports.tune_advice import advice, bars
from tests.unit.known import known
from tests.unit.recording.made import added_up, moments


@pytest.fixture(scope="module")
def test_of_a_minute() -> RunResult:
    return added_up(moments(8), command_line=("tune", "http://web1/"))


def test_they_have_the_knee_the_law_and_the_setting(
    test_of_a_minute: RunResult, flattening: Sequence[StepResult]
) -> None:
    tuned = TuneResult.of(flattening)
    found = advice(tuned)
    result = replace(test_of_a_minute, steps=tuple(flattening))
    page, text = html(result), markdown(result)
    for words in (found.knee, found.law, found.setting, found.caution):
        assert f">{escape(words)}<" in page
        assert words.replace("(", "").split(" ")[0] in text
    assert f"<pre><code>{escape(found.configuration.strip())}" in page
    assert all(f"    {line}\n" in text for line in found.configuration.splitlines())
    assert "MaxRequestWorkers   16" in found.configuration
    for name, workers, reason in found.bounds:
        assert f"<td>{name}</td><td>{workers}</td><td>{escape(reason)}</td>" in page
        assert f"| {name} | {workers} | " in text


def test_the_chart_has_a_bar_for_each_concurrency_and_marks_the_knee(
    test_of_a_minute: RunResult, flattening: Sequence[StepResult]
) -> None:
    tuned = TuneResult.of(flattening)
    page = html(replace(test_of_a_minute, steps=tuple(flattening)))
    assert page.count('<rect class="bar"') == len(list(bars(tuned))) == 5
    assert page.count('<line class="tick"') == 5
    assert f">{known(tuned.knee).rps:.0f} knee</text>" in page


def test_what_is_worse_beyond_the_knee_is_named(flattening: list[StepResult], swapping: list[StepResult]) -> None:
    *good, last = flattening
    slow, fails = [*good, replace(last, requests=2000)], [*good, replace(last, failed=2000)]
    ends = [advice(TuneResult.of(steps)).knee.rpartition(". ")[2] for steps in (slow, fails, swapping)]
    assert ends == ["Throughput falls at 16.", "Requests fail at 16.", "The server swaps at 8."]


def test_a_server_whose_workers_were_not_seen_has_the_knee_alone(
    test_of_a_minute: RunResult, flattening: Sequence[StepResult]
) -> None:
    unseen = tuple(replace(step, pools=()) for step in flattening)
    page = html(replace(test_of_a_minute, steps=unseen))
    assert "No recommendation" in page
    assert "<pre>" not in page


def test_other_tests_have_nothing_of_it(test_of_a_minute: RunResult, flattening: Sequence[StepResult]) -> None:
    other = replace(test_of_a_minute, steps=tuple(flattening), command_line=("-c", "8", "http://web1/"))
    assert "The knee" not in html(other)
    assert "The knee" not in markdown(other)
