"""A monkey at the keyboard: random keys, clicks and resizes leave no traceback, and no load behind.

``LOADTOP_MONKEY=10000 pytest tests/tui/test_monkey.py`` lets it go on for longer; with another
``LOADTOP_MONKEY_SEED`` it does something else.
"""

import os
import random
from itertools import islice
from pathlib import Path

import pytest
from textual.geometry import Size

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import endless
from tui.app import Cockpit
from tui.keys import KEYS
from tui.look import Look

EVENTS = int(os.environ.get("LOADTOP_MONKEY", "400"))
SEED = int(os.environ.get("LOADTOP_MONKEY_SEED", "7"))
SIZES = [(80, 24), (120, 40), (60, 20), (200, 60), (20, 5), (1, 1), (300, 12), (24, 80), (7, 90)]
KEPT_OUT = {"q", "ctrl+c", "ctrl+q", "ctrl+z"}
"""They end or suspend the cockpit: that they do is tested elsewhere."""
NAMES = [name for key in KEYS for name in key.key.split(",") if name not in KEPT_OUT]
OTHERS = (
    *("tab", "shift+tab", "escape", "enter", "up", "down", "left", "right", "pageup", "pagedown", "backspace", "x"),
    *("home", "end", "delete", "0", "9", "period", "ctrl+u", "ctrl+w", "f1", "漢"),
)


async def test_monkey(look: Look, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tui.app.SAID_S", 0.005)
    chance = random.Random(SEED)  # noqa: S311 (no secret)
    feed = FakeFeed(list(islice(endless(), 60)), pause_s=0.01)
    app = Cockpit(feed, look=look)
    done: list[str] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(EVENTS):
            kind = chance.random()
            if kind < 0.75:
                key = chance.choice(NAMES if kind < 0.5 else OTHERS)
                done.append(key)
                await pilot.press(key)
            elif kind < 0.95:
                width, height = app.size
                at = chance.randrange(max(1, width)), chance.randrange(max(1, height))
                done.append(f"click {at}")
                await pilot.click(offset=at, times=chance.choice((1, 1, 2)))
            else:
                size = chance.choice(SIZES)
                done.append(f"resize {size}")
                await pilot.resize_terminal(*size)
                assert app.size == Size(*size)
            if not app.is_running:  # a click on the footer's q, asked twice
                break
        for _ in range(3):
            await pilot.pause()
    await app.follower.close()
    assert app.follower.failure is None, done[-20:]
    assert not feed.running
