"""Themes: every role can be read on its ground, and good is told from bad without red and green."""

from itertools import combinations

import pytest
from rich.color import Color

from loadtop.cli import THEMES, main
from tui.drawing.appearance import TERMINAL, Appearance
from tui.drawing.line import Role
from tui.themes import MAKERS, theme

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
    assert set(MAKERS) == set(THEMES) - {"terminal"}
    utf8 = {"LANG": "C.UTF-8"}
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "terminal"}).palette is TERMINAL
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "light"}).palette == theme("light")
    assert Appearance.of_terminal({**utf8, "LOADTOP_THEME": "light", "NO_COLOR": "1"}).palette[Role.BAD].color is None


@pytest.mark.parametrize("name", MAKERS)
def test_everything_can_be_read(name: str) -> None:
    for role, style in theme(name).items():
        if role not in DECORATION:
            assert contrast(style.color, style.bgcolor) >= (SEEN if role in GRAPHICS else READ), role


def without_red_or_green(colour: Color | None) -> tuple[float, float]:
    """What is left where red and green look the same (roughly): yellowness and blueness."""
    assert colour is not None
    red, green, blue = colour.get_truecolor()
    return 0.57 * red + 0.43 * green, float(blue)


def test_verdicts_differ_for_the_colour_blind() -> None:
    palette = theme("safe")
    seen = [without_red_or_green(palette[role].color) for role in (Role.GOOD, Role.WARN, Role.BAD)]
    for one, other in combinations(seen, 2):
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 40


@pytest.mark.parametrize("words", [["--theme", "xx", "sessions"], ["--theme=xx", "sessions"], ["sessions", "--theme"]])
def test_a_theme_that_is_not_known(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "give one of terminal, dark, light, safe" in capsys.readouterr().err
