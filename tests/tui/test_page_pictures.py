"""Pictures of the pages and of what lies over the cockpit, in every size and look, compared with stored ones."""

import pytest

from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance

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
AnyLook = tuple[str, Appearance]


@pytest.mark.parametrize("any_appearance", ["colour", "no-colour"], indirect=True)
@pytest.mark.parametrize("name", SHOWN)
async def test_picture(name: str, any_appearance: AnyLook, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    scene, keys = SHOWN[name]
    await pictures(Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), f"page-{name}{suffix}", appearance, *keys)


@pytest.mark.parametrize("any_appearance", ["ascii", "japanese"], indirect=True)
@pytest.mark.parametrize(
    ("scene", "keys"), [("swap", ()), ("apache-workers", ("e",)), ("headroom", ("question_mark",))]
)
async def test_other_words_and_signs(
    scene: str, keys: tuple[str, ...], any_appearance: AnyLook, pictures: Pictures
) -> None:
    suffix, appearance = any_appearance
    await pictures(
        Cockpit(FakeFeed(SCENES[scene]()), appearance=appearance), f"page-{scene}{suffix}", appearance, *keys
    )
