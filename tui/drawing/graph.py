"""Bars, and graphs of past values, newest at the right, with an axis that does not jump.

A cell holds one interval as a block of eighths, or two intervals of four Braille dots each. Two intervals keep sharing
a cell: the graph moves by whole cells, and in between only its newest cell changes.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TypeVar

from tui.drawing.appearance import Glyphs
from tui.drawing.line import Line, Role, Span

T = TypeVar("T")

RoleAt = Callable[[float], Role]  # the role of a row whose middle is at this height (0 to 1)

STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # round ceilings within a power of ten
PATIENCE = 15  # intervals that a peak holds the axis up after it has left the picture
MAX_INTERVALS = 400  # intervals kept for graphs: more than the widest terminal shows

_LEFT_DOTS, _RIGHT_DOTS = (0x00, 0x40, 0x44, 0x46, 0x47), (0x00, 0x80, 0xA0, 0xB0, 0xB8)
"""Bits of the Braille block (from U+2800 on) for columns of 0 to 4 dots, from the bottom."""


class Ring(deque[T | None]):
    """The newest values of a graph, and how many there have been in all: that says which two share a cell."""

    def __init__(self, values: Iterable[T | None] = (), total: int = 0) -> None:
        super().__init__(values, MAX_INTERVALS)
        self.total = total

    def append(self, value: T | None) -> None:
        super().append(value)
        self.total += 1

    def __deepcopy__(self, memo: object) -> "Ring[T]":
        return Ring(self, self.total)


def share_out(shares: Sequence[float], cells: int) -> list[int]:
    """Whole cells for each share (percent; at most 100 together) by largest remainder: they add up to their sum."""
    if cells <= 0:
        return [0] * len(shares)
    exact = [max(0.0, share) * cells / 100.0 for share in shares]
    whole = min(cells, round(sum(exact)))
    sizes = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda index: (sizes[index] - exact[index], index))
    for index in order[: max(0, whole - sum(sizes))]:
        sizes[index] += 1
    return sizes


def stacked(parts: Sequence[tuple[float, Role]], cells: int, glyphs: Glyphs) -> Line:
    """A bar of ``cells`` cells in which each part (percent) has its own filling and role."""
    sizes = share_out([share for share, _ in parts], cells)
    spans = [
        Span(glyphs.shades[min(index, len(glyphs.shades) - 1)] * size, role)
        for index, (size, (_, role)) in enumerate(zip(sizes, parts, strict=True))
        if size
    ]
    rest = cells - sum(sizes)
    if rest > 0:
        spans.append(Span(glyphs.rail * rest, Role.EMPTY))
    return tuple(spans)


def gauge(share: float | None, cells: int, role: Role, glyphs: Glyphs) -> Line:
    """A thin bar that is ``share`` percent full; blanks where it is ``None``."""
    if share is None:
        return (Span(" " * cells),)
    return _bar(round(share * cells / 100.0), cells, role, glyphs)


def _bar(full: int, cells: int, role: Role, glyphs: Glyphs) -> Line:
    full = max(0, min(cells, full))
    spans = (Span(glyphs.fill * full, role), Span(glyphs.rail * (cells - full), Role.EMPTY))
    return tuple(span for span in spans if span.text)


def meter(value: float, threshold: float, unit: str, cells: int, role: Role, glyphs: Glyphs) -> Line:
    """A gauge with a tick at the threshold: percent on a scale to 100, anything else to twice its threshold."""
    top = 100.0 if unit == "%" and threshold <= 100.0 else 2.0 * threshold
    if cells < 4 or top <= 0:
        return gauge(100.0 if value > 0 else 0.0, max(0, cells), role, glyphs)
    tick = max(1, min(cells - 2, round(threshold / top * cells)))
    full = round(min(value / top, 1.0) * cells)
    above = _bar(full - tick - 1, cells - tick - 1, role, glyphs)
    return (*_bar(full, tick, role, glyphs), Span(glyphs.tick, Role.DIM), *above)


def level(share: float | None, glyphs: Glyphs) -> str:
    """One cell that is ``share`` percent high; any use at all shows."""
    if share is None:
        return glyphs.unsure
    top = len(glyphs.steps) - 1
    return glyphs.steps[max(1, min(top, round(share * top / 100.0)))] if share > 0 else glyphs.dot


def ceiling(value: float) -> float:
    """The next round number that is not below ``value``."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in STEPS if step * power >= value), 10.0 * power)


def ceiling_of_size(kilobytes: float) -> float:
    """The next number of kB that is round in its unit (kB, MB or GB of 1024)."""
    unit = 1024.0 ** max(0, math.floor(math.log(kilobytes, 1024) + 1e-9)) if kilobytes > 1 else 1.0
    return ceiling(kilobytes / unit) * unit


def span_of(cells: int, glyphs: Glyphs) -> int:
    return max(0, cells) * (2 if glyphs.dots else 1)


def top_of(
    values: Iterable[float | None], shown: int, least: float = 1.0, round_up: Callable[[float], float] = ceiling
) -> float:
    """The top of an axis for the last ``shown`` values: up at once, down only when a peak has long left the picture."""
    seen = list(values)[-(max(0, shown) + PATIENCE) :]
    return max(least, round_up(max((value for value in seen if value is not None), default=0.0)))


def plain(height: float) -> Role:
    """Where high is neither good nor bad."""
    if height < 0.4:
        return Role.GRAPH_LOW
    return Role.GRAPH if height < 0.8 else Role.GRAPH_TOP


def utilisation(height: float) -> Role:
    """Where full is bad."""
    if height > 0.85:
        return Role.FULL
    return Role.FILLING if height > 0.6 else Role.FREE


