"""A monkey at the keyboard: random keys, clicks and resizes leave no traceback, and no load behind.

It does not wait for an answer to each. ``make monkey`` (``LOADTOP_MONKEY=10000``) lets it go on for longer; with
another ``LOADTOP_MONKEY_SEED`` it does something else.
"""

import asyncio
import os
import random
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import settings
from textual import events
from textual.driver import Driver
from textual.geometry import Size

from loadtop.pipeline.snapshot import Snapshot
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import endless
from tests.tui.stage import strips_of
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.widgets.keybar import KEYS

EVENTS = int(os.environ.get("LOADTOP_MONKEY", 12 * settings().max_examples))
SEED = int(os.environ.get("LOADTOP_MONKEY_SEED", "7"))
SIZES = [(80, 24), (120, 40), (60, 20), (200, 60), (20, 5), (1, 1), (300, 12), (24, 80), (7, 90)]
KEPT_OUT = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
"""They end or suspend the cockpit: that they do is tested elsewhere."""
NAMES = [name for key in KEYS for name in key.key.split(",") if name not in KEPT_OUT]
OTHERS = (
    *("tab", "shift+tab", "escape", "enter", "up", "down", "left", "right", "pageup", "pagedown", "backspace", "x"),
    *("home", "end", "delete", "0", "9", "period", "ctrl+u", "ctrl+w", "f1", "漢"),
)


CHARACTERS = {
    "plus": "+", "equals_sign": "=", "minus": "-", "space": " ", "slash": "/", "colon": ":", "question_mark": "?",
    "period": ".",
}  # fmt: skip
AT_ONCE = 12
"""What is done at most before the cockpit is waited for."""


class Monkey:
    """Does one thing after the other to an app, and keeps what it did."""

    def __init__(self, app: Cockpit, chance: random.Random) -> None:
        self.done: list[str] = []
        self._app = app
        self._chance = chance

    def act(self) -> None:
        """A key, a click or another size."""
        kind = self._chance.random()
        if kind < 0.75:
            self._press(self._chance.choice(NAMES if kind < 0.5 else OTHERS))
        elif kind < 0.95:
            for _ in range(self._chance.choice((1, 1, 2))):
                self._click()
        else:
            self._resize(Size(*self._chance.choice(SIZES)))

    def _press(self, key: str) -> None:
        self.done.append(key)
        self._app.post_message(events.Key(key, CHARACTERS.get(key, key if len(key) == 1 else None)))

    def _click(self) -> None:
        width, height = self._app.size
        x, y = self._chance.randrange(max(1, width)), self._chance.randrange(max(1, height))
        self.done.append(f"click {x} {y}")
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage]
        assert isinstance(driver, Driver)
        for kind in (events.MouseMove, events.MouseDown, events.MouseUp):
            driver.process_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))

    def _resize(self, size: Size) -> None:
        self.done.append(f"resize {size.width}x{size.height}")
        self._app.post_message(events.Resize(size, size))


@pytest.mark.hypothesis  # no property of one input, but generated examples as well
async def test_monkey(appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.apps.cockpit.MESSAGE_S", 0.005)
    chance = random.Random(SEED)  # noqa: S311 (no secret)
    snapshots = list(islice(endless(), 60))
    left = EVENTS
    while left > 0:  # the monkey may find the way out: then it begins again
        left -= await one_run(snapshots, appearance, chance, left)


async def one_run(snapshots: list[Snapshot], appearance: Appearance, chance: random.Random, most: int) -> int:
    """Let it play until it finds the way out, or has done enough; how much it did."""
    feed = FakeFeed(snapshots, pause_s=0.01)
    app = Cockpit(feed, appearance=appearance)
    monkey = Monkey(app, chance)
    async with app.run_test(size=(80, 24)) as pilot:
        while app.is_running and len(monkey.done) < most:
            for _ in range(chance.randrange(1, AT_ONCE)):
                monkey.act()
            for _ in range(chance.randrange(1, 20)):
                await asyncio.sleep(0)
            if chance.random() < 0.1:
                await pilot.pause()
        if app.is_running:
            await pilot.resize_terminal(80, 24)
            assert [strip.cell_length for strip in strips_of(app)] == [80] * 24, monkey.done[-20:]
    await app.reader.close()
    assert app.reader.failure is None, monkey.done[-20:]
    assert not feed.running
    return len(monkey.done)
