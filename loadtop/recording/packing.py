"""Whole numbers as characters, and what is made of them: short texts that SQL can take apart and no terminal minds.

Numbers below 94 are the printable ASCII characters but for ``~`` (one byte each in UTF-8), greater ones the characters
from U+00A0 on, without the surrogates: two to four bytes. No control character is among them, so that a ``SELECT *``
cannot harm a terminal.
"""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import ge

_ONE_BYTE = 94
_SURROGATES = 0xD800
_ASTRAL = 0x10000
_FIRST_WIDE = 160
LIMIT = 0x10FFFF - 66 - (_ASTRAL - _SURROGATES)
"""The greatest number that a character holds: 1 103 805."""

_CHARACTERS = [chr(n + 32) if n < _ONE_BYTE else chr(n + 66) for n in range(4096)]
_ZEROS = re.compile("~(.)", re.DOTALL)
_RUNS = re.compile(r"([ -~])\1{3,3999}")
"""Longer runs are written in pieces; no scoreboard known has as many slots of one kind."""

_GREATEST_MODULUS = 300
"""With it, one character skips 3679 buckets: as many as there are up to 30 s."""

_BRACKET = ord("[") - 32


def point(number: int) -> int:
    """The code point of a number's character; numbers beyond :data:`LIMIT` have one in the same way, and no character.

    In SQL, with ``p`` the point: ``p - 32 - 34 * (p >= 160) - 10240 * (p >= 65536)``.
    """
    if number < _ONE_BYTE:
        return number + 32
    return number + 66 if number < _SURROGATES - 66 else number + 66 + _ASTRAL - _SURROGATES


def character(number: int) -> str:
    """The character of a number between 0 and :data:`LIMIT`."""
    return _CHARACTERS[number] if number < len(_CHARACTERS) else chr(point(number))


def numbers(text: str) -> list[int]:
    """The numbers of a text's characters."""
    if text.isascii():
        return [code - 32 for code in text.encode()]
    return from_points(map(ord, text))


def from_points(points: Iterable[int]) -> list[int]:
    """The numbers that :func:`point` was given."""
    return [p - 32 if p < _FIRST_WIDE else p - 66 if p < _ASTRAL else p - 66 - _ASTRAL + _SURROGATES for p in points]


def zeros(count: int) -> str:
    """That many zeros: as they are, or from three on as ``~`` and the character of their count."""
    return " " * count if count < 3 else "~" + character(count)


def lengthen(text: str) -> str:
    """The text with all its zeros as they are."""
    return _ZEROS.sub(lambda run: " " * numbers(run[1])[0], text) if "~" in text else text


def pack_histogram(buckets: Sequence[int], counts: Sequence[int]) -> str:
    """A sparse histogram in about a character per bucket. What does not fit is two JSON arrays in one.

    The first character is a number ``m``. Of each other, with ``n`` its number: ``n % m < m - 1`` skips ``n // m``
    buckets and puts ``n % m + 1`` into the next one; ``n % m = m - 1`` puts ``(m - 1) * (n // m)`` more into the same.
    """
    total = sum(counts)
    if not buckets or min(counts) < 1 or any(map(ge, (-1, *buckets), buckets)):
        return _json(buckets, counts)
    # The greater the counts, the more of them must fit into one character beside the gaps.
    modulus = min(_GREATEST_MODULUS, 2 + round(4 * total / len(buckets)))
    modulus += modulus == _BRACKET
    inline = modulus - 1
    codes: list[int] = []
    expected = 0
    for bucket, count in zip(buckets, counts, strict=True):
        if count <= inline:
            codes.append(modulus * (bucket - expected) + count - 1)
        else:
            more, rest = divmod(count - 1, inline)
            codes += (modulus * (bucket - expected) + rest, modulus * more + inline)
        expected = bucket + 1
    largest = max(codes)
    if largest > LIMIT:
        return _json(buckets, counts)
    characters = map(_CHARACTERS.__getitem__ if largest < len(_CHARACTERS) else character, codes)
    return character(modulus) + "".join(characters)


def unpack_histogram(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Buckets and counts that :func:`pack_histogram` was given."""
    if text.startswith("["):
        both = json.loads(text)
        return tuple(both[0]), tuple(both[1])
    modulus, *codes = numbers(text)
    inline = modulus - 1
    lows = [code % modulus for code in codes]
    steps = [code // modulus for code in codes]
    if inline not in lows:
        return tuple(accumulate([step + 1 for step in steps], initial=-1))[1:], tuple([low + 1 for low in lows])
    buckets: list[int] = []
    counts: list[int] = []
    bucket = -1
    for step, low in zip(steps, lows, strict=True):
        if low == inline:
            counts[-1] += inline * step
        else:
            bucket += step + 1
            buckets.append(bucket)
            counts.append(low + 1)
    return tuple(buckets), tuple(counts)


def squeeze(text: str) -> str | bytes:
    """A text with each run of four or more equal characters as the character and one that holds the number of further
    ones. Text beyond printable ASCII stays as it is, as bytes."""
    if not (text.isascii() and text.isprintable()):
        return text.encode("utf-8", "surrogatepass")
    return _RUNS.sub(lambda run: run[1] + chr(_FIRST_WIDE + len(run[0]) - 1), text)


def unsqueeze(stored: str | bytes) -> str:
    """The text that :func:`squeeze` was given."""
    if isinstance(stored, bytes):
        return stored.decode("utf-8", "surrogatepass")
    if stored.isascii():
        return stored
    parts: list[str] = []
    for letter in stored:
        code = ord(letter)
        parts.append(letter if code < _FIRST_WIDE else parts[-1] * (code - _FIRST_WIDE))
    return "".join(parts)


def _json(buckets: Iterable[int], counts: Iterable[int]) -> str:
    return json.dumps([[int(b) for b in buckets], [int(c) for c in counts]], separators=(",", ":"))
