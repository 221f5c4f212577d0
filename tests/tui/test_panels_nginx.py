"""The panel of nginx: in every size, zoomed, without limits, and in Japanese."""

import re
from collections.abc import Callable, Generator

import pytest
from rich.cells import cell_len

from loadtop.i18n import language, set_language
from loadtop.servers.nginx.kind import NGINX_CONNECTIONS
from tests.tui.fake_feed import FakeFeed
from tests.tui.server_scenes import with_nginx
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.screens.cockpit import CockpitScreen

ScreenText = Callable[[Cockpit], list[str]]


@pytest.fixture
def japanese() -> Generator[None]:
    before = language()
    set_language("ja")
    yield
    set_language(before)


async def shown(
    appearance: Appearance, screen_text: ScreenText, size: tuple[int, int], *, limits: bool = True, zoom: bool = False
) -> list[str]:
    """The screen's lines; ``zoom``: the panel alone."""
    app = Cockpit(FakeFeed(with_nginx(limits=limits)), appearance=appearance)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, CockpitScreen)
        if zoom:
            screen.action_zoom("nginx")
        for _ in range(3):
            await pilot.pause()
        lines = screen_text(app)
    assert [cell_len(line) for line in lines] == [size[0]] * size[1]
    return lines


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
async def test_the_panel_says_what_is_used_and_dropped(
    appearance: Appearance, screen_text: ScreenText, size: tuple[int, int]
) -> None:
    text = "\n".join(await shown(appearance, screen_text, size))
    assert "used 1 003 of 1 024" in text
    assert re.search(r"writing +1 000 ", text)
    assert re.search(r"dropped/s +125 ", text)
    assert "NGINX CONNECTIONS  are the limit" in text


@pytest.mark.parametrize("width", [40, 50, 60, 70, 80, 90, 110, 130, 160, 240])
@pytest.mark.parametrize("height", [12, 24, 50])
async def test_zoomed_nothing_is_clipped(
    appearance: Appearance, screen_text: ScreenText, width: int, height: int
) -> None:
    lines = await shown(appearance, screen_text, (width, height), zoom=True)
    text = "\n".join(lines)
    assert "used 1 003 of 1 024" in text
    for label in ("writing ", "kept alive ", "dropped/s ", "reading "):
        assert label in text
    panel = [line for line in lines if "dropped/s" in line]
    assert "…" not in "".join(panel)


async def test_without_limits(appearance: Appearance, screen_text: ScreenText) -> None:
    text = "\n".join(await shown(appearance, screen_text, (120, 40), limits=False))
    assert "used 1 003 of -" in text
    assert "125" in text


@pytest.mark.usefixtures("japanese")
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_in_japanese(appearance: Appearance, screen_text: ScreenText, size: tuple[int, int]) -> None:
    text = "\n".join(await shown(appearance, screen_text, size))
    assert "使用 1 003 / 1 024" in text
    assert "切断/s" in text
    assert "NGINX の接続数" in text


async def test_the_help_lists_the_verdict(appearance: Appearance, screen_text: ScreenText) -> None:
    app = Cockpit(FakeFeed(with_nginx()), appearance=appearance)
    async with app.run_test(size=(120, 120)) as pilot:
        await pilot.pause()
        await pilot.press("question_mark")
        for _ in range(3):
            await pilot.pause()
        text = "\n".join(screen_text(app))
    assert any("X" in line and NGINX_CONNECTIONS.name.replace("-", " ") in line.lower() for line in text.splitlines())
