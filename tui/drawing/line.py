"""Lines: spans of text, each in a role, measured in terminal cells. The appearance gives roles their colours.

Host names, process names, messages of servers: whatever did not come from this program goes through :func:`safe` before
it is drawn. Nothing drawn is ever parsed as markup.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

from loadtop.i18n import Message, folded, rendered

REPLACEMENT = "?"  # shown instead of a character that could move the cursor, change colours or hide text

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_COMBINING = {"Mn", "Mc", "Me"}


@lru_cache(maxsize=2048)
def safe(text: str) -> str:
    """``text`` with every control, format or private character replaced, and white space made plain.

    It is composed (NFC) so that accented letters survive; leftover combining characters, and others without width, are
    dropped, because terminals disagree about them.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_safe_character(character) for character in unicodedata.normalize("NFC", text))


def message_text(text: Message | str | None) -> str:
    """Return a message, or another program's text, in the reader's language and safe to draw; None is empty."""
    return rendered(text, safe)


def _safe_character(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    if category in _UNSAFE:
        return REPLACEMENT
    return "" if category in _COMBINING or cell_len(character) == 0 else character


_WIDE_OR_NONE = re.compile("[^\\x00-\u10ff\u2010-\u2027\u2500-\u25fc\u2800-\u28ff]")


def narrow(text: str) -> bool:
    """Whether every character is known to take one cell (a quick check): combining ones are not drawn."""
    return text.isascii() or _WIDE_OR_NONE.search(text) is None


def width(text: str) -> int:
    if text.isascii() or _WIDE_OR_NONE.search(text) is None:
        return len(text)
    return cell_len(text)


def clip(text: str, cells: int, ellipsis: str = "…") -> str:
    """``text`` in at most ``cells`` cells; what is cut off shows as an ellipsis. No wide character is cut in two."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 0:
        return ""
    kept = 0
    for index, character in enumerate(text):
        kept += width(character)
        if kept > room:
            return text[:index] + ellipsis
    return text


def clip_middle(text: str, cells: int, ellipsis: str = "…") -> str:
    """Like :func:`clip`, but the middle is cut: both ends of an address matter."""
    if width(text) <= cells:
        return text
    room = cells - width(ellipsis)
    if room < 2:
        return clip(text, cells, ellipsis)
    tail = clip(text[::-1], room // 2, "")[::-1]
    return clip(text, room - room // 2, "") + ellipsis + tail


def clip_title(title: str, cells: int, ellipsis: str = "…") -> str:
    """Like :func:`clip_middle`. A URL that is too long loses its http:// first: that tells least."""
    return clip_middle(title if width(title) <= cells else title.removeprefix("http://"), cells, ellipsis)


def wrap(text: str, cells: int, lines: int, ellipsis: str = "…") -> list[str]:
    """``text`` broken at spaces or between East Asian characters into at most ``lines`` lines; the last may be cut."""
    if cells <= 0 or lines <= 0 or not text.strip():
        return []
    parts = folded(" ".join(text.split()), cells)
    shown = [*parts[: lines - 1], "".join(parts[lines - 1 :])]
    return [clip(part.strip(), cells, ellipsis) for part in shown if part]


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
    PART_1 = "part-1"
    PART_2 = "part-2"
    PART_3 = "part-3"
    PART_4 = "part-4"
    PART_5 = "part-5"
    EMPTY = "empty"
    TAB = "tab"
    LIMIT = "limit"
    SELECTED = "selected"


class Span(NamedTuple):
    text: str
    role: Role = Role.TEXT


Line = tuple[Span, ...]  # spans from left to right


def line(*parts: Span | str) -> Line:
    return tuple(Span(part) if isinstance(part, str) else part for part in parts)


def length(spans: Iterable[Span]) -> int:
    return sum([width(text) for text, _ in spans])


def fit(spans: Sequence[Span], cells: int, ellipsis: str = "…") -> Line:
    """The spans in exactly ``cells`` cells: padded with blanks, or cut with an ellipsis. Last blanks do not count.

    Everything that is drawn comes through here, so this is where the last unsafe character is replaced.
    """
    found: list[Span] = []
    room = cells
    for index, span in enumerate(spans):
        if not span.text.isprintable():
            span = Span(safe(span.text), span.role)  # noqa: PLW2901 (the same span, safe to show)
        size = width(span.text)
        if size > room or (size == room and any(rest.text for rest in spans[index + 1 :])):
            more = any(rest.text.strip() for rest in spans[index + 1 :])
            text = clip(f"{span.text}  " if more else span.text.rstrip(), room, ellipsis)
            found.append(Span(text, span.role))
            room -= width(text)
            break
        if size:
            found.append(span)
            room -= size
    if room > 0:
        found.append(Span(" " * room))
    return tuple(found)


def fitting(cells: int, *variants: Line) -> Line:
    """The first of these lines that fits into ``cells``, else the last: give the one that says most first."""
    return next((each for each in variants if length(each) <= cells), variants[-1])


def hanging(head: Line, text: str, cells: int, role: Role = Role.TEXT) -> list[Line]:
    """``text`` to the right of a head, in as many lines as needed."""
    indent = (Span(" " * length(head)),)
    parts = wrap(text, max(1, cells - length(head)), len(text) + 1) or [""]
    return [(*(indent if number else head), Span(part, role)) for number, part in enumerate(parts)]


def flow(items: Iterable[Line], gap: Line, cells: int, rows: int) -> list[Line]:
    """The items in running lines with a gap between them, as many as fit into ``rows`` lines, none cut in two."""
    lines: list[Line] = [()]
    for item in items:
        if lines[-1] and length((*lines[-1], *gap, *item)) > cells:
            if len(lines) == rows:
                break
            lines.append(())
        lines[-1] = (*lines[-1], *gap, *item) if lines[-1] else item
    return [spans for spans in lines if spans]


def spread(left: Sequence[Span], right: Sequence[Span], cells: int) -> Line:
    """``left`` at the left edge and ``right`` at the right one; the left gives way where both do not fit."""
    taken = length(right)
    if not taken or taken >= cells:
        return fit(left, cells)
    return (*fit(left, cells - taken), *right)


NEAR = 6  # unchanged cells between two changes that are sent again: moving the cursor costs as much


def changed(old: Line, new: Line) -> list[tuple[int, int]]:
    """The stretches (first and one-past-last cell) in which two lines of equal length differ, from left to right.

    None begins or ends within a wide character: where there are any, all from the first to the last change is one.
    """
    if old == new:
        return []
    same = _equal(old, new)
    start, old, new = length(new[:same]), old[same:], new[same:]
    texts = ["".join([text for text, _ in spans]) for spans in (old, new)]
    if not narrow(texts[0]) or not narrow(texts[1]):
        sizes = length(old), length(new)
        rest = _equal(old[::-1], new[::-1]) if sizes[0] == sizes[1] else 0
        return [(start, start + max(sizes) - length(new[len(new) - rest :]))]
    if len(texts[0]) != len(texts[1]):
        return [(start, start + max(map(len, texts)))]
    roles = ["".join([_CODES[role] * len(text) for text, role in spans]) for spans in (old, new)]
    differing = [x for x, (a, b) in enumerate(zip(*texts, strict=True), start) if a != b]
    if roles[0] != roles[1]:
        cells = enumerate(zip(*texts, *roles, strict=True), start)
        differing = [x for x, (a, b, role, new_role) in cells if a != b or role != new_role]
    found: list[tuple[int, int]] = []
    for x in differing:
        if found and x - found[-1][1] < NEAR:
            found[-1] = (found[-1][0], x + 1)
        else:
            found.append((x, x + 1))
    return found


_CODES = {role: chr(number) for number, role in enumerate(Role, 32)}


def _equal(old: Line, new: Line) -> int:
    """How many spans, from the first on, are equal."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def beside(left: Sequence[Line], right: Sequence[Line], cells: int, rows: int) -> list[Line]:
    """``rows`` lines: those of ``left`` in ``cells`` cells, and those of ``right`` after them."""
    return [(*fit(left[y] if y < len(left) else (), cells), *(right[y] if y < len(right) else ())) for y in range(rows)]
