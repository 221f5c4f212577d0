"""The appearance of the cockpit: a style for every role, and the characters to draw with."""

import os
from collections.abc import Mapping
from functools import partial

from msgspec import Struct
from rich.style import Style

from tui.drawing.line import Role


class Glyphs(Struct, frozen=True, eq=False):
    """One set of characters.

    ``steps`` rise from empty to full; with ``dots``, graphs are drawn in Braille instead, and ``ground`` is a measured
    0. ``shades`` are the fillings of user, system, iowait and steal, ``patterns`` those of the parts of a request's
    time: five that are reported apart, and one for all others; ``unknown`` is the rest. ``junctions`` are indexed by
    the sides of a cell that the frame line reaches (up 1, right 2, down 4, left 8).
    """

    steps: str = " ▁▂▃▄▅▆▇█"
    ground: str = "⣀"
    dots: bool = True
    shades: str = "━╍┅┉"
    patterns: str = "━╍┅┉╾┄"
    unknown: str = "░"
    rail: str = "─"
    fill: str = "━"
    tick: str = "╂"
    limit: str = "▲"
    fine: str = "●"
    unsure: str = "?"
    record: str = "●"
    dot: str = "·"
    ellipsis: str = "…"
    junctions: str = " ╵╶╰╷│╭├╴╯─┴╮┤┬┼"
    up: str = "▴"
    down: str = "▾"
    level: str = "┈"

    @property
    def cell_steps(self) -> int:
        """Heights that a cell of a graph can have."""
        return 4 if self.dots else len(self.steps) - 1


UNICODE = Glyphs()

BLOCKS = Glyphs(
    dots=False, ground="▁", shades="█▓▒░", patterns="█▓▒░▚▖", unknown="·"
)  # without colour: each layer of a graph has its own filling

ASCII = Glyphs(
    steps=" ._-=+*%#",
    ground=".",
    dots=False,
    shades="#=~:",
    patterns="#=~:%+",
    unknown=".",
    rail="-",
    fill="=",
    tick="|",
    limit="^",
    fine="o",
    record="*",
    dot=".",
    ellipsis="~",
    junctions=" |-+||++-+-+++++",
    up="^",
    down="v",
    level="-",
)


def _theme(ground: str, ink: str, faint: str, frame: str, badge: str, **colours: str) -> dict[Role, Style]:
    """Every role on ``ground``. ``colours``: those of the roles of these names, and ``low`` and ``high`` of a graph."""
    styles: dict[str, str] = colours | {
        Role.DIM: faint,
        Role.VALUE: f"bold {ink}",
        Role.TITLE: f"bold {ink}",
        Role.FRAME: frame,
        Role.EMPTY: frame,
        Role.TAB: f"underline {faint}",
        Role.CHOSEN: colours["accent"],
        Role.BRAND: f"bold {colours['accent']}",
        Role.KEY: f"bold {colours['accent']}",
        Role.GRAPH_LOW: colours["low"],
        Role.GRAPH: colours["accent"],
        Role.GRAPH_TOP: colours["high"],
        Role.FREE: colours["good"],
        Role.FILLING: colours["warn"],
        Role.LIMIT: colours["warn"],
        Role.BAD: f"bold {colours['bad']}",
        Role.FULL: colours["bad"],
        Role.SWAP: colours["iowait"],
        Role.PART_1: colours["user"],
        Role.PART_2: colours["iowait"],
        Role.PART_3: colours["warn"],
        Role.PART_4: colours["fourth"],
        Role.PART_5: colours["fifth"],
    }
    on = f" on {ground}" if ground else ""
    return {role: Style.parse(styles.get(role, ink) + on) for role in Role} | {
        Role.GOOD_BADGE: Style.parse(f"bold {badge} on {colours['good']}"),
        Role.WARN_BADGE: Style.parse(f"bold {badge} on {colours['warn']}"),
        Role.BAD_BADGE: Style.parse(f"bold {badge} on {colours['bad']}"),
        Role.SELECTED: Style.parse(f"{ground} on {ink}" if ground else "reverse"),
    }


TERMINAL = _theme(
    "", "", "dim", "bright_black", "black",
    good="green", warn="yellow", bad="red", accent="cyan", low="blue", high="bright_cyan",
    user="cyan", system="blue", iowait="magenta", steal="red", fourth="blue", fifth="green",
) | {Role.BAD_BADGE: Style.parse("bold white on red")}  # fmt: skip
"""The terminal's own sixteen colours and background: fits light and dark terminals, and takes few bytes."""

_WEIGHTS = {
    "dim": (Role.DIM, Role.FRAME, Role.EMPTY),
    "bold": (Role.VALUE, Role.TITLE, Role.CHOSEN, Role.BRAND, Role.KEY, Role.WARN, Role.BAD),
    "bold reverse": (Role.GOOD_BADGE, Role.WARN_BADGE, Role.BAD_BADGE),
    "dim underline": (Role.TAB,),
    "reverse": (Role.SELECTED,),
}

MONOCHROME = dict.fromkeys(Role, Style.null()) | {  # no colour at all (``NO_COLOR``): weight and reverse only
    role: Style.parse(weight) for weight, roles in _WEIGHTS.items() for role in roles
}

THEMES = {
    "dark": partial(
        _theme, "#14181d", "#d7dde4", "#8b96a3", "#3c4652", "#14181d",
        good="#7fc97f", warn="#e5c07b", bad="#f47067", accent="#56c2d6", low="#4a78b5", high="#a5e8f3",
        user="#56c2d6", system="#6d9bea", iowait="#c792ea", steal="#f47067", fourth="#6d9bea", fifth="#7fc97f",
    ),
    "light": partial(
        _theme, "#fbfaf7", "#1f2328", "#656d76", "#b9b6ae", "#ffffff",
        good="#1a7f37", warn="#8a5a00", bad="#c1272d", accent="#0b6e86", low="#5b86b8", high="#084c5e",
        user="#0b6e86", system="#2f5fb3", iowait="#8a3fb0", steal="#c1272d", fourth="#2f5fb3", fifth="#1a7f37",
    ),
    # The colours of Okabe and Ito (2008), which all kinds of colour vision tell apart: blue is good, orange bad.
    "safe": partial(
        _theme, "#101010", "#e8e8e8", "#a0a0a0", "#505050", "#101010",
        good="#56b4e9", warn="#f0e442", bad="#e69f00", accent="#56b4e9", low="#0072b2", high="#e8e8e8",
        user="#56b4e9", system="#0072b2", iowait="#cc79a7", steal="#e69f00", fourth="#d55e00", fifth="#009e73",
    ),
}  # fmt: skip
"""Palettes with a background of their own, made when chosen. A terminal with fewer colours shows the nearest ones."""


class Appearance(Struct, frozen=True):
    palette: Mapping[Role, Style]
    glyphs: Glyphs

    @classmethod
    def of_terminal(cls, known: Mapping[str, str] = os.environ) -> "Appearance":
        """What this terminal can show: no colours with ``NO_COLOR``, ASCII where the locale is not UTF-8."""
        locale = known.get("LC_ALL") or known.get("LC_CTYPE") or known.get("LANG") or ""
        plain = bool(known.get("LOADTOP_ASCII")) or not locale.lower().replace("-", "").endswith("utf8")
        if known.get("NO_COLOR"):
            return cls(MONOCHROME, ASCII if plain else BLOCKS)
        theme = known.get("LOADTOP_THEME") or "terminal"
        return cls(TERMINAL if theme == "terminal" else THEMES[theme](), ASCII if plain else UNICODE)
