"""Text in columns: East Asian characters take two cells."""

import unicodedata


def width(text: str) -> int:
    """Cells that ``text`` takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """``text`` filled with blanks up to ``cells`` cells, at its end or (``right``) before it."""
    blanks = " " * max(0, cells - width(text))
    return blanks + text if right else text + blanks


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
