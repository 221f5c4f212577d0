"""Looks: what a terminal can show, and pictures in files."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import MONOCHROME, TERMINAL, Appearance
from tui.drawing.glyphs import ASCII, BLOCKS, UNICODE
from tui.drawing.line import Role, Span, line
from tui.drawing.svg import compose, file_name, svg
from tui.drawing.verdicts import HEADLINES, LETTERS

Text = Callable[[Cockpit], list[str]]


@pytest.mark.parametrize(
    ("environment", "palette", "glyphs"),
    [
        ({"LANG": "de_DE.UTF-8"}, TERMINAL, UNICODE),
        ({"LANG": "en_US.utf8", "NO_COLOR": "1"}, MONOCHROME, BLOCKS),
        ({"LANG": "C"}, TERMINAL, ASCII),
        ({"LANG": "C.UTF-8", "LC_ALL": "POSIX"}, TERMINAL, ASCII),
        ({"NO_COLOR": "1"}, MONOCHROME, ASCII),
        ({"LC_CTYPE": "UTF-8"}, TERMINAL, UNICODE),
    ],
)
def test_the_terminal_decides(environment: dict[str, str], palette: object, glyphs: object) -> None:
    appearance = Appearance.of_terminal(environment)
    assert appearance.palette is palette
    assert appearance.glyphs is glyphs


def test_ascii_can_be_asked_for() -> None:
    assert Appearance.of_terminal({"LANG": "C.UTF-8"}, ascii_only=True).glyphs is ASCII


def test_every_role_has_a_style_and_monochrome_has_no_colour() -> None:
    for role in Role:
        assert role in TERMINAL
        assert MONOCHROME[role].color is None
        assert MONOCHROME[role].bgcolor is None


def test_the_terminals_palette_is_kept() -> None:
    for style in TERMINAL.values():
        for colour in (style.color, style.bgcolor):
            assert colour is None or (colour.number is not None and colour.number < 16)


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_ascii_screens_are_ascii(scene: str, size: tuple[int, int], screen_text: Text) -> None:
    app = Cockpit(FakeFeed(SCENES[scene]()), appearance=Appearance(MONOCHROME, ASCII))
    async with app.run_test(size=size) as pilot:
        for keys in ((), ("e",), ("question_mark",)):
            await pilot.press(*keys)
            for _ in range(3):
                await pilot.pause()
            assert all(text.isascii() for text in screen_text(app))


def test_every_verdict_has_words_and_a_letter_of_its_own() -> None:
    assert set(LETTERS) == set(HEADLINES)
    assert len(set(LETTERS.values())) == len(LETTERS)


def test_a_picture_is_xml_with_its_text() -> None:
    appearance = Appearance(TERMINAL, UNICODE)
    lines = [
        line(Span("<b>&", Role.BAD), " 漢字 ", Span("█▓▒░▄", Role.USER), Span("⣿⡇", Role.GRAPH)),
        line(Span("╭─┬╮│├┼", Role.FRAME), Span("━╍┅┉", Role.SYSTEM), Span(" SWAP ", Role.BAD_BADGE)),
    ]
    text = svg(compose([(1, 0, lines)], 30, 2), appearance, "a <title>")
    root = ET.fromstring(text)  # noqa: S314 (our own text)
    found = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert found == ["<b>&", "漢", "字", "SWAP"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) > 5


def test_pictures_are_named_after_what_they_show() -> None:
    name = file_name("http://web1:8080/a b/../index.php?x=1", 0.0)
    assert name.name.startswith("loadtop-web1-8080-a-b-..-index.php-x-1-")
    assert name.suffix == ".svg"
    assert name.parent == Path()
    assert file_name("///").name.startswith("loadtop-screen-")


def test_the_first_screen_needs_no_heavy_library() -> None:
    code = (
        "import sys, tui.apps.cockpit;"
        "names = ('aiohttp', 'numpy', 'psutil', 'sqlite3', 'uvloop', 'httptools', 'collectors', 'tui.drawing.svg');"
        "print([name for name in names if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=dict(os.environ),
    )
    assert found.stdout.strip() == "[]", found.stderr
