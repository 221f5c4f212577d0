"""Which limit held when: bounded however long a test lasts, and exact about what held longest all the same."""

from dataclasses import replace

import pytest

from loadtop.analysis.totals.timeline import Timeline
from loadtop.diagnosis.finding import Diagnosis, Evidence, Finding
from loadtop.i18n import Message
from loadtop.model import Frame
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measured

NAMES = ("cpu", "swap", "none", "cpu", "network")


def snapshot(at: float, name: str, since: float) -> Snapshot:
    evidence = (Evidence("m", "web1", at, 1.0, "%", "test"),)
    host = None if name == "none" else "web1"
    found = Finding(name, host, since, at - since, 1.0, evidence, Message("Advice."))
    frame = Frame(round(at), at, at, None, ())
    return Snapshot(Measured(frame, None, ()), Diagnosis(found, () if name == "none" else (found,)))


def flap(timeline: Timeline, times: int) -> None:
    """Verdicts of 3, 4, 5, 6 and 7 s in turn."""
    at = 0.0
    for number in range(times):
        since = at
        for _ in range(3 + number % 5):
            at += 1.0
            timeline.add(snapshot(at, NAMES[number % 5], since), counted=True)


def test_spans_stay_bounded_when_the_verdict_flaps_for_days() -> None:
    timeline = Timeline(most=200)
    flap(timeline, 5000)
    assert len(timeline.spans) <= 200
    assert timeline.spans[0].start == 0.0
    assert timeline.spans[-1].end == 25_000.0
    starts = [span.start for span in timeline.spans[1:]]
    assert starts == [span.end for span in timeline.spans[:-1]]


def test_what_held_longest_is_exact_although_spans_were_joined() -> None:
    few, all_of_them = Timeline(most=100), Timeline(most=100_000)
    for timeline in (few, all_of_them):
        flap(timeline, 2000)
    found, expected = few.longest(), all_of_them.longest()
    assert found is not None
    assert expected is not None
    assert (found[0].bottleneck, found[1]) == ("cpu", 0.0)
    assert found[2] == pytest.approx(expected[2]) == 400 * 9
    assert found[0] == replace(expected[0])


def test_the_other_limits_follow_by_how_long_they_held_without_the_stretches_of_none() -> None:
    timeline = Timeline()
    flap(timeline, 10)
    assert timeline.others() == [(("network", "web1"), 14.0), (("swap", "web1"), 8.0)]
