"""Pictures of the cockpit: every scene in every size, in colour and without, compared with stored ones."""

import pytest

from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tests.tui.server_scenes import with_servers
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

AnyLook = tuple[str, Appearance]
COLOURS = pytest.mark.parametrize("any_appearance", ["colour", "no-colour"], indirect=True)


@COLOURS
@pytest.mark.parametrize("scene", SCENES)
async def test_picture(scene: str, any_appearance: AnyLook, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), scene + suffix, appearance)


@COLOURS
@pytest.mark.parametrize("panel", ["fpm", "fpm-silent", "haproxy"])
async def test_servers(panel: str, any_appearance: AnyLook, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    app = Cockpit(FakeFeed(with_servers(silent=panel == "fpm-silent")), appearance=appearance)
    choose = app._cockpit.choose  # pyright: ignore[reportPrivateUsage]
    name = panel.removesuffix("-silent")
    await pictures(app, f"server-{panel}{suffix}", appearance, ready=lambda: choose(name))
