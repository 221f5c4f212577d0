"""The appearance of the cockpit: a style for every role, and the characters to draw with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rich.style import Style

from tui.drawing.glyphs import ASCII, BLOCKS, UNICODE, Glyphs
from tui.drawing.line import Role


def _palette(styles: Mapping[Role, str]) -> dict[Role, Style]:
    return {role: Style.parse(styles.get(role, "none")) for role in Role}


TERMINAL = _palette(
    {
        Role.DIM: "dim",
        Role.VALUE: "bold",
        Role.TITLE: "bold",
        Role.FRAME: "bright_black",
        Role.CHOSEN: "cyan",
        Role.BRAND: "bold cyan",
        Role.KEY: "bold cyan",
        Role.GOOD: "green",
        Role.WARN: "yellow",
        Role.BAD: "bold red",
        Role.GOOD_BADGE: "bold black on green",
        Role.WARN_BADGE: "bold black on yellow",
        Role.BAD_BADGE: "bold white on red",
        Role.ACCENT: "cyan",
        Role.GRAPH_LOW: "blue",
        Role.GRAPH: "cyan",
        Role.GRAPH_TOP: "bright_cyan",
        Role.FREE: "green",
        Role.FILLING: "yellow",
        Role.FULL: "red",
        Role.USER: "cyan",
        Role.SYSTEM: "blue",
        Role.IOWAIT: "magenta",
        Role.STEAL: "red",
        Role.SWAP: "magenta",
        Role.EMPTY: "bright_black",
        Role.TAB: "dim underline",
        Role.SELECTED: "reverse",
        Role.LIMIT: "yellow",
    }
)
"""The terminal's own sixteen colours and background: fits light and dark terminals, and takes few bytes."""

MONOCHROME = _palette(
    {
        Role.DIM: "dim",
        Role.VALUE: "bold",
        Role.TITLE: "bold",
        Role.FRAME: "dim",
        Role.CHOSEN: "bold",
        Role.BRAND: "bold",
        Role.KEY: "bold",
        Role.WARN: "bold",
        Role.BAD: "bold",
        Role.GOOD_BADGE: "bold reverse",
        Role.WARN_BADGE: "bold reverse",
        Role.BAD_BADGE: "bold reverse",
        Role.EMPTY: "dim",
        Role.TAB: "dim underline",
        Role.SELECTED: "reverse",
    }
)
"""No colour at all (``NO_COLOR``): weight and reverse only."""


def _theme(ground: str, ink: str, faint: str, frame: str, badge: str, **colours: str) -> dict[Role, Style]:
    """Every role on ``ground``. ``colours``: good, warn, bad, accent, low, high, user, system, iowait, steal."""
    known = {
        Role.DIM: faint,
        Role.VALUE: f"bold {ink}",
        Role.TITLE: f"bold {ink}",
        Role.FRAME: frame,
        Role.EMPTY: frame,
        Role.TAB: f"underline {faint}",
        Role.CHOSEN: colours["accent"],
        Role.ACCENT: colours["accent"],
        Role.BRAND: f"bold {colours['accent']}",
        Role.KEY: f"bold {colours['accent']}",
        Role.GRAPH_LOW: colours["low"],
        Role.GRAPH: colours["accent"],
        Role.GRAPH_TOP: colours["high"],
        Role.GOOD: colours["good"],
        Role.FREE: colours["good"],
        Role.WARN: colours["warn"],
        Role.FILLING: colours["warn"],
        Role.LIMIT: colours["warn"],
        Role.BAD: f"bold {colours['bad']}",
        Role.FULL: colours["bad"],
        Role.USER: colours["user"],
        Role.SYSTEM: colours["system"],
        Role.IOWAIT: colours["iowait"],
        Role.SWAP: colours["iowait"],
        Role.STEAL: colours["steal"],
    }
    badges = {Role.GOOD_BADGE: "good", Role.WARN_BADGE: "warn", Role.BAD_BADGE: "bad"}
    found = {role: Style.parse(f"{known.get(role, ink)} on {ground}") for role in Role}
    found |= {role: Style.parse(f"bold {badge} on {colours[name]}") for role, name in badges.items()}
    return found | {Role.SELECTED: Style.parse(f"{ground} on {ink}")}


def _dark() -> dict[Role, Style]:
    return _theme(
        "#14181d", "#d7dde4", "#8b96a3", "#3c4652", "#14181d",
        good="#7fc97f", warn="#e5c07b", bad="#f47067", accent="#56c2d6", low="#4a78b5", high="#a5e8f3",
        user="#56c2d6", system="#6d9bea", iowait="#c792ea", steal="#f47067",
    )  # fmt: skip


def _light() -> dict[Role, Style]:
    return _theme(
        "#fbfaf7", "#1f2328", "#656d76", "#b9b6ae", "#ffffff",
        good="#1a7f37", warn="#8a5a00", bad="#c1272d", accent="#0b6e86", low="#5b86b8", high="#084c5e",
        user="#0b6e86", system="#2f5fb3", iowait="#8a3fb0", steal="#c1272d",
    )  # fmt: skip


def _colour_blind() -> dict[Role, Style]:
    """The colours of Okabe and Ito (2008), which all kinds of colour vision tell apart: blue is good, orange bad."""
    return _theme(
        "#101010", "#e8e8e8", "#a0a0a0", "#505050", "#101010",
        good="#56b4e9", warn="#f0e442", bad="#e69f00", accent="#56b4e9", low="#0072b2", high="#e8e8e8",
        user="#56b4e9", system="#0072b2", iowait="#cc79a7", steal="#e69f00",
    )  # fmt: skip


THEMES = {"dark": _dark, "light": _light, "safe": _colour_blind}
"""Palettes with a background of their own, made when they are chosen. A terminal with fewer colours shows the nearest
ones it has."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """A palette and a set of characters."""

    palette: Mapping[Role, Style]
    glyphs: Glyphs

    @classmethod
    def of_terminal(cls, environment: Mapping[str, str] | None = None, ascii_only: bool = False) -> "Appearance":
        """What this terminal can show: no colours with ``NO_COLOR``, ASCII where the locale is not UTF-8.

        ``LOADTOP_THEME`` (``--theme``) names one of the ``THEMES``.
        """
        known = os.environ if environment is None else environment
        locale = known.get("LC_ALL") or known.get("LC_CTYPE") or known.get("LANG") or ""
        plain = ascii_only or bool(known.get("LOADTOP_ASCII")) or not locale.lower().replace("-", "").endswith("utf8")
        if known.get("NO_COLOR"):
            return cls(MONOCHROME, ASCII if plain else BLOCKS)
        palette = TERMINAL
        if (chosen := known.get("LOADTOP_THEME", "")) and chosen != "terminal":
            palette = THEMES[chosen]()
        return cls(palette, ASCII if plain else UNICODE)
