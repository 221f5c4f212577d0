"""The cockpit under test: scenes, a fake feed, and the screen as text and as a picture that is kept."""

import os
import re
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from loadtop.i18n import language, set_language
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import ASCII, BLOCKS, MONOCHROME, TERMINAL, UNICODE, Appearance

Screenshot = Callable[[Cockpit], list[str]]
Pictures = Callable[..., Awaitable[None]]

PICTURES = Path(__file__).parent / "pictures"
SIZES = ((80, 24), (120, 40), (200, 60), (60, 20))
CODES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}")


@pytest.fixture(scope="session")
def appearance() -> Appearance:
    """Colours and Unicode, whatever the environment of the tests says."""
    return Appearance(TERMINAL, UNICODE)


@pytest.fixture
def feed_of() -> Callable[[str], FakeFeed]:
    """``feed_of("swap")`` gives that scene's moments at once, and then stays."""
    return lambda name: FakeFeed(SCENES[name]())


@pytest.fixture
def screen_text() -> Screenshot:
    """The lines of the screen as the terminal gets them, without colour."""
    return lambda app: ["".join(segment.text for segment in strip) for strip in strips_of(app)]


@pytest.fixture(params=["colour", "no-colour", "ascii", "japanese"])
def any_appearance(request: pytest.FixtureRequest) -> Generator[tuple[str, Appearance]]:
    """What is put after a picture's name, and the look of it; Japanese is spoken meanwhile where the look says so."""
    before = language()
    name = str(request.param)
    set_language("ja" if name == "japanese" else "en")
    looks = {"no-colour": Appearance(MONOCHROME, BLOCKS), "ascii": Appearance(MONOCHROME, ASCII)}
    yield ("" if name == "colour" else f"-{name}"), looks.get(name, Appearance(TERMINAL, UNICODE))
    set_language(before)


@pytest.fixture
def pictures() -> Pictures:
    """Compares what an app shows, after some keys, in every size, with what is kept: text, and the style of each
    character. ``LOADTOP_PICTURES=write`` keeps it anew; look at the difference before it is committed."""

    async def compare(
        app: App[Any], name: str, appearance: Appearance, *keys: str, ready: Callable[[], None] | None = None
    ) -> None:
        shown: list[str] = []
        async with app.run_test(size=SIZES[0]) as pilot:
            if ready is not None:
                await pilot.pause()
                ready()
            for key in keys:
                await pilot.pause()
                await pilot.press(key)
            for size in SIZES:
                if size != SIZES[0]:
                    await pilot.resize_terminal(*size)
                for _ in range(3):
                    await pilot.pause()
                strips = strips_of(app)
                lines = ["".join(segment.text for segment in strip) for strip in strips]
                assert [cell_len(line) for line in lines] == [size[0]] * size[1]
                if language() == "ja":
                    assert [line for line in lines if ENGLISH.search(line) and "Zwiers" not in line] == []
                if appearance.glyphs is ASCII:
                    assert all(map(str.isascii, lines))
                shown += [f"== {size[0]}x{size[1]} ==", *lines, "-- styles --", *styles(strips, appearance)]
        kept_as(f"{name}.txt", shown)

    return compare


def strips_of(app: App[Any]) -> list[Strip]:
    return app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]


def styles(strips: list[Strip], appearance: Appearance) -> list[str]:
    """For each line a letter for the style of each character; a blank for plain text, ``?`` for styles of others."""
    known: dict[Style, str] = {Style(): " "}
    for style in appearance.palette.values():
        known.setdefault(style, CODES[len(known) - 1])
    return ["".join(known.get(s.style or Style(), "?") * len(s.text) for s in strip) for strip in strips]


def kept_as(name: str, lines: list[str]) -> None:
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    stored = PICTURES / name
    if os.environ.get("LOADTOP_PICTURES") == "write":
        stored.write_text(text, encoding="utf-8")
    assert text == stored.read_text(encoding="utf-8"), f"{name} is another picture now"
