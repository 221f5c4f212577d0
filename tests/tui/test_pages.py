"""The pages over the cockpit, or instead of it: comparison, recordings, experiment, steps of a load, help."""

import os
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.analysis.experiment.plan import Cell, Variant
from loadtop.analysis.experiment.runner import ExperimentFeed, Progress, later
from loadtop.analysis.tune.knee import find_knee
from loadtop.analysis.tune.step import Sweep
from loadtop.cli import recordings
from loadtop.cli.options.parser import read
from loadtop.i18n import LANGUAGES
from loadtop.model import LoadLevel, Profile
from loadtop.pipeline.feed import TakeProfile
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.library import Recording
from tests.tui.fake_feed import FakeFeed, feed_of
from tests.tui.scenes import HEADROOM, Story, compared, moments, sweep_of
from tests.tui.stage import columns_end_together, lines_of, running, speaking, text_of
from tui.apps.terminal import PageApp
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role, length
from tui.screens.cockpit import CockpitScreen
from tui.screens.comparison import ComparisonPage, curves
from tui.screens.profile import ProfileScreen
from tui.screens.series import ExperimentScreen, StepsScreen, TuneScreen, table
from tui.screens.sessions import Chosen, SessionsPage
from tui.state.view import History, View

URL = "http://web1/"
FOUND = [Recording(Path(f"/state/{i}.loadtop"), float(i), 10.0, "http://web1/", "cpu") for i in range(40)]
DAMAGED = Recording(Path("/state/damaged.loadtop"), problem="it is no recording")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
async def test_page_can_be_read_to_its_end(appearance: Appearance, size: tuple[int, int]) -> None:
    app = PageApp[None](ComparisonPage(appearance, compared()))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = "\n".join(map(text_of, app.shown.page.lines))
        assert "A  headroom" in shown
        assert "B  swap" in shown
        await pilot.press("end")
        assert "0.05." in "\n".join(map(text_of, app.shown.page.lines))
        await pilot.press("home", "a")
        assert "a differences only" in text_of(app.shown.page.lines[-1])


def test_curves_begin_with_the_load(appearance: Appearance) -> None:
    runs = compared().runs
    late = deepcopy(runs)
    for run in late:
        run.series.began += 10
        run.series.at = [at + 10 for at in run.series.at]
    first, second = (list(map(text_of, curves(each, 116, appearance)))[:8] for each in (runs, late))
    assert first == second


def test_worse_is_reported_in_words_and_in_colour(appearance: Appearance) -> None:
    lines = ComparisonPage(appearance, compared()).text(116)
    assert "worse" in [span.text for line in lines for span in line if span.role is Role.BAD]


