"""Long tests in little memory: neighbours become one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.analysis.comparison import Run, compare
from loadtop.analysis.totals import series
from loadtop.analysis.totals.series import (
    BREAKDOWN,
    MEAN_MS,
    MOST_PARTS,
    UNEXPLAINED_MS,
    Series,
    SeriesTotals,
    part_series,
)
from loadtop.analysis.totals.settings import LOAD
from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from loadtop.model import LoadState
from loadtop.pipeline.snapshot import Snapshot
from tests.unit.known import known
from tests.unit.recording.made import added_up, moments, under_load, with_frame

RPS = (LOAD, "rps")
Speed = Callable[[int], float | None]


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """One with rates of its load."""
    return next(each for each in moments(9) if each.measured.load_rates is not None)


def _moments(snapshot: Snapshot, count: int, speed: Speed, step_s: int = 10**6) -> list[Snapshot]:
    return [under_load(snapshot, float(i + 1), speed(i), 1 + i // step_s) for i in range(count)]


def _series(snapshots: list[Snapshot]) -> Series:
    found = SeriesTotals()
    for each in snapshots:
        found.add(each)
    return found.series


def test_a_short_test_is_kept_as_it_is(snapshot: Snapshot) -> None:
    found = _series(_moments(snapshot, 100, float))
    assert (found.width, list(found.of(*RPS))) == (1, list(range(100)))


def test_a_load_is_named_as_soon_as_the_engine_tells_it(snapshot: Snapshot) -> None:
    found = _moments(snapshot, 4, float)
    levels = {0: (None, None), 1: (None, 50.0), 2: (20, None), 3: (None, None)}
    loads = {
        at: replace(known(found[at].measured.load), step=1 + at // 3, concurrency=c, rate=rate)
        for at, (c, rate) in levels.items()
    }
    told = [with_frame(each, load=loads[at]) for at, each in enumerate(found)]
    assert _series(told).loads == {1: "50/s"}
    assert _series([told[0], told[2]]).loads == {1: "c=20"}


def test_the_parts_of_the_time_of_a_request_are_kept_as_series(snapshot: Snapshot) -> None:
    """A part that is missing took no time; one that was not measured has no value."""
    database, cpu = part_series("dependency", "web1", "10.0.0.5:3306"), part_series("cpu", "web1", "apache")
    shares: list[tuple[Share, ...] | None] = [
        (Share(Part.CPU, "web1", "apache", 5.0),),
        (Share(Part.CPU, "web1", "apache", 6.0), Share(Part.DEPENDENCY, "web1", "10.0.0.5:3306", 30.0)),
        (Share(Part.CPU, "web1", "apache", 7.0),),
        (Share(Part.CPU, None, None, None),),
        None,
    ]
    found = _series(
        [
            replace(each, breakdown=Breakdown(10, 40.0, its))
            for each, its in zip(_moments(snapshot, len(shares), float), shares, strict=True)
        ]
    )
    assert found.of(BREAKDOWN, cpu) == [5.0, 6.0, 7.0, None, None]
    assert found.of(BREAKDOWN, database) == [0.0, 30.0, 0.0, 0.0, None]
    assert found.of(BREAKDOWN, MEAN_MS) == [40.0, 40.0, 40.0, 40.0, None]
    assert found.of(BREAKDOWN, UNEXPLAINED_MS) == [35.0, 4.0, 33.0, 40.0, None]


def test_the_series_of_parts_are_bounded(snapshot: Snapshot) -> None:
    """There may be a lock of a new file in each interval."""
    locks = (Breakdown(1, 9.0, (Share(Part.LOCK, "web1", f"/{number}", 9.0),)) for number in range(2 * MOST_PARTS))
    moments = _moments(snapshot, 2 * MOST_PARTS, float)
    found = _series([replace(each, breakdown=lock) for each, lock in zip(moments, locks, strict=True)])
    assert len(found.values[BREAKDOWN]) == MOST_PARTS + 2


def test_an_interval_that_the_end_of_the_load_cuts_short_goes_into_the_point_before(snapshot: Snapshot) -> None:
    """Thirty requests in its 10 ms are no throughput of 3000 requests/s."""
    *before, last = _moments(snapshot, 10, lambda _: 100.0)
    load, rates = known(last.load), known(last.measured.load_rates)
    frame = replace(last.measured.frame, at=9.01, load=replace(load, state=LoadState.DONE))
    short = replace(rates, seconds=0.01 * rates.seconds, rps=3000.0)
    found = _series([*before, Snapshot(replace(last.measured, frame=frame, load_rates=short), last.diagnosis)])
    assert (found.at[-2:], found.counts) == ([8.0, 9.01], [1] * 9)
    assert found.of(*RPS) == pytest.approx([*[100.0] * 8, (100.0 + 0.01 * 3000.0) / 1.01])


@pytest.mark.parametrize("count", [16, 17, 64, 500, 501])
def test_a_long_one_keeps_the_mean(snapshot: Snapshot, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "POINTS", 16)
    found = _series(_moments(snapshot, count, float))
    values = list(found.of(*RPS))
    assert len(values) == len(found.at) == len(found.of(LOAD, "p99_peak")) <= 16
    assert found.is_whole
    assert values[0] == 0.0
    assert found.at[-1] == count
    # Each point is the mean of the intervals that end after the point before and no later than itself.
    for i, value in enumerate(values[1:-1], start=1):
        first, last = found.at[i - 1], found.at[i] - 1
        assert value == pytest.approx((first + last) / 2)
        assert last - first + 1 == found.width


def test_unmeasured_values_count_for_nothing(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "POINTS", 8)
    found = _series(_moments(snapshot, 200, lambda i: 5.0 if i % 3 == 0 and i < 150 else None))
    values = list(found.of(*RPS))
    assert len(values) == len(found.at)
    assert {value for value in values if value is not None} == {5.0}
    assert values[-1] is None


def test_steps_stay_apart(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "POINTS", 16)
    found = _series(_moments(snapshot, 400, lambda i: float(i // 100), step_s=100))
    assert len(found.at) <= 16 + 4
    assert found.loads == {1: "c=2", 2: "c=4", 3: "c=8", 4: "c=16"}
    assert [value + 1 for value in found.of(*RPS) if value is not None] == list(found.steps)
    # The first interval of a step is left out of comparisons, so nothing may be added to it.
    starts = [at for at, step, before in zip(found.at, found.steps, [0, *found.steps], strict=False) if step != before]
    assert starts == [1.0, 101.0, 201.0, 301.0]


def test_very_many_steps_take_no_time(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(series, "POINTS", 8)
    found = _series(_moments(snapshot, 300, float, step_s=2))
    assert len(found.at) == 300
    assert found.width <= 64


def _run(snapshots: list[Snapshot]) -> Run:
    return Run(Path("a.loadtop"), added_up(snapshots))


@pytest.mark.parametrize(("slower", "said"), [(1.0, "no difference"), (0.7, "worse")])
def test_a_day_is_judged_as_an_hour_is(
    snapshot: Snapshot, slower: float, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series, "POINTS", 32)
    first = _run(_moments(snapshot, 300, lambda i: 100.0 + i % 7))
    other = _run(_moments(snapshot, 270, lambda i: slower * (100.0 + i % 5)))
    found = compare([first, other], 10)
    assert found.overall(1) == said
    (row,) = [row for row in found.tables[0].rows if (row.of, row.metric.name) == RPS]
    assert row.samples[0] is not None
    assert row.samples[0].intervals == pytest.approx(270, abs=2 * first.series.width)


def test_a_short_run_is_held_to_the_beginning_of_a_long_one(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def speed(i: int) -> float:
        return 100.0 + i % 3 if i < 40 else 500.0

    short = _run(_moments(snapshot, 40, speed))
    monkeypatch.setattr(series, "POINTS", 16)
    day = _run(_moments(snapshot, 300, speed))
    monkeypatch.undo()
    day.beginning = _series(_moments(snapshot, 40, speed))
    found = compare([day, short], 10)
    assert found.overall(1) == "no difference"
    samples = [row.samples for row in found.tables[0].rows if (row.of, row.metric.name) == RPS]
    assert [each.count for pair in samples for each in pair if each is not None] == [39, 39]
