"""The page of recordings: what is chosen by keys and by mouse."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot

from loadtop.cli import recordings
from loadtop.cli.options.parser import read
from loadtop.recording.library import Recording
from tests.tui.lines import text_of
from tui.apps.terminal import PageApp
from tui.drawing.appearance import Appearance
from tui.screens.sessions import Chosen, SessionsPage

FOUND = [Recording(Path(f"/state/{i}.loadtop"), float(i), 10.0, "http://web1/", "cpu") for i in range(40)]
DAMAGED = Recording(Path("/state/damaged.loadtop"), problem="it is no recording")


async def left_with(app: PageApp[Chosen], *keys: str, click: int | None = None) -> Chosen | None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press(*keys)
        if click is not None:
            await pilot.click(offset=(10, click))
            await settle(pilot)
    return app.return_value


async def settle(pilot: "Pilot[Chosen]") -> None:
    for _ in range(3):
        await pilot.pause()


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


async def test_what_cannot_be_done_is_said(appearance: Appearance) -> None:
    app = PageApp[Chosen](SessionsPage(appearance, [*FOUND[:2], DAMAGED]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("c")
        assert "mark two or more" in text_of(app.shown.page.lines[-1])
        await pilot.press("end", "enter")
        assert "it is no recording" in text_of(app.shown.page.lines[-1])
        await pilot.press("space", "space", "home")
        assert "enter replay" in text_of(app.shown.page.lines[-1])
        await pilot.press("q")
    assert app.return_value is None


def test_a_window_that_is_closed_during_a_replay_ends_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a page that nobody sees would follow, and wait for keys for ever."""
    shown: list[str] = []

    def run(_: PageApp[Chosen]) -> Chosen:
        shown.append("page")
        return Chosen("replay", (Path("a.loadtop"),))

    def replay(words: Sequence[str]) -> int:
        shown.append(words[0])
        return 0

    on_terminal = iter([True, False])
    monkeypatch.setattr(recordings, "recordings", lambda: [Recording(Path("a.loadtop"))])
    monkeypatch.setattr(recordings, "_on_terminal", lambda: next(on_terminal))
    monkeypatch.setattr(PageApp, "run", run)
    monkeypatch.setattr(recordings, "run_command", replay)
    recordings.main(read(["sessions"]))
    assert shown == ["page", "replay"]
