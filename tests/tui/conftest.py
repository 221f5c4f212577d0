"""The cockpit under test: scenes, a fake feed, and the screen as text."""

from collections.abc import Callable

import pytest

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.app import Cockpit
from tui.drawing.glyphs import UNICODE
from tui.look import TERMINAL, Look

Screenshot = Callable[[Cockpit], list[str]]


@pytest.fixture(scope="session")
def look() -> Look:
    """Colours and Unicode, whatever the environment of the tests says."""
    return Look(TERMINAL, UNICODE)


@pytest.fixture
def feed_of() -> Callable[[str], FakeFeed]:
    """``feed_of("swap")`` gives that scene's moments at once, and then stays."""
    return lambda name: FakeFeed(SCENES[name]())


@pytest.fixture
def screen_text() -> Screenshot:
    """The lines of the screen as the terminal gets them, without colour."""

    def read(app: Cockpit) -> list[str]:
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return ["".join(segment.text for segment in strip) for strip in strips]

    return read
