"""The table of a sweep in the cockpit: there at once, behind escape, and with what to set at the end."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadtop.analysis.tune.step import Sweep
from tests.tui.fake_feed import FakeFeed
from tests.tui.lines import text_of
from tests.tui.scenes import HEADROOM, SCENES, Story
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.drawing.line import length
from tui.screens.cockpit import CockpitScreen
from tui.screens.series import TuneScreen, table


@pytest.fixture
def sweep() -> Sweep:
    """A sweep of one step, which is still running."""
    found = Sweep()
    for snapshot in SCENES["headroom"]():
        found.add(snapshot)
    return found


async def test_the_table_is_there_at_once(
    feed_of: Callable[[str], FakeFeed],
    appearance: Appearance,
    sweep: Sweep,
    screen_text: Callable[[Cockpit], list[str]],
) -> None:
    app = Cockpit(
        feed_of("headroom"),
        appearance=appearance,
        first=lambda appearance, view: TuneScreen(appearance, view, lambda: sweep, lambda: None),
    )
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause()
        assert isinstance(app.screen, TuneScreen)
        text = screen_text(app)
        assert "tune" in text[0]
        assert "connections for" in text[1]
        assert "throughput" in text[3]
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, CockpitScreen)
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, TuneScreen)


async def test_every_load_has_a_table_of_its_steps(
    appearance: Appearance, screen_text: Callable[[Cockpit], list[str]]
) -> None:
    """Also of those that a person made; an open load has none."""
    story = Story()
    snapshots = [
        snapshot for c in (5, 10, 20) for snapshot in story.play(replace(HEADROOM, concurrency=c, rps=20.0 * c), 8)
    ]
    app = Cockpit(FakeFeed(snapshots), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        text = screen_text(app)
        assert "steps" in text[0]
        assert "2 steps measured, now 20 connections" in text[1]
        assert [line.split()[1:3] for line in text[4:7]] == [["5", "100"], ["10", "200"], ["20", "400"]]
        await pilot.press("t")
        await pilot.pause()
        assert isinstance(app.screen, CockpitScreen)


async def test_a_machine_that_is_only_watched_has_no_steps(
    feed_of: Callable[[str], FakeFeed], appearance: Appearance, screen_text: Callable[[Cockpit], list[str]]
) -> None:
    app = Cockpit(feed_of("watching"), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert "There are no steps" in screen_text(app)[1]


@pytest.mark.parametrize("cells", [56, 76, 116, 196])
def test_rows_fit(cells: int, appearance: Appearance, sweep: Sweep) -> None:
    running = sweep.running
    assert running is not None
    lines = table([running, running], running, None, cells, appearance.glyphs)
    assert len(lines) == 4
    assert all(length(line) <= cells for line in lines)
    assert str(running.concurrency) in text_of(lines[1])
