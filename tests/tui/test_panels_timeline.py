"""Marks on the time line where it has no row for notes."""

from collections.abc import Callable
from dataclasses import replace

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import HEADROOM, Story
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance


async def test_each_mark_is_seen_also_behind_the_title(
    appearance: Appearance, screen_text: Callable[[Cockpit], list[str]]
) -> None:
    story = Story(seconds=600.0)
    snapshots = story.play(HEADROOM, 4) + story.play(replace(HEADROOM, marks=("early",))) + story.play(HEADROOM, 220)
    snapshots += story.play(replace(HEADROOM, marks=("late",))) + story.play(HEADROOM, 2)
    app = Cockpit(FakeFeed(snapshots), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        while not app.reader.view.snapshot or app.reader.view.snapshot.at < snapshots[-1].at:
            await pilot.pause()
        for _ in range(3):
            await pilot.pause()
        ceiling, _, axis = screen_text(app)[-4:-1]
    assert "time 10 s a letter" in ceiling
    assert (ceiling.index(appearance.glyphs.down), axis.index(appearance.glyphs.up)) == (24, 2)
    assert (ceiling.count(appearance.glyphs.down), axis.count(appearance.glyphs.up)) == (1, 1)
