"""Text that came from a server, a process or a file, made safe for a terminal."""

import unicodedata


def plain(text: str) -> str:
    """The text with every control and format character shown as its code, so that none reaches the terminal."""
    if text.isprintable():
        return text
    return "".join(
        character
        if unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
        else f"\\x{ord(character):02x}"
        for character in text
    )
