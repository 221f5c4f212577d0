"""Apache's scoreboard: a letter per worker slot, or, where there are more slots than cells, a bar in proportion."""

from collections.abc import Iterable

from loadtop.i18n import tr
from tui.drawing.line import Line, Role, Span, length

ORDER = "WRKDCLGSI_."
"""Slots are drawn busy ones first: their places change with every request, their numbers are what counts."""

NAMES = {
    "W": "sending",
    "R": "reading",
    "K": "keep-alive",
    "D": "DNS",
    "C": "closing",
    "L": "logging",
    "G": "finishing",
    "S": "starting",
    "I": "cleanup",
    "_": "waiting",
    ".": "open",
}
"""The key of mod_status, in one word each."""

_ROLES = {
    "W": Role.USER,
    "R": Role.SYSTEM,
    "K": Role.IOWAIT,
    "D": Role.WARN,
    "C": Role.STEAL,
    "L": Role.SYSTEM,
    "G": Role.STEAL,
    "S": Role.GOOD,
    "I": Role.STEAL,
    "_": Role.DIM,
    ".": Role.EMPTY,
}


def role_of(letter: str) -> Role:
    """The role of a slot's letter; letters that mod_status does not know are warned of."""
    return _ROLES.get(letter, Role.WARN)


def counted(scoreboard: str) -> list[tuple[str, int]]:
    """Letters with their numbers, in the order of drawing; unknown letters first."""
    letters = sorted(set(scoreboard), key=lambda letter: (ORDER.find(letter), letter))
    return [(letter, scoreboard.count(letter)) for letter in letters]


def slots(scoreboard: str, cells: int, rows: int) -> list[Line]:
    """The scoreboard in at most ``rows`` lines of ``cells`` cells.

    With more slots than cells each letter gets its share, and at least one cell.
    """
    if cells <= 0 or rows <= 0 or not scoreboard:
        return []
    groups = counted(scoreboard)
    room = cells * rows
    if len(scoreboard) > room:
        groups = _scaled(groups, len(scoreboard), room)
    return _broken(groups, cells)[:rows]


def legend(scoreboard: str, cells: int, rows: int) -> list[Line]:
    """What the letters mean and how many there are of each, as many as fit into ``rows`` lines, none cut in two."""
    lines: list[Line] = [()]
    for letter, number in counted(scoreboard):
        item = (
            Span(letter, role_of(letter)),
            Span(f" {number}", Role.VALUE),
            Span(f" {tr(NAMES.get(letter, 'unknown'))}", Role.DIM),
        )
        gap = 2 if lines[-1] else 0
        if length(lines[-1]) + gap + length(item) > cells:
            if len(lines) == rows:
                break
            lines.append(())
            gap = 0
        lines[-1] = (*lines[-1], Span(" " * gap), *item)
    return lines


def _scaled(groups: list[tuple[str, int]], whole: int, room: int) -> list[tuple[str, int]]:
    sizes = [max(1, number * room // whole) for _, number in groups]
    largest = sizes.index(max(sizes))
    sizes[largest] = max(1, sizes[largest] + room - sum(sizes))
    return [(letter, size) for (letter, _), size in zip(groups, sizes, strict=True)]


def _broken(groups: Iterable[tuple[str, int]], cells: int) -> list[Line]:
    lines: list[Line] = []
    current: list[Span] = []
    room = cells
    for letter, number in groups:
        left = number
        while left:
            size = min(left, room)
            current.append(Span(letter * size, role_of(letter)))
            left -= size
            room -= size
            if not room:
                lines.append(tuple(current))
                current, room = [], cells
    return [*lines, tuple(current)] if current else lines
