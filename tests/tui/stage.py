"""Apps without a terminal: when they have nothing left to do, what is on their screen, and in which role.

:func:`until_idle` takes the place of Textual's own wait, which sleeps until the process has been quiet for 20 ms.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Sequence
from functools import cached_property, partial
from signal import Signals
from typing import Any, cast

from rich.style import Style
from textual import events
from textual._context import active_app
from textual.app import App
from textual.geometry import Region, Size
from textual.pilot import Pilot
from textual.strip import Strip

from loadtop.i18n import language, set_language
from tests.tui.fake_feed import FakeFeed
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance, Glyphs
from tui.drawing.line import Line, Role, Span, width
from tui.screens.cockpit import CockpitScreen
from tui.state.view import View

ROLES = {role: Style.parse(f"color({number})") for number, role in enumerate(Role, 16)}
"""A palette in which each role has a style that no other has: with it a screen tells the role of each cell."""

_ROLE_OF = {style: role for role, style in ROLES.items()}

Cell = tuple[str, Role | None]
"""A character, empty for the second half of a wide one, and its role; None for what Textual draws itself."""


async def until_idle(_: float = 0.0, most_s: float = 20.0) -> None:
    """Wait until every task waits for a key, a time or another process, and everything is painted."""
    app = active_app.get()
    ready = cast("Any", asyncio.get_running_loop())._ready
    end = time.monotonic() + most_s
    while True:
        await asyncio.sleep(0)
        if not ready and not _paint(app):
            return
        assert time.monotonic() < end, "the app is never done"


async def until(holds: Callable[[], bool], most_s: float = 20.0) -> None:
    """Wait for what a timer or another process brings."""
    end = time.monotonic() + most_s
    while not holds():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
        await until_idle()


def _paint(app: "App[Any]") -> bool:
    """Do what waits for one of Textual's short timers: a new size, or the screen's next tick. Whether there was any."""
    private = cast("Any", app)
    if not app.is_running or not private._screen_stack:
        return False
    if private._resize_timer is not None:
        private._check_resize()
        return True
    screen = cast("Any", app.screen)
    required = (screen._layout_required, screen._scroll_required, screen._repaint_required, screen._recompose_required)
    due = any(required) or bool(screen._dirty_widgets) or bool(screen._callbacks)
    if due:
        screen._on_timer_update()
    return due


def text_of(spans: Iterable[Span]) -> str:
    """A line as plain text."""
    return "".join(span.text for span in spans)


def columns_end_together(lines: Sequence[Line], headings: Sequence[str]) -> None:
    """Figures end below the last character of their heading, with a blank after it."""
    head, *rows = [text_of(line) for line in lines]
    for heading in headings:
        end = head.index(heading) + len(heading)
        for row in rows:
            assert row[end - 1] != " ", (heading, row)
            assert row[end : end + 1] in ("", " "), (heading, row)


def strips_of(app: "App[Any]") -> list[Strip]:
    return app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


def lines_of(app: "App[Any]") -> list[str]:
    """The lines of the screen, without roles."""
    return [strip.text for strip in strips_of(app)]


@contextlib.asynccontextmanager
async def running(
    feed: FakeFeed, appearance: Appearance, size: tuple[int, int] = (80, 24), **settings: Any
) -> AsyncGenerator[tuple[Cockpit, "Pilot[Signals]"]]:
    """The cockpit after it has shown all that the feed gives at once."""
    app = Cockpit(feed, appearance=appearance, **settings)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


class Shot:
    """What is on a screen, cell by cell."""

    def __init__(self, strips: list[Strip]) -> None:
        self.rows: list[list[Cell]] = []
        for strip in strips:
            styled = [(character, _ROLE_OF.get(style or Style())) for text, style, _ in strip for character in text]
            self.rows.append([(part, role) for each, role in styled for part in (each, "")[: width(each)]])

    @cached_property
    def lines(self) -> list[str]:
        return ["".join(character for character, _ in row) for row in self.rows]

    def part(self, region: Region) -> list[list[Cell]]:
        """The rows of a region; halves of wide characters are left out, so that the cells are as many as characters."""
        rows = self.rows[region.y : region.bottom]
        return [[cell for cell in row[region.x : region.right] if cell[0]] for row in rows]


@contextlib.contextmanager
def speaking(code: str) -> Generator[None]:
    before = language()
    set_language(code)
    try:
        yield
    finally:
        set_language(before)


class Stage:
    """A running cockpit without a feed: it shows the views that it is given. For tests that are no coroutines, such as
    those of hypothesis; an app's start costs more than many of its pictures."""

    def __init__(self, glyphs: Glyphs) -> None:
        self.appearance = Appearance(ROLES, glyphs)
        self.app = Cockpit(FakeFeed([]), appearance=self.appearance)
        self._runner = asyncio.Runner()
        self._test = self.app.run_test(size=(80, 24))
        self._runner.run(self._test.__aenter__())

    @property
    def cockpit(self) -> CockpitScreen:
        return self.app._cockpit  # pyright: ignore[reportPrivateUsage]

    def show(self, view: View, size: tuple[int, int], panel: str = "", *, zoomed: bool = False) -> Shot:
        """The cockpit in this size as if nothing had been shown before, with this panel chosen if it is there."""
        cockpit = cast("Any", self.cockpit)
        for known in cockpit.panels.values():
            known.chosen = False
        cockpit.chosen, cockpit.zoomed, cockpit._recent = "", False, []
        cockpit._view = cast("Any", self.app.reader)._newest = view
        cast("Any", self.app)._driver._size = size
        self._do(lambda: (self.app.post_message(events.Resize(Size(*size), Size(*size))), cockpit._arrange_anew()))
        if panel in cockpit.panel_names:
            self._do(partial(cockpit.action_zoom if zoomed else cockpit.choose, panel))
        return self.shot()

    def placed(self) -> dict[str, Region]:
        """The regions of the panels that are shown."""
        panels = self.cockpit.panels.items()
        return {name: panel.placement.region for name, panel in panels if panel.placement is not None}

    def press(self, *keys: str) -> None:
        async def press() -> None:
            await self.app._press_keys(keys)  # pyright: ignore[reportPrivateUsage]
            await until_idle()

        self._runner.run(press())

    def shot(self) -> Shot:
        return Shot(strips_of(self.app))

    def close(self) -> None:
        self._runner.run(self._test.__aexit__(None, None, None))
        self._runner.run(self.app.reader.close())
        self._runner.close()

    def _do(self, act: Callable[[], object]) -> None:
        async def do() -> None:
            act()
            await until_idle()

        self._runner.run(do())
