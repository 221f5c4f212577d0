"""The characters pictures are made of, and their ASCII counterparts for terminals that have nothing else."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """One set of characters.

    ``steps`` rise from empty to full; with ``dots``, graphs are drawn in Braille instead, and ``ground`` is a measured
    0. ``shades`` are the fillings of user, system, iowait and steal. ``junctions`` are indexed by the sides of a cell
    that the frame line reaches (up 1, right 2, down 4, left 8).
    """

    steps: str = " ▁▂▃▄▅▆▇█"
    ground: str = "⣀"
    dots: bool = True
    shades: str = "━╍┅┉"
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
    mark: str = "▴"
    flag: str = "▾"
    up: str = "▴"
    down: str = "▾"
    level: str = "┈"


UNICODE = Glyphs()

BLOCKS = Glyphs(dots=False, ground="▁", shades="█▓▒░")
"""For terminals without colour: the layers of a graph differ in their filling."""

ASCII = Glyphs(
    steps=" ._-=+*%#",
    ground=".",
    dots=False,
    shades="#=~:",
    rail="-",
    fill="=",
    tick="|",
    limit="^",
    fine="o",
    record="*",
    dot=".",
    ellipsis="~",
    junctions=" |-+||++-+-+++++",
    mark="^",
    flag="v",
    up="^",
    down="v",
    level="-",
)
