"""The panels of php-fpm and HAProxy: zoomed, and when they are there at all."""

from collections.abc import Callable

from tests.tui.fake_feed import FakeFeed
from tests.tui.server_scenes import with_servers
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.screens.cockpit import CockpitScreen

ScreenText = Callable[[Cockpit], list[str]]


def cockpit_of(app: Cockpit) -> CockpitScreen:
    screen = app.screen
    assert isinstance(screen, CockpitScreen)
    return screen


async def test_zoomed(appearance: Appearance, screen_text: ScreenText) -> None:
    app = Cockpit(FakeFeed(with_servers()), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        cockpit_of(app).action_zoom("haproxy")
        await pilot.pause()
        await pilot.pause()
        text = "\n".join(screen_text(app))
    assert "app/a-server-with-a-long-name" in text
    assert "down" in text
    assert "queue, 0 to" in text


async def test_none_of_them_no_panel(
    appearance: Appearance, feed_of: Callable[[str], FakeFeed], screen_text: ScreenText
) -> None:
    app = Cockpit(feed_of("headroom"), appearance=appearance)
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.pause()
        await pilot.pause()
        text = "\n".join(screen_text(app))
        assert not {"fpm", "haproxy"} & set(cockpit_of(app).panel_names)
    assert "php-fpm" not in text
