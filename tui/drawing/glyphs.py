"""The characters pictures are made of, and their ASCII counterparts for terminals that have nothing else."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """One set of characters.

    ``steps`` rise from empty to full; with ``dots``, graphs are drawn in Braille instead, and ``ground`` is a measured
    0. ``shades`` are the fillings of user, system, iowait and steal. ``junctions`` are indexed by the sides of a cell
    that the frame line reaches (up 1, right 2, down 4, left 8).
    """

    steps: str
    ground: str
    dots: bool
    shades: str
    rail: str
    fill: str
    tick: str
    limit: str
    fine: str
    unsure: str
    record: str
    dot: str
    ellipsis: str
    junctions: str
    mark: str
    flag: str
    up: str
    down: str
    level: str


UNICODE = Glyphs(
    steps=" ▁▂▃▄▅▆▇█",
    ground="⣀",
    dots=True,
    shades="━╍┅┉",
    rail="─",
    fill="━",
    tick="╂",
    limit="▲",
    fine="●",
    unsure="?",
    record="●",
    dot="·",
    ellipsis="…",
    junctions=" ╵╶╰╷│╭├╴╯─┴╮┤┬┼",
    mark="▴",
    flag="▾",
    up="▴",
    down="▾",
    level="┈",
)

BLOCKS = replace(UNICODE, dots=False, ground="▁", shades="█▓▒░")
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
    unsure="?",
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
