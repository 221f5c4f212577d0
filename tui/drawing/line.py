"""Lines: spans of text, each in a role. The appearance gives roles their colours."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from tui.drawing.text import clip, narrow, safe, width


class Role(StrEnum):
    TEXT = "text"
    DIM = "dim"
    VALUE = "value"
    TITLE = "title"
    FRAME = "frame"
    CHOSEN = "chosen"
    BRAND = "brand"
    KEY = "key"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    GOOD_BADGE = "good-badge"
    WARN_BADGE = "warn-badge"
    BAD_BADGE = "bad-badge"
    ACCENT = "accent"
    GRAPH_LOW = "graph-low"
    GRAPH = "graph"
    GRAPH_TOP = "graph-top"
    FREE = "free"
    FILLING = "filling"
    FULL = "full"
    USER = "user"
    SYSTEM = "system"
    IOWAIT = "iowait"
    STEAL = "steal"
    SWAP = "swap"
    EMPTY = "empty"
    TAB = "tab"
    LIMIT = "limit"
    SELECTED = "selected"


class Span(NamedTuple):
    text: str
    role: Role = Role.TEXT


Line = tuple[Span, ...]
"""Spans from left to right."""

Cell = tuple[str, Role]
"""One cell; the second cell of a wide character holds an empty string."""


def line(*parts: Span | str) -> Line:
    """A line of spans; plain strings are in the ``text`` role."""
    return tuple(Span(part) if isinstance(part, str) else part for part in parts)


def length(spans: Iterable[Span]) -> int:
    return sum([width(text) for text, _ in spans])


def text_of(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)


def fit(spans: Sequence[Span], cells: int, ellipsis: str = "…") -> Line:
    """The spans in exactly ``cells`` cells: padded with blanks, or cut with an ellipsis.

    Everything that is drawn comes through here, so this is where the last unsafe character is replaced.
    """
    found: list[Span] = []
    room = cells
    for index, span in enumerate(spans):
        if not span.text.isprintable():
            span = Span(safe(span.text), span.role)  # noqa: PLW2901 (the same span, safe to show)
        size = width(span.text)
        if size > room or (size == room and any(rest.text for rest in spans[index + 1 :])):
            following = size == room
            text = clip(span.text + ("  " if following else ""), room, ellipsis)
            found.append(Span(text, span.role))
            room -= width(text)
            break
        if size:
            found.append(span)
            room -= size
    if room > 0:
        found.append(Span(" " * room))
    return tuple(found)


def spread(left: Sequence[Span], right: Sequence[Span], cells: int, ellipsis: str = "…") -> Line:
    """``left`` at the left edge and ``right`` at the right one; the left gives way where both do not fit."""
    taken = length(right)
    if not taken or taken >= cells:
        return fit(left, cells, ellipsis)
    return (*fit(left, cells - taken, ellipsis), *right)


def cells_of(spans: Iterable[Span]) -> list[Cell]:
    found: list[Cell] = []
    for text, role in spans:
        if narrow(text):
            found.extend((character, role) for character in text)
            continue
        for character in text:
            found.append((character, role))
            if width(character) == 2:
                found.append(("", role))
    return found


NEAR = 6  # unchanged cells between two changes that are sent again: moving the cursor costs as much


def changed(old: Line, new: Line) -> list[tuple[int, int]]:
    """The stretches (first and one-past-last cell) in which two lines of equal length differ, from left to right.

    No stretch begins or ends within a wide character of either line.
    """
    if old == new:
        return []
    same = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    start = length(new[:same])
    before, after = _flat(old[same:]), _flat(new[same:])
    if len(before[0]) != len(after[0]):
        return [(start, start + max(len(before[0]), len(after[0])))]
    found: list[tuple[int, int]] = []
    for x in _differing(before, after):
        if found and x - found[-1][1] < NEAR:
            found[-1] = (found[-1][0], x + 1)
        else:
            found.append((x, x + 1))
    if _REST in before[0] or _REST in after[0]:
        found = [_whole(stretch, before[0], after[0]) for stretch in found]
    return [(start + first, start + last) for first, last in found]


_REST = "\0"  # stands for the second cell of a wide character where lines are compared

_CODES = {role: chr(number) for number, role in enumerate(Role, 32)}


def _flat(spans: Line) -> tuple[str, str]:
    """The text and the roles, each with a character per cell."""
    texts: list[str] = []
    roles: list[str] = []
    for text, role in spans:
        if not narrow(text):
            text = "".join(c + _REST if width(c) == 2 else c for c in text)  # noqa: PLW2901 (the same text, in cells)
        texts.append(text)
        roles.append(_CODES[role] * len(text))
    return "".join(texts), "".join(roles)


def _differing(before: tuple[str, str], after: tuple[str, str]) -> list[int]:
    if before[1] == after[1]:
        return [x for x, (old, new) in enumerate(zip(before[0], after[0], strict=True)) if old != new]
    pairs = enumerate(zip(before[0], after[0], before[1], after[1], strict=True))
    return [x for x, (old, new, old_role, new_role) in pairs if old != new or old_role != new_role]


def _whole(stretch: tuple[int, int], before: str, after: str) -> tuple[int, int]:
    """The stretch with the other halves of the wide characters at its ends."""
    first, last = stretch
    while before[first] == _REST or after[first] == _REST:
        first -= 1
    while last < len(after) and (before[last] == _REST or after[last] == _REST):
        last += 1
    return first, last


def beside(left: Sequence[Line], right: Sequence[Line], cells: int, rows: int) -> list[Line]:
    """``rows`` lines: those of ``left`` in ``cells`` cells, and those of ``right`` after them."""
    return [(*fit(left[y] if y < len(left) else (), cells), *(right[y] if y < len(right) else ())) for y in range(rows)]
