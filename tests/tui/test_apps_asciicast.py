"""Films of the cockpit: played in a terminal, they show what the cockpit shows."""

import json
import re

from tests.tui.fake_feed import FakeFeed, feed_of
from tests.tui.scenes import moments
from tests.tui.stage import lines_of, running
from tui.apps.asciicast import asciicast
from tui.drawing.appearance import Appearance


class Terminal:
    """As much of a terminal as a film needs."""

    def __init__(self, width: int, height: int) -> None:
        self.rows = [" " * width for _ in range(height)]

    def write(self, text: str) -> None:
        for row, rest in re.findall(r"\x1b\[(\d+);1H((?:[^\x1b]|\x1b\[[\d;]*m)*)", text):
            shown = re.sub(r"\x1b\[[\d;]*m", "", rest)
            self.rows[int(row) - 1] = shown + self.rows[int(row) - 1][len(shown) :]


async def test_last_picture_is_that_of_the_cockpit(appearance: Appearance) -> None:
    async with running(feed_of("swap"), appearance, (120, 40)) as (app, _):
        shown = lines_of(app)
    snapshots = moments("swap")
    title = FakeFeed([]).title
    lines = [json.loads(line) async for line in asciicast(snapshots, title, 1.0, 1.8e9, (120, 40))]
    header, *events = lines
    assert (header["version"], header["width"], header["height"], header["timestamp"]) == (2, 120, 40, 1_800_000_000)
    assert [event[1] for event in events] == ["o"] * len(events)
    times = [event[0] for event in events]
    assert times == sorted(times)
    assert len(events) == len(snapshots) + 1
    terminal = Terminal(120, 40)
    for event in events[:-1]:
        terminal.write(event[2].removesuffix("\x1b[?25h\x1b[0m\r\n"))
    # The feed of the scene is recorded somewhere, and a film is not: that is all that differs.
    assert terminal.rows[1:] == shown[1:]
