"""How the cockpit looks: a colour for every role, and the characters to draw with."""

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
"""The terminal's own sixteen colours on its own background: it fits light and dark ones, and is short to send."""

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


@dataclass(frozen=True, slots=True)
class Appearance:
    """A palette and a set of characters."""

    palette: Mapping[Role, Style]
    glyphs: Glyphs

    @classmethod
    def of_terminal(cls, environment: Mapping[str, str] | None = None, ascii_only: bool = False) -> "Appearance":
        """What this terminal can show: no colours with ``NO_COLOR``, ASCII where the locale is not UTF-8.
        ``LOADTOP_THEME`` (``--theme``) names a palette other than the terminal's own."""
        known = os.environ if environment is None else environment
        locale = known.get("LC_ALL") or known.get("LC_CTYPE") or known.get("LANG") or ""
        plain = ascii_only or bool(known.get("LOADTOP_ASCII")) or not locale.lower().replace("-", "").endswith("utf8")
        if known.get("NO_COLOR"):
            return cls(MONOCHROME, ASCII if plain else BLOCKS)
        palette = TERMINAL
        if (chosen := known.get("LOADTOP_THEME", "")) and chosen != "terminal":
            from tui.themes import theme

            palette = dict(theme(chosen))
        return cls(palette, ASCII if plain else UNICODE)
