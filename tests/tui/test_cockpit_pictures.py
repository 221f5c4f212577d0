"""Pictures of the cockpit: every scene in every size, in colour and without, compared with stored ones."""

import pytest

from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tests.tui.server_scenes import with_servers
from tui.app import Cockpit
from tui.look import Look

AnyLook = tuple[str, Look]
COLOURS = pytest.mark.parametrize("any_look", ["colour", "no-colour"], indirect=True)


@COLOURS
@pytest.mark.parametrize("scene", SCENES)
async def test_picture(scene: str, any_look: AnyLook, pictures: Pictures) -> None:
    suffix, look = any_look
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), look=look), scene + suffix, look)


@COLOURS
@pytest.mark.parametrize("panel", ["fpm", "fpm-silent", "haproxy"])
async def test_servers(panel: str, any_look: AnyLook, pictures: Pictures) -> None:
    suffix, look = any_look
    app = Cockpit(FakeFeed(with_servers(silent=panel == "fpm-silent")), look=look)
    choose = app._cockpit.choose  # pyright: ignore[reportPrivateUsage]
    name = panel.removesuffix("-silent")
    await pictures(app, f"server-{panel}{suffix}", look, ready=lambda: choose(name))
