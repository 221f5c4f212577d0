"""Following a feed: painted before it starts, nothing queues up, every moment is kept, and its end is reported."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from loadtop.model import LoadState
from loadtop.pipeline.feed import Command
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import HEADROOM, Story, moments
from tests.tui.stage import lines_of, running
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.state.view import History


async def test_the_first_screen_is_painted_before_the_feed_starts(appearance: Appearance) -> None:
    seen: list[str] = []

    class Watching(FakeFeed):
        async def run(self, show: Callable[[Snapshot], None]) -> None:
            seen.extend(lines_of(app))
            await super().run(show)

    app = Cockpit(Watching(moments("headroom")), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
    assert "http://web1/index.php" in seen[0]
    assert "STARTING" in seen[1]
    assert "q quit" in seen[-1]


async def test_only_the_newest_is_drawn_and_every_moment_is_kept(appearance: Appearance) -> None:
    snapshots = moments("headroom")
    drawn: list[float] = []
    async with running(FakeFeed([]), appearance) as (app, pilot):
        show_view = app.screen.show_view  # type: ignore[attr-defined]

        def show(view: object) -> None:
            drawn.append(app.reader.view.snapshot.at if app.reader.view.snapshot else -1.0)
            show_view(view)

        app.screen.show_view = show  # type: ignore[attr-defined]
        for snapshot in snapshots:
            app.reader.receive(snapshot)
        await pilot.pause()
    assert drawn == [snapshots[-1].at]
    assert app.reader.view.history.rps.total == len(snapshots)


@pytest.mark.parametrize(("seconds", "drawn"), [(0.1, [212.0]), (1.0, [212.0, 300.0])])
def test_what_the_end_of_the_load_cuts_short_draws_no_spike(seconds: float, drawn: list[float]) -> None:
    story = Story()
    *_, before, end = story.play(HEADROOM, 6) + story.play(replace(HEADROOM, state=LoadState.DONE), 1)
    rates = end.measured.load_rates
    assert rates is not None
    short = replace(end.measured, load_rates=replace(rates, seconds=0.1, rps=3000.0))
    frame = replace(short.frame, at=before.at + seconds)
    history = History(1.0, before.at - 1.0)
    history.add(before)
    history.add(Snapshot(replace(short, frame=frame), end.diagnosis))
    assert list(history.rps) == pytest.approx(drawn)
    assert history.timeline.spans[-1].end == frame.at


async def test_a_feed_that_ends_is_reported_and_the_cockpit_stays(appearance: Appearance) -> None:
    async with running(FakeFeed(moments("headroom"), stay=False), appearance) as (app, pilot):
        lines = lines_of(app)
        assert "DONE" in lines[1]
        assert "press q for the report" in lines[1]
        await pilot.press("q")
    assert app.return_value is None
    assert app.reader.failure is None


async def test_a_feed_that_breaks_is_reported_and_the_cockpit_stays(appearance: Appearance) -> None:
    feed = FakeFeed(moments("headroom"), stay=False)
    feed.failure = OSError("the disk \x1b[31mis full")
    async with running(feed, appearance) as (app, pilot):
        lines = lines_of(app)
        assert "MEASUREMENT FAILED" in lines[1]
        assert "the disk ?[31mis full" in lines[2]
        assert app.is_running
        await pilot.press("q")
    assert app.reader.failure is feed.failure


async def test_leaving_cancels_the_feed_and_waits_for_it(appearance: Appearance) -> None:
    closed: list[str] = []

    class Slow(FakeFeed):
        async def run(self, show: Callable[[Snapshot], None]) -> None:
            try:
                await super().run(show)
            finally:
                await asyncio.sleep(0.01)
                closed.append("closed")

    async with running(Slow(moments("headroom")), appearance) as (app, pilot):
        await pilot.press("ctrl+c")
    await app.reader.close()
    assert closed == ["closed"]


async def test_commands_before_the_first_moment_are_harmless(appearance: Appearance) -> None:
    class Silent(FakeFeed):
        def command(self, command: Command) -> None:
            raise AssertionError(command)

    async with running(Silent([]), appearance) as (app, pilot):
        await pilot.press("+", "-", "s", "h", "e", "escape", "z", "z", "space", "space", "tab")
        assert app.is_running
