"""Texts from outside (servers, remote hosts, other programs, foreign files): made safe where they are shown.

A parser cuts its input, so that no later code handles a text of a megabyte. What is shown goes through :func:`plain`,
or :func:`printable` where line ends stay. Regular expressions over such texts have bounded quantifiers only; a test
sees to that.
"""

import re

MAX_TEXT = 16_384  # characters of a text that are kept at all

_UNSAFE = (
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001"
    "\U000e0020-\U000e007f"  # format characters: they turn the direction of writing around, or hide what follows
    "\u2028\u2029\ud800-\udfff"  # separators of lines and paragraphs; halves of characters
)
_CHARACTER = re.compile(f"[{_UNSAFE}]")
_NOT_LINE_END = re.compile(rf"(?!\n|\r\n|\t)[{_UNSAFE}]")
_ESCAPE_SEQUENCE = re.compile(  # of ECMA-48, as terminals know them
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]"  # control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]{0,2048}(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]{0,2048}\x1b\\"
    r"|\x1b[ -/]{0,8}[0-~]"
)


def plain(text: str) -> str:
    """Return ``text`` with every control and format character replaced by its code, because these could control the
    terminal."""
    return text if text.isprintable() else _CHARACTER.sub(_code, text)


def printable(text: str) -> str:
    """As :func:`plain` for several lines: line ends and tabs stay."""
    return _NOT_LINE_END.sub(_code, text)


def without_escape_sequences(text: str) -> str:
    """Return ``text`` without what a terminal would obey: colours, moves of the cursor, titles."""
    return _ESCAPE_SEQUENCE.sub("", text)


def _code(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]):02x}"
