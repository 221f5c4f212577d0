"""Pictures of the cockpit as text, compared with stored ones.

``LOADTOP_PICTURES=write pytest tests/tui`` writes them anew; look at the difference before it is committed.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.app import Cockpit
from tui.look import Look

PICTURES = Path(__file__).parent / "pictures"
SIZES = [(80, 24), (120, 40), (60, 20), (200, 60)]
SHOWN = {
    60: ["verdict", "load", "cpu", "memory", "apache", "time"],
    80: ["verdict", "load", "cpu", "memory", "devices", "apache", "processes", "time"],
    120: ["verdict", "load", "cpu", "memory", "apache", "processes", "devices", "time"],
    200: ["verdict", "load", "cpu", "memory", "apache", "processes", "devices", "time"],
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
async def test_picture(
    scene: str,
    size: tuple[int, int],
    look: Look,
    feed_of: Callable[[str], FakeFeed],
    screen_text: Callable[[Cockpit], list[str]],
) -> None:
    app = Cockpit(feed_of(scene), look=look)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        lines = screen_text(app)
        panels = [name for name, panel in app.panels.items() if panel.region and panel.placement]
    assert [cell_len(line) for line in lines] == [size[0]] * size[1]
    assert panels == [name for name in app.panels if name in SHOWN[size[0]]]
    stored = PICTURES / f"{scene}-{size[0]}x{size[1]}.txt"
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    if os.environ.get("LOADTOP_PICTURES") == "write":
        stored.write_text(text, encoding="utf-8")
    assert text == stored.read_text(encoding="utf-8")
