"""Text in a terminal: escaped, measured and padded in cells. East Asian characters take two."""

import unicodedata


def plain(text: str) -> str:
    """Return ``text`` with every control and format character as its code, so that none reaches the terminal."""
    if text.isprintable():
        return text
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else f"\\x{ord(character):02x}"
        for character in text
    )


def width(text: str) -> int:
    """Return the cells that ``text`` takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(character) for character in text)


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Return ``text`` filled with blanks up to ``cells`` cells, at its end or (``right``) before it."""
    blanks = " " * max(0, cells - width(text))
    return blanks + text if right else text + blanks


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
