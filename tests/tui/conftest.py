"""The cockpit under test: scenes, a fake feed, and the screen as text."""

import time
from collections.abc import Callable, Generator, Iterator

import pytest

from tests.tui.stage import Stage, speaking, until_idle
from tui.drawing.appearance import TERMINAL, UNICODE, Appearance, Glyphs


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pilot goes on as soon as nothing is left to do: one ``pilot.pause()`` is enough before a look at the screen."""
    for place in ("textual.pilot", "textual.app"):
        monkeypatch.setattr(f"{place}.wait_for_idle", until_idle)


@pytest.fixture(autouse=True, scope="session")
def clock_of_nobody() -> Generator[None]:
    """Times are shown in UTC."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="session")
def appearance() -> Appearance:
    """Colours and Unicode, whatever the environment of the tests says."""
    return Appearance(TERMINAL, UNICODE)


@pytest.fixture
def japanese() -> Generator[None]:
    with speaking("ja"):
        yield


@pytest.fixture(scope="session")
def stage_with() -> Iterator[Callable[[Glyphs], Stage]]:
    """A running cockpit for each set of signs, started when it is first wanted."""
    started: dict[Glyphs, Stage] = {}
    yield lambda glyphs: started.get(glyphs) or started.setdefault(glyphs, Stage(glyphs))
    for stage in started.values():
        stage.close()
