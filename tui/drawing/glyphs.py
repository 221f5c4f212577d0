"""The characters pictures are made of, and their ASCII counterparts for terminals that have nothing else."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class Glyphs:
    """One set of characters.

    ``steps`` rise from empty to full (first and last included); with ``dots`` graphs are drawn in Braille instead, and
    ``ground`` is a measured nothing; ``shades`` are the fillings of user, system, iowait
    and steal, told apart without colour; ``junctions`` are indexed by the sides a frame line leaves to (up 1, right 2,
    down 4, left 8).
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
"""For looks without colour: layers of a graph are told apart by their filling."""

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
