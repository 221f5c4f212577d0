"""Which limit held when: bounded however long a test lasts, and exact about what held longest all the same."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals.timeline import Timeline
from loadtop.diagnosis.finding import Diagnosis, Evidence, Finding
from loadtop.i18n import Message
from loadtop.model import Frame, LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measured

NAMES = ("cpu", "swap", "none", "cpu", "network")


def load_of(**level: Any) -> LoadSample:
    return LoadSample(at=0.0, engine="builtin", state=LoadState.RUNNING, model="closed", elapsed_s=0.0, **level)


def snapshot(at: float, name: str, since: float, load: LoadSample | None = None, *, lingers: bool = False) -> Snapshot:
    evidence = (Evidence("m", "web1", at, 1.0, "%", "test"),)
    host = None if name == "none" else "web1"
    found = Finding(name, host, since, at - since, 1.0, evidence, Message("Advice."), lingers=lingers)
    frame = Frame(round(at), at, at, load, ())
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


def under(timeline: Timeline, name: str, start: int, end: int, *, lingers: bool = False, **level: Any) -> None:
    """Count intervals of 1 s with this verdict, under a load of this level."""
    for at in range(start + 1, end + 1):
        timeline.add(snapshot(float(at), name, float(start), load_of(**level), lingers=lingers), counted=True)


def shown(timeline: Timeline) -> list[tuple[str, str, float]]:
    return [(each.finding.bottleneck, str(each.level), each.seconds) for each in timeline.by_load()]


def test_limits_are_listed_by_load_the_highest_first_then_the_loads_without_a_limit() -> None:
    timeline = Timeline()
    under(timeline, "none", 0, 12, concurrency=8)
    under(timeline, "none", 12, 14, concurrency=20)
    under(timeline, "cpu", 14, 21, concurrency=20)
    under(timeline, "swap", 21, 30, concurrency=20)
    under(timeline, "network", 30, 60, concurrency=9)
    assert shown(timeline) == [
        ("swap", "c=20", 9.0),
        ("cpu", "c=20", 7.0),
        ("network", "c=9", 30.0),
        ("none", "c=8", 12.0),
    ]


def test_rates_are_loads_and_an_engine_may_tell_none() -> None:
    timeline = Timeline()
    under(timeline, "cpu", 0, 3, rate=50.0, concurrency=1000)
    under(timeline, "cpu", 3, 5, rate=12.5)
    under(timeline, "cpu", 5, 9)
    assert shown(timeline) == [("cpu", "rate=50", 3.0), ("cpu", "rate=12.5", 2.0), ("cpu", "", 4.0)]


def test_a_limit_that_lingers_belongs_to_the_load_that_reached_it() -> None:
    timeline = Timeline()
    under(timeline, "cpu", 0, 10, concurrency=20)
    under(timeline, "cpu", 10, 13, concurrency=8, lingers=True)
    under(timeline, "none", 13, 20, concurrency=8)
    assert shown(timeline) == [("cpu", "c=20", 13.0), ("none", "c=8", 7.0)]


def test_a_limit_counts_from_its_onset_for_the_load_that_ran_then() -> None:
    timeline = Timeline()
    under(timeline, "none", 0, 10, concurrency=8)
    timeline.add(snapshot(12.0, "cpu", 9.0, load_of(concurrency=20)), counted=True)
    assert shown(timeline) == [("cpu", "c=20", 2.0), ("cpu", "c=8", 1.0)]


def test_what_held_under_each_load_is_exact_although_spans_and_loads_were_joined() -> None:
    few, all_of_them = Timeline(most=20), Timeline(most=100_000)
    for timeline in (few, all_of_them):
        for number in range(500):
            under(timeline, NAMES[number % 5], 3 * number, 3 * number + 3, concurrency=number % 7)
    assert len(few.spans) <= 20
    assert sorted(shown(few)) == sorted(shown(all_of_them))
    assert few.longest() == all_of_them.longest()
    assert sum(seconds for _, _, seconds in shown(few)) == 3 * 500 * 4 / 5
