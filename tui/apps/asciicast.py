"""The cockpit as a screen recording in asciinema's format version 2: a JSON line per snapshot.

https://docs.asciinema.org/manual/asciicast/v2/
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable

from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

from loadtop.pipeline.feed import PreparedFeed
from loadtop.pipeline.snapshot import Snapshot
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import TERMINAL, UNICODE, Appearance
from tui.widgets.picture import strips_of

APPEARANCE = Appearance(TERMINAL, UNICODE)  # the file is not shown on the terminal on which it is made

BEGIN = "\x1b[?25l\x1b[2J"
END = "\x1b[?25h\x1b[0m\r\n"


async def asciicast(
    snapshots: Iterable[Snapshot], title: str, interval_s: float, started: float, size: tuple[int, int]
) -> AsyncGenerator[str, None]:
    """The lines of the file, without line ends. ``size`` is columns and rows, ``started`` seconds since 1970."""
    header = {"version": 2, "width": size[0], "height": size[1], "timestamp": int(started), "title": f"loadtop {title}"}
    yield json.dumps({**header, "env": {"TERM": "xterm-256color"}})
    before: list[Strip] = []
    at = 0.0
    never = asyncio.get_running_loop().create_future  # the snapshots are not those of a feed
    app = Cockpit(PreparedFeed(title, interval_s, "", never), appearance=APPEARANCE)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        for snapshot in snapshots:
            app.reader.receive(snapshot)
            app.live_screen.show_view(app.reader.view)
            strips = strips_of(app.screen)
            text = "" if before else BEGIN
            for y, row in enumerate(strips):
                if not before or before[y] != row:
                    text += f"\x1b[{y + 1};1H{_coloured(row)}"
            before, at = strips, snapshot.at
            if text:
                yield json.dumps([round(at, 6), "o", text])
            if not app.is_running:
                break
        await app.reader.close()
    yield json.dumps([round(at, 6), "o", END])


def _coloured(row: Strip) -> str:
    plain = Style.null()
    return "".join(
        (style or plain).render(text, color_system=ColorSystem.STANDARD) for text, style, _ in row.simplify()
    )
