"""What is sent to the terminal: only what changed, in the size that it has."""

import re
from collections.abc import Callable

from msgspec.structs import replace
from textual import events
from textual._compositor import ChopsUpdate
from textual.geometry import Size
from textual.screen import Screen

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import BUSY, HEADROOM, Scene, Story, moments
from tests.tui.stage import lines_of
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance


async def update(
    appearance: Appearance, change: Callable[[Cockpit, Story], None], scene: Scene = HEADROOM
) -> tuple[ChopsUpdate, str]:
    """The only update that is displayed because of ``change``, after 40 s of a scene; and what is sent for it."""
    app, story, found = Cockpit(FakeFeed([]), appearance=appearance), Story(), list[ChopsUpdate]()

    def display(_: Screen[object], renderable: object) -> None:
        if isinstance(renderable, ChopsUpdate):
            found.append(renderable)

    async with app.run_test(size=(80, 24)) as pilot:
        receive(app, story, scene, 40)
        await pilot.pause()
        app._display = display  # type: ignore[method-assign,assignment]
        change(app, story)
        await pilot.pause()
    (only,) = found
    return only, only.render_segments(app.console)


def receive(app: Cockpit, story: Story, scene: Scene, seconds: int = 1) -> None:
    for snapshot in story.play(scene, seconds):
        app.reader.receive(snapshot)


def cells_of(found: ChopsUpdate) -> int:
    return sum(last - first for _, first, last in found.spans)


async def test_few_changed_numbers_redraw_few_cells(appearance: Appearance) -> None:
    then = replace(HEADROOM, rps=213.0, available_kb=300_000)
    found, sent = await update(appearance, lambda app, story: receive(app, story, then))
    assert 3 <= cells_of(found) < 100
    assert len(sent.encode()) < 600
    assert "\x1b[2J" not in sent


async def test_the_same_again_moves_only_the_clocks_and_graphs(appearance: Appearance) -> None:
    found, _ = await update(appearance, lambda app, story: receive(app, story, HEADROOM))
    assert cells_of(found) < 60


async def test_the_first_key_is_answered_at_once_also_under_a_limit(appearance: Appearance) -> None:
    """It chooses the verdict, whose frame has a colour of its own: nothing new on the screen looks like a slow key."""
    found, _ = await update(appearance, lambda app, _: app.action_tab(1), BUSY)
    assert found.spans


async def test_only_changes_are_sent(appearance: Appearance) -> None:
    """The cells of the spans, and no cell beside them: a terminal that plays them shows the new screen."""
    then = replace(HEADROOM, rps=400.0, busy=31, user=60.0)
    found, sent = await update(appearance, lambda app, story: receive(app, story, then))
    assert len(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", sent)) == cells_of(found)


async def test_the_stretches_that_are_sent_hold_all_that_changed(appearance: Appearance) -> None:
    app, story = Cockpit(FakeFeed([]), appearance=appearance), Story()
    found: list[ChopsUpdate] = []

    def keep(_: object, renderable: object) -> None:
        if isinstance(renderable, ChopsUpdate):
            found.append(renderable)

    async with app.run_test(size=(80, 24)) as pilot:
        receive(app, story, HEADROOM, 40)
        await pilot.pause()
        screen = [list(line) for line in lines_of(app)]
        app._display = keep  # type: ignore[method-assign,assignment]
        receive(app, story, BUSY, 3)
        await pilot.pause()
        after = [list(line) for line in lines_of(app)]
    for each in found:
        for y, first, last in each.spans:
            screen[y][first:last] = after[y][first:last]
    assert found
    assert screen == after


async def test_what_is_typed_is_shown_though_panels_change_with_it(appearance: Appearance) -> None:
    """Each letter of a filter changes the table of processes too: both are in what is sent."""
    app = Cockpit(FakeFeed([]), appearance=appearance)
    last = 23

    async with app.run_test(size=(80, 24)) as pilot:
        receive(app, Story(), HEADROOM, 5)
        await pilot.press("slash")
        found: list[object] = []
        app._display = lambda _, update: found.append(update)  # type: ignore[method-assign,assignment]
        await pilot.press("m")
    sent = {row for update in found if isinstance(update, ChopsUpdate) for row, _, _ in update.spans}
    assert last in sent
    assert len(sent) > 1


async def test_sizes_that_overtake_each_other_end_with_the_terminals(appearance: Appearance) -> None:
    app = Cockpit(FakeFeed(moments("headroom")), appearance=appearance)
    async with app.run_test(size=(80, 25)) as pilot:
        await pilot.pause()
        layouts: list[Size] = []
        lay_out = app.screen._refresh_layout  # pyright: ignore[reportPrivateUsage]

        def counted(size: Size | None = None, scroll: bool = False) -> None:
            layouts.append(size or Size())
            assert len(layouts) < 50
            lay_out(size, scroll)

        app.screen._refresh_layout = counted  # type: ignore[method-assign]
        for size in (Size(80, 24), Size(80, 25), Size(80, 24)):
            app.screen.post_message(events.Resize(size, size))
        await pilot.pause()
        assert set(layouts) <= {Size(80, 25)}
        assert app.screen.region.size == Size(80, 25)
