"""What a terminal can show; every theme is readable, and tells good from bad without red and green."""

import os
import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from rich.color import Color
from rich.style import Style

from loadtop.cli import main
from loadtop.cli.options.table import THEMES as NAMES
from loadtop.diagnosis.finding import NONE
from loadtop.servers.registry import VERDICTS, evidence_title
from tui.drawing.appearance import ASCII, BLOCKS, MONOCHROME, TERMINAL, THEMES, UNICODE, Appearance, Glyphs
from tui.drawing.line import Role
from tui.drawing.verdicts import UNSEEN, letter_of
from tui.state.request_time import HUES


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


def test_ascii_can_be_selected() -> None:
    assert Appearance.of_terminal({"LANG": "C.UTF-8", "LOADTOP_ASCII": "1"}).glyphs is ASCII


def test_every_role_has_a_style_and_monochrome_has_no_colour() -> None:
    for role in Role:
        assert role in TERMINAL
        assert MONOCHROME[role].color is None
        assert MONOCHROME[role].bgcolor is None


APART = (
    (Role.GOOD, Role.WARN, Role.BAD),
    (Role.GOOD_BADGE, Role.WARN_BADGE, Role.BAD_BADGE),
    (Role.FREE, Role.FILLING, Role.FULL),
    (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL),
    (Role.VALUE, Role.DIM, Role.BAD, Role.KEY, Role.SELECTED, Role.TEXT),
    (Role.FRAME, Role.CHOSEN, Role.BAD),
)
"""Roles that stand side by side, where each means something else."""


@pytest.mark.parametrize("palette", [TERMINAL, *(theme() for theme in THEMES.values())], ids=["terminal", *THEMES])
def test_roles_that_stand_side_by_side_look_different(palette: Mapping[Role, Style]) -> None:
    for roles in APART:
        assert len({palette[role] for role in roles}) == len(roles), roles


@pytest.mark.parametrize("glyphs", [UNICODE, BLOCKS, ASCII], ids=["unicode", "blocks", "ascii"])
def test_signs_repeat_the_meaning_of_colours(glyphs: Glyphs) -> None:
    """The verdict by its sign, a state of the processors by its filling, a limit on the time strip by its letter."""
    assert len({glyphs.fine, glyphs.limit, glyphs.unsure}) == 3
    assert len(set(glyphs.shades)) == 4
    assert len({*glyphs.patterns, glyphs.rail}) == len(glyphs.patterns) + 1 == HUES + 2
    assert len({glyphs.fill, glyphs.rail, glyphs.tick}) == 3
    letters = [letter_of(name, glyphs)[0] for name in (NONE, UNSEEN, *(verdict.name for verdict in VERDICTS))]
    assert len(set(letters)) == len(letters)


def test_evidence_of_a_core_has_a_title() -> None:
    said = [
        evidence_title(f"core12.{name}") for name in ("busy_pct", "frequency_pct", "capacity_pct", "of_later_times")
    ]
    assert said == ["cpu12 busy", "cpu12 frequency", "cpu12 capacity", "core12.of later times"]


def test_without_colours_a_limit_and_the_chosen_panel_still_show() -> None:
    for roles in ((Role.BAD, Role.TEXT), (Role.WARN, Role.TEXT), (Role.CHOSEN, Role.FRAME), (Role.SELECTED, Role.TEXT)):
        assert MONOCHROME[roles[0]] != MONOCHROME[roles[1]]


def test_the_terminals_palette_is_kept() -> None:
    for style in TERMINAL.values():
        for colour in (style.color, style.bgcolor):
            assert colour is None or (colour.number is not None and colour.number < 16)


def test_the_first_screen_needs_no_heavy_library() -> None:
    code = (
        "import sys, tui.apps.cockpit;"
        "names = ('aiohttp', 'numpy', 'psutil', 'sqlite3', 'uvloop', 'httptools', 'collectors', 'tui.widgets.picture');"
        "print([name for name in names if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},  # it wants SQLite
    )
    assert found.stdout.strip() == "[]", found.stderr


READ = 4.5
"""Contrast that text wants (WCAG 2.1, level AA)."""
SEEN = 3.0
"""Contrast that graphics want (as above)."""
GRAPHICS = {Role.GRAPH_LOW, Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL, Role.SWAP, Role.GRAPH, Role.GRAPH_TOP}
DECORATION = {Role.FRAME, Role.EMPTY}


def luminance(colour: Color | None) -> float:
    assert colour is not None
    parts = [each / 255 for each in colour.get_truecolor()]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color | None, other: Color | None) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_theme_can_be_chosen() -> None:
    assert {*THEMES, "terminal"} == set(NAMES)
    utf8 = {"LANG": "C.UTF-8"}
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "terminal"}).palette is TERMINAL
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "light"}).palette == THEMES["light"]()
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "light", "NO_COLOR": "1"}).palette[Role.BAD].color is None


@pytest.mark.parametrize("name", THEMES)
def test_everything_can_be_read(name: str) -> None:
    for role, style in THEMES[name]().items():
        if role not in DECORATION:
            assert contrast(style.color, style.bgcolor) >= (SEEN if role in GRAPHICS else READ), role


def without_red_or_green(colour: Color | None) -> tuple[float, float]:
    """What is left where red and green look the same (roughly): yellowness and blueness."""
    assert colour is not None
    red, green, blue = colour.get_truecolor()
    return 0.57 * red + 0.43 * green, float(blue)


def test_verdicts_differ_for_the_colour_blind() -> None:
    palette = THEMES["safe"]()
    seen = [without_red_or_green(palette[role].color) for role in (Role.GOOD, Role.WARN, Role.BAD)]
    for one, other in combinations(seen, 2):
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 40


@pytest.mark.parametrize("words", [["--theme", "xx", "sessions"], ["--theme=xx", "sessions"], ["sessions", "--theme"]])
def test_a_theme_that_is_not_known(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "one of terminal, dark, light, safe" in capsys.readouterr().err
