"""Pictures of the pages, of looks without colour and of Japanese, as text, compared with stored ones.

``LOADTOP_PICTURES=write pytest tests/tui`` writes them anew; look at the difference before it is committed.
"""

import os
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from rich.cells import cell_len

from loadtop.words import language, speak
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.app import Cockpit
from tui.drawing.glyphs import ASCII, BLOCKS, UNICODE
from tui.look import MONOCHROME, TERMINAL, Look

PICTURES = Path(__file__).parent / "pictures"
SIZES = [(80, 24), (120, 40), (200, 60)]
Text = Callable[[Cockpit], list[str]]
SHOWN = [
    ("evidence", "swap", ("e",), Look(TERMINAL, UNICODE), "en"),
    ("evidence-no-colour", "swap", ("e",), Look(MONOCHROME, BLOCKS), "en"),
    ("help", "headroom", ("question_mark",), Look(TERMINAL, UNICODE), "en"),
    ("help-ascii", "headroom", ("question_mark",), Look(MONOCHROME, ASCII), "en"),
    ("commands", "swap", ("colon", "s", "t"), Look(TERMINAL, UNICODE), "en"),
    ("commands-no-colour", "swap", ("colon",), Look(MONOCHROME, BLOCKS), "en"),
    ("filter", "swap", ("slash", *"maria"), Look(TERMINAL, UNICODE), "en"),
    ("no-colour", "swap", (), Look(MONOCHROME, BLOCKS), "en"),
    ("ascii", "apache-workers", (), Look(MONOCHROME, ASCII), "en"),
    ("zoom", "swap", ("z", "right"), Look(TERMINAL, UNICODE), "en"),
    ("japanese", "swap", (), Look(TERMINAL, UNICODE), "ja"),
    ("japanese-help", "headroom", ("question_mark",), Look(TERMINAL, UNICODE), "ja"),
    ("japanese-evidence", "apache-workers", ("e",), Look(MONOCHROME, BLOCKS), "ja"),
]


@pytest.fixture
def spoken() -> Generator[None]:
    """Speak again what was spoken before."""
    before = language()
    yield
    speak(before)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize(("name", "scene", "keys", "look", "tongue"), SHOWN, ids=[shown[0] for shown in SHOWN])
@pytest.mark.usefixtures("spoken")
async def test_picture(
    name: str, scene: str, keys: tuple[str, ...], look: Look, tongue: str, size: tuple[int, int], screen_text: Text
) -> None:
    speak(tongue)
    app = Cockpit(FakeFeed(SCENES[scene]()), look=look)
    async with app.run_test(size=size) as pilot:
        for key in ("", *keys):
            await pilot.press(*([key] if key else []))
            for _ in range(3):
                await pilot.pause()
        lines = screen_text(app)
    assert [cell_len(line) for line in lines] == [size[0]] * size[1]
    stored = PICTURES / f"page-{name}-{size[0]}x{size[1]}.txt"
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    if os.environ.get("LOADTOP_PICTURES") == "write":
        stored.write_text(text, encoding="utf-8")
    assert text == stored.read_text(encoding="utf-8")
