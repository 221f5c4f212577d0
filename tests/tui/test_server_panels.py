"""The panels of php-fpm and HAProxy: pictures, and when they are there at all."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.tui.fake_feed import FakeFeed
from tests.tui.server_scenes import with_servers
from tui.app import Cockpit
from tui.look import Look
from tui.screens.cockpit import CockpitScreen

PICTURES = Path(__file__).parent / "pictures"
ScreenText = Callable[[Cockpit], list[str]]


def cockpit_of(app: Cockpit) -> CockpitScreen:
    screen = app.screen
    assert isinstance(screen, CockpitScreen)
    return screen


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (60, 20)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("panel", ["fpm", "fpm-silent", "haproxy"])
async def test_picture(panel: str, size: tuple[int, int], look: Look, screen_text: ScreenText) -> None:
    app = Cockpit(FakeFeed(with_servers(silent=panel == "fpm-silent")), look=look)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        cockpit_of(app).choose(panel.removesuffix("-silent"))
        await pilot.pause()
        await pilot.pause()
        lines = screen_text(app)
        left, top, width, height = cockpit_of(app).panels[panel.removesuffix("-silent")].region
    assert [cell_len(line) for line in lines] == [size[0]] * size[1]
    lines = [line[left : left + width] for line in lines[top : top + height]]
    stored = PICTURES / f"server-{panel}-{size[0]}x{size[1]}.txt"
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    if os.environ.get("LOADTOP_PICTURES") == "write":
        stored.write_text(text, encoding="utf-8")
    assert text == stored.read_text(encoding="utf-8")


async def test_zoomed(look: Look, screen_text: ScreenText) -> None:
    app = Cockpit(FakeFeed(with_servers()), look=look)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        cockpit_of(app).action_zoom("haproxy")
        await pilot.pause()
        await pilot.pause()
        text = "\n".join(screen_text(app))
    assert "app/a-server-with-a-long-name" in text
    assert "down" in text
    assert "queue, 0 to" in text


async def test_none_of_them_no_panel(look: Look, feed_of: Callable[[str], FakeFeed], screen_text: ScreenText) -> None:
    app = Cockpit(feed_of("headroom"), look=look)
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert not {"fpm", "haproxy"} & set(cockpit_of(app).at_hand)
    assert "php-fpm" not in text
