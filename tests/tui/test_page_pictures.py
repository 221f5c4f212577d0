"""Pictures of the pages and of what lies over the cockpit, in every size and look, compared with stored ones."""

import pytest

from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.app import Cockpit
from tui.look import Look

SHOWN = {
    "evidence": ("swap", ("e",)),
    "steps": ("swap", ("t",)),
    "help": ("headroom", ("question_mark",)),
    "commands": ("swap", ("colon", "s", "t")),
    "filter": ("swap", ("slash", *"maria")),
    "typed": ("headroom", ("4",)),
    "mark": ("headroom", ("m", *"new")),
    "message": ("headroom", ("plus",)),
    "zoom": ("swap", ("z", "right")),
    "paused": ("swap", ("space",)),
}
AnyLook = tuple[str, Look]


@pytest.mark.parametrize("any_look", ["colour", "no-colour"], indirect=True)
@pytest.mark.parametrize("name", SHOWN)
async def test_picture(name: str, any_look: AnyLook, pictures: Pictures) -> None:
    suffix, look = any_look
    scene, keys = SHOWN[name]
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), look=look), f"page-{name}{suffix}", look, *keys)


@pytest.mark.parametrize("any_look", ["ascii", "japanese"], indirect=True)
@pytest.mark.parametrize(
    ("scene", "keys"), [("swap", ()), ("apache-workers", ("e",)), ("headroom", ("question_mark",))]
)
async def test_other_words_and_signs(scene: str, keys: tuple[str, ...], any_look: AnyLook, pictures: Pictures) -> None:
    suffix, look = any_look
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), look=look), f"page-{scene}{suffix}", look, *keys)
