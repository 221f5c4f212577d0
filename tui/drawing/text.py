"""Text from outside made safe to show, and text measured in terminal cells.

Host names, process names, messages of servers: whatever did not come from this program goes through :func:`safe` before
it is drawn. Nothing drawn is ever parsed as markup.
"""

import re
import unicodedata
from functools import lru_cache

from rich.cells import cell_len

from loadtop.i18n import Message, rendered

REPLACEMENT = "?"  # shown in place of a character that could move the cursor, change colours or hide text

_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_COMBINING = {"Mn", "Mc", "Me"}


@lru_cache(maxsize=2048)
def safe(text: str) -> str:
    """``text`` with every control, format or private character replaced, and white space made plain.

    It is composed (NFC) so that accented letters survive; combining characters that are left over, and others
    that take no cell of their own, are dropped, because terminals disagree about them.
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


_NARROW = re.compile("[\\x00-\u10ff\u2010-\u2027\u2500-\u25fc\u2800-\u28ff]*")
"""Characters known to take one cell each; combining ones are not drawn."""


def narrow(text: str) -> bool:
    """Whether every character is known to take one cell (a quick check)."""
    return text.isascii() or _NARROW.fullmatch(text) is not None


def width(text: str) -> int:
    if text.isascii() or _NARROW.fullmatch(text) is not None:
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
    head = clip(text, room - room // 2, "")
    tail, kept = "", 0
    for character in reversed(text):
        kept += width(character)
        if kept > room // 2:
            break
        tail = character + tail
    return head + ellipsis + tail


def wrap(text: str, cells: int, lines: int, ellipsis: str = "…") -> list[str]:
    """``text`` broken at spaces or between East Asian characters into at most ``lines`` lines; the last may be cut."""
    if cells <= 0 or lines <= 0:
        return []
    pieces = _PIECES.findall(" ".join(text.split()))
    found: list[str] = []
    line = ""
    for index, piece in enumerate(pieces):
        longer = line + piece
        if width(longer.rstrip()) <= cells:
            line = longer
            continue
        if len(found) == lines - 1:
            return [*found, clip("".join([line, *pieces[index:]]).strip(), cells, ellipsis)]
        if line:
            found.append(line.rstrip())
        line = clip(piece, cells, ellipsis)
    return [*found, line.rstrip()] if line.strip() else found


_WIDE = "\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_OPEN, _CLOSE = "\uff08\u300c", "\u3001\u3002\uff09\u300d"
_PIECES = re.compile(rf"[{_OPEN}]*(?:[^\s{_WIDE}]+|\S)[{_CLOSE}]* ?| ")
"""What stays together at the end of a line: words, or single characters of scripts without blanks, with opening
brackets before and full stops, commas or closing brackets after them."""