def graph(
    values: Sequence[float | None], cells: int, rows: int, top: float, glyphs: Glyphs, role: RoleAt = plain
) -> list[Line]:
    """``rows`` lines of ``cells`` cells, from the top. A value that was not measured leaves a gap, 0 draws a floor."""
    if cells <= 0 or rows <= 0:
        return []
    steps = rows * glyphs.cell_steps
    scale = steps / top if top > 0 else 0.0
    heights = [
        None if value is None else (0 if value <= 0 else max(1, min(steps, round(value * scale))))
        for value in _shown(values, cells, glyphs)
    ]
    columns = [_column(left, right, rows, glyphs) for left, right in _columns(heights, glyphs)]
    return [(Span("".join(row), role((rows - y - 0.5) / rows)),) for y, row in enumerate(zip(*columns, strict=True))]


def against(
    values: Sequence[float | None], threshold: float, cells: int, rows: int, top: float, glyphs: Glyphs, role: Role
) -> list[Line]:
    """A graph of values below ``top`` with a level line at a threshold, where no value covers it."""
    drawn = graph(values, cells, rows, top, glyphs, lambda _: role)
    at = min(rows - 1, max(0, int(rows - rows * threshold / top))) if top > 0 else 0
    if drawn:
        runs = [(blank, "".join(run)) for blank, run in groupby(drawn[at][0].text, str.isspace)]
        levels = (Span(glyphs.level * len(run), Role.LIMIT) if blank else Span(run, role) for blank, run in runs)
        drawn[at] = tuple(levels)
    return drawn


def layers(
    values: Sequence[tuple[int, ...] | None],
    roles: Sequence[Role],
    cells: int,
    rows: int,
    glyphs: Glyphs,
    fillings: str = "",
) -> list[Line]:
    """A graph of stacked shares (percent of the height), from the top; ``roles`` are those of the layers from below.

    With blocks each layer has a separate filling too, of ``fillings`` or else the shades; with dots a cell has the role
    of the layer that fills most.
    """
    if cells <= 0 or rows <= 0:
        return []
    columns = _columns(_shown(values, cells, glyphs), glyphs)
    stacks = [_stack(left, right, rows, glyphs, fillings or glyphs.shades) for left, right in columns]
    return [_joined([stack[y] for stack in stacks], roles) for y in range(rows)]


def _shown(values: Sequence[T | None], cells: int, glyphs: Glyphs) -> list[T | None]:
    """As many values as there is room for, with gaps before the first one, and after the newest where it is alone."""
    room = span_of(cells, glyphs)
    seen: list[T | None] = list(values)[-room:]
    total = values.total if isinstance(values, Ring) else len(values)
    if glyphs.dots and total % 2:
        seen = [*list(values)[-room + 1 :], None]
    gaps: list[T | None] = [None] * (room - len(seen))
    return gaps + seen


def _columns(values: Sequence[T | None], glyphs: Glyphs) -> Iterable[tuple[T | None, T | None]]:
    """The values of each cell: two with dots, else one."""
    return zip(values[::2], values[1::2], strict=True) if glyphs.dots else ((value, None) for value in values)


@lru_cache(maxsize=8192)
def _column(left: int | None, right: int | None, rows: int, glyphs: Glyphs) -> str:
    if not left and not right:
        return " " * rows if left is None and right is None else " " * (rows - 1) + glyphs.ground
    found = ""
    for floor in range(glyphs.cell_steps * (rows - 1), -1, -glyphs.cell_steps):
        low, high = (max(0, min(glyphs.cell_steps, (height or 0) - floor)) for height in (left, right))
        bits = _LEFT_DOTS[low] + _RIGHT_DOTS[high] if glyphs.dots else 0
        found += chr(0x2800 + bits) if bits else " " if glyphs.dots else glyphs.steps[low]
    return found


@lru_cache(maxsize=1024)  # the columns of a wide screen; one of them takes about 1 kB
def _stack(
    left: tuple[int, ...] | None, right: tuple[int, ...] | None, rows: int, glyphs: Glyphs, fillings: str
) -> tuple[tuple[str, int], ...]:
    """The cells of a column from the top, each with the number of the layer that it shows."""
    steps = rows * glyphs.cell_steps
    low, high = (
        None if parts is None else max(0, min(steps, round(sum(parts) * steps / 100))) for parts in (left, right)
    )
    drawn = _column(low, high, rows, glyphs)
    parts = right or left or ()
    cells: list[tuple[str, int]] = []
    for y, character in enumerate(drawn):
        row = rows - 1 - y
        layer = _thickest(parts, row * 100.0 / rows, (row + 1) * 100.0 / rows)
        if character == glyphs.steps[-1]:
            character = fillings[min(layer, len(fillings) - 1)]  # noqa: PLW2901 (a full cell has a filling)
        cells.append((character, layer))
    return tuple(cells)


def _thickest(parts: Sequence[int], floor: float, top: float) -> int:
    below, thickest, layer = 0.0, -1.0, 0
    for index, share in enumerate(parts):
        taken = min(top, below + share) - max(floor, below)
        if share > 0 and taken > thickest:
            thickest, layer = taken, index
        below += share
    return layer


def _joined(cells: Iterable[tuple[str, int]], roles: Sequence[Role]) -> Line:
    """Cells as spans; blanks take the role before them, which makes longer runs."""
    spans: list[Span] = []
    text, current = "", -1
    for character, layer in cells:
        if layer == current or character == " ":
            text += character
        else:
            if text:
                spans.append(Span(text, roles[max(0, current)]))
            text, current = character, layer
    spans.append(Span(text, roles[max(0, current)]))
    return tuple(spans)
