"""The time strip: the whole session in one line, a letter of the verdict per stretch of time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from loadtop.i18n import clock
from tui.drawing.line import Line, Role, Span
from tui.drawing.text import clip, width

NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)
"""Seconds that one cell may stand for."""

LABEL = 10  # cells from one label of the axis to the next, at least


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of the session, in seconds since its start, with what to print for it."""

    start: float
    end: float
    name: str


def cell_seconds(seconds: float, cells: int, interval_s: float = 1.0) -> float:
    """Seconds per cell, so that ``seconds`` fit into ``cells``: a round number, not below the interval."""
    if cells <= 0:
        return float(NICE[-1])
    least = max(interval_s, seconds / cells)
    return float(next((nice for nice in NICE if nice >= least - 1e-9), -(-least // NICE[-1]) * NICE[-1]))


def names_in(stretches: Sequence[Stretch], cells: int, per_cell: float, calm: str) -> list[str | None]:
    """What to print in each cell: the name that holds longest in it; ``calm`` only where nothing else holds, so that
    short limits are seen. ``None`` where nothing was measured."""
    found: list[str | None] = []
    index = 0
    for cell in range(cells):
        start, end = cell * per_cell, (cell + 1) * per_cell
        while index < len(stretches) and stretches[index].end <= start:
            index += 1
        held: dict[str, float] = {}
        for stretch in stretches[index:]:
            if stretch.start >= end:
                break
            overlap = min(end, stretch.end) - max(start, stretch.start)
            held[stretch.name] = held.get(stretch.name, 0.0) + max(0.0, overlap)
        held = {name: seconds for name, seconds in held.items() if seconds > 0.01 * per_cell}
        loud = {name: seconds for name, seconds in held.items() if name != calm}
        found.append(max(loud or held, key=lambda name: (loud or held)[name]) if held else None)
    return found


def axis(cells: int, per_cell: float, rail: str) -> str:
    """Time labels on a rail of ``cells`` cells, each at the cell in which its time begins."""
    step = next((float(nice) for nice in NICE if nice >= LABEL * per_cell), LABEL * per_cell)
    drawn = ""
    at = 0.0
    while True:
        place = round(at / per_cell)
        label = clock(at)
        if place + len(label) > cells:
            break
        drawn += rail * (place - len(drawn)) + label
        at += step
    return drawn + rail * (cells - len(drawn))


def notes(known: Iterable[tuple[float, str]], cells: int, per_cell: float, ellipsis: str) -> str:
    """Texts under their times, as far as there is room for each."""
    drawn = ""
    for at, text in known:
        place = int(at / per_cell)
        if place >= width(drawn) + bool(drawn):
            drawn += " " * (place - width(drawn)) + clip(text, max(0, cells - place), ellipsis)
    return drawn


def strip(letters: Iterable[tuple[str, Role]]) -> Line:
    runs = groupby(letters, key=lambda cell: cell[1])
    return tuple(Span("".join(letter for letter, _ in run), role) for role, run in runs)