async def test_a_picture_of_it_can_be_saved(
    appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = PageApp[None](ComparisonPage(appearance, compared()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("p")
        assert "picture saved" in text_of(app.shown.page.lines[-1])
        await pilot.press("down")
        assert "q quit" in text_of(app.shown.page.lines[-1])
    assert len(os.listdir(tmp_path)) == 1  # noqa: PTH208 (pathlib's blocks)


async def left_with(app: PageApp[Chosen], *keys: str, click: int | None = None) -> Chosen | None:
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        if click is not None:
            await pilot.click(offset=(10, click))
            await pilot.pause()
    return app.return_value


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        (("enter",), Chosen("replay", (Path("/state/39.loadtop"),))),
        (("down", "down", "up", "r"), Chosen("replay", (Path("/state/38.loadtop"),))),
        (("end", "enter"), Chosen("replay", (Path("/state/0.loadtop"),))),
        (("space", "down", "space", "c"), Chosen("compare", (Path("/state/39.loadtop"), Path("/state/37.loadtop")))),
        (("q",), None),
    ],
)
async def test_chosen_by_keys(keys: tuple[str, ...], chosen: Chosen | None, appearance: Appearance) -> None:
    assert await left_with(PageApp[Chosen](SessionsPage(appearance, FOUND)), *keys) == chosen


async def test_chosen_by_mouse(appearance: Appearance) -> None:
    app = PageApp[Chosen](SessionsPage(appearance, FOUND, at=Path("/state/36.loadtop")))
    assert await left_with(app, click=5) == Chosen("replay", (Path("/state/36.loadtop"),))
    assert await left_with(PageApp[Chosen](SessionsPage(appearance, FOUND)), "q", click=None) is None


async def test_impossible_actions_are_reported(appearance: Appearance) -> None:
    app = PageApp[Chosen](SessionsPage(appearance, [*FOUND[:2], DAMAGED]))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("c")
        assert "select two or more" in text_of(app.shown.page.lines[-1])
        await pilot.press("end", "enter")
        assert "it is no recording" in text_of(app.shown.page.lines[-1])
        await pilot.press("space", "space", "home")
        assert "enter replay" in text_of(app.shown.page.lines[-1])
        await pilot.press("q")
    assert app.return_value is None


def test_a_window_that_is_closed_during_a_replay_ends_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a page that no one sees would follow, and wait for keys for ever."""
    shown: list[str] = []

    def run(_: PageApp[Chosen]) -> Chosen:
        shown.append("page")
        return Chosen("replay", (Path("a.loadtop"),))

    def replay(words: Sequence[str]) -> int:
        shown.append(words[0])
        return 0

    on_terminal = iter([True, False])
    monkeypatch.setattr(recordings, "recordings", lambda: [Recording(Path("a.loadtop"))])
    monkeypatch.setattr(recordings, "on_terminal", lambda: next(on_terminal))
    monkeypatch.setattr(PageApp, "run", run)
    monkeypatch.setattr(recordings, "run_command", replay)
    recordings.main(read(["sessions"]))
    assert shown == ["page", "replay"]


async def test_the_table_and_how_far_it_is(appearance: Appearance) -> None:
    cell = Cell(Variant(name="ten\x1b[31m processes", apply=("true",)), "", URL, LoadLevel(20), 1, (URL,))
    rows = ["variant  req/s", "ten        212"]

    def first(appearance: Appearance, view: View) -> ExperimentScreen:
        return ExperimentScreen(appearance, view, lambda: Progress(3, 12, cell, 75.0), lambda wide: [*rows, str(wide)])

    async with running(feed_of("headroom"), appearance, first=first) as (app, _):
        text = lines_of(app)
    assert "measurement 3 of 12  about 1 min 15 s left" in text[2]
    assert "ten?[31m processes c=20" in text[3]
    assert "variant  req/s" in text[5]
    assert "False" in text[7]


async def test_cells_follow_each_other_on_one_axis(tmp_path: Path) -> None:
    shown: list[Snapshot] = []
    snapshots = moments("swap")
    cell = FakeFeed(snapshots, stay=False)

    async def go() -> None:
        await feed.show_cell(cell)
        await feed.show_cell(cell)

    feed = ExperimentFeed(str(tmp_path), go)
    await feed.run(shown.append)
    assert len(shown) == 2 * len(snapshots)
    times = [snapshot.at for snapshot in shown]
    assert times == sorted(times)
    first, second = shown[len(snapshots) - 1], shown[-1]
    assert second.at == pytest.approx(2 * first.at)
    before, after = first.diagnosis.verdict, second.diagnosis.verdict
    assert after.since_s == pytest.approx(before.since_s + first.at)
    assert after.bottleneck is before.bottleneck


def test_nothing_else_changes() -> None:
    snapshot = moments("swap")[-1]
    assert later(later(snapshot, 7.0), -7.0).measured.hosts == snapshot.measured.hosts


async def test_the_table_is_there_at_once(appearance: Appearance) -> None:
    sweep = sweep_of("headroom")

    def first(appearance: Appearance, view: View) -> TuneScreen:
        return TuneScreen(appearance, view, lambda: sweep, lambda: None)

    async with running(feed_of("headroom"), appearance, first=first) as (app, pilot):
        assert isinstance(app.screen, TuneScreen)
        text = lines_of(app)
        assert "tune" in text[0]
        assert "connections for" in text[1]
        assert "throughput" in text[3]
        await pilot.press("escape")
        assert isinstance(app.screen, CockpitScreen)
        await pilot.press("t")
        assert isinstance(app.screen, TuneScreen)


async def test_every_load_has_a_table_of_its_steps(appearance: Appearance) -> None:
    """Also of those that a person made; an open load has none."""
    story = Story()
    snapshots = [
        snapshot for c in (5, 10, 20) for snapshot in story.play(replace(HEADROOM, concurrency=c, rps=20.0 * c), 8)
    ]
    async with running(FakeFeed(snapshots), appearance) as (app, pilot):
        await pilot.press("t")
        text = lines_of(app)
        assert "steps" in text[0]
        assert "2 steps measured, now 20 connections" in text[1]
        assert [line.split()[1:3] for line in text[4:7]] == [["5", "100"], ["10", "200"], ["20", "400"]]
        await pilot.press("t")
        assert isinstance(app.screen, CockpitScreen)


async def test_a_machine_that_is_only_watched_has_no_steps(appearance: Appearance) -> None:
    async with running(feed_of("watching"), appearance) as (app, pilot):
        await pilot.press("t")
        assert "Watching only: no load is generated." in lines_of(app)[1]


def test_the_table_of_steps_before_the_first_figures(appearance: Appearance) -> None:
    text = StepsScreen(appearance, View(URL, "", 1.0, History()), Sweep).text(76)
    assert [text_of(line) for line in text] == [f"{URL}  starting", "", "A step appears after 5 intervals."]


@given(st.integers(56, 236), st.sampled_from(LANGUAGES))
def test_rows_of_steps_fit_and_their_columns_are_aligned(appearance: Appearance, cells: int, spoken: str) -> None:
    running = sweep_of("headroom").running
    assert running is not None
    verdict = replace(running.verdict, bottleneck="nginx-connections")
    slow = replace(running, concurrency=2000, verdict=verdict, requests=21_000 * round(running.seconds))
    with speaking(spoken):
        lines = table([running, slow], running, find_knee([running, slow]), cells, appearance.glyphs)
    assert len(lines) == 4
    assert all(length(line) <= cells for line in lines)
    if spoken == "en":
        columns_end_together(lines, ["c", "req/s", "p99"])


async def test_the_end_of_a_page_is_a_key_away(appearance: Appearance) -> None:
    async with running(FakeFeed([]), appearance) as (app, pilot):
        for key, seen in (("question_mark", " more ─╯"), ("end", "never as 0"), ("home", "Keys")):
            await pilot.press(key)
            assert seen in "".join(lines_of(app))


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_profile_of_a_host(appearance: Appearance, size: tuple[int, int]) -> None:
    """The key takes one and waits for it; on the page it takes a new one."""
    stacks = (("httpd;main;md5", 3), ("httpd;main", 1))
    *before, last = moments("headroom")
    frame = replace(last.measured.frame, profiles=(Profile("web1", "perf", stacks),))
    feed = FakeFeed(before)
    async with running(feed, appearance, size) as (app, pilot):
        await pilot.press("P")
        screen = cast("ProfileScreen", app.screen)
        assert "Profiling web1 for 5 s." in "\n".join(map(text_of, screen.page.lines))
        app.reader.receive(replace(last, measured=replace(last.measured, frame=frame)))
        await pilot.pause()
        shown = "\n".join(map(text_of, screen.page.lines))
        assert "CPU time of web1 (perf, 5 s, 4 samples)" in shown
        for row in ("75.0 %  md5 (httpd)", "25.0 %  main (httpd)", "100.0 %    main", "75.0 %      md5"):
            assert row in shown
        app.reader.view.history.profiles["web1"] = 1.0, replace(frame.profiles[0], stacks=(("a;b", 5), ("c", -5)))
        await pilot.press("down")
        assert "500.0 %    b" in "\n".join(map(text_of, screen.page.lines))
        await pilot.press("escape", "P")
        assert feed.commands == [TakeProfile("web1")]
        await pilot.press("P")
        assert feed.commands == [TakeProfile("web1")] * 2


@pytest.mark.parametrize(("seconds", "verdict"), [(50, "cpu"), (9, "none")])
async def test_the_hottest_functions_are_evidence_of_a_full_cpu(
    appearance: Appearance, seconds: int, verdict: str
) -> None:
    *before, last = moments("done")[:seconds]
    assert last.diagnosis.verdict.bottleneck == verdict
    profile = Profile("web1", "perf", (("httpd;main;md5", 3), ("httpd;main", 1)))
    frame = replace(last.measured.frame, profiles=(profile,))
    feed = FakeFeed([*before, replace(last, measured=replace(last.measured, frame=frame))])
    async with running(feed, appearance, (120, 40)) as (app, pilot):
        await pilot.press("e")
        shown = "\n".join(lines_of(app))
        rows = ("00:49  CPU time of web1 (perf, 5 s, 4 samples)", "75.0 %  md5 (httpd)", "25.0 %  main (httpd)")
        assert [row in shown for row in rows] == [verdict == "cpu"] * 3
