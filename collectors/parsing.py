"""Numbers, names and tables in the texts of kernels, servers and remote hosts. All of them pass through here, because
each can be forged: a number has ASCII digits and a range, a name a length, a table so many lines. They raise
:class:`ParseError` and nothing else.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from collectors.errors import ParseError

LONGEST_NAME = 64  # of a process, a device, an interface: Linux has none that is longer
LONGEST_TEXT = 200  # of what a server says about itself: its version, its pools
MOST_LINES = 20_000  # of a table
MOST_DEVICES = 1000  # disks, interfaces, listening ports
MOST_CORES = 4096
MOST_PROCESSES = 100_000
MOST_PORT = 65_535
_LARGEST = 2**63 - 1
_PID_DIGITS = 10
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]{1,4096}")
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)


def excerpt(text: str) -> str:
    """The beginning of a text as a message may quote it: short, on one line, every odd character escaped."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")


def on_one_line(text: str) -> str:
    """Text of a remote host as a message may quote it: on one line, without control characters."""
    return _CONTROL.sub(" ", text).strip()


def short(text: str, most: int = LONGEST_NAME) -> str:
    """A name from outside, cut where it is longer than any that is meant."""
    return text[:most]


def count(token: str, what: str, most: int = _LARGEST) -> int:
    """A whole number from 0 to ``most``, which fits 63 bits. ``what`` names it in the message."""
    value = count_or_none(token, most)
    if value is None:
        raise ParseError(f"{what}: not a count: {excerpt(token)}")
    return value


def count_or_none(token: str | None, most: int = _LARGEST) -> int | None:
    """As :func:`count`, but ``None`` if it is missing or not a count (a kernel prints -1 for "unknown")."""
    if token is None or not (token.isascii() and token.isdecimal() and len(token) <= 19):
        return None
    value = int(token)
    return value if value <= most else None


def hexadecimal(token: str, what: str) -> int:
    """A hexadecimal number of at most 16 digits."""
    if 0 < len(token) <= 16 and all(letter in "0123456789abcdefABCDEF" for letter in token):
        return int(token, 16)
    raise ParseError(f"{what}: not a hexadecimal number: {excerpt(token)}")


def decimal(token: str, what: str) -> float:
    if _DECIMAL.fullmatch(token):
        return float(token)
    raise ParseError(f"{what}: not a decimal number: {excerpt(token)}")


def row(tokens: Sequence[str], what: str) -> list[int]:
    """As :func:`count` for each of several; the usual case is checked for all of them at once."""
    together = "".join(tokens)
    if together.isascii() and together.isdecimal() and all(tokens) and max(map(len, tokens)) < 19:
        return list(map(int, tokens))
    return [count(token, what) for token in tokens]


def pids(words: Iterable[str]) -> frozenset[int]:
    """The numbers of processes among the words, at most :data:`MOST_PROCESSES`. Other words are passed over."""
    found = list(islice(words, MOST_PROCESSES))
    together = "".join(found)
    if not (together.isascii() and together.isdecimal()) or len(max(found, key=len)) > _PID_DIGITS:
        found = [word for word in found if word.isascii() and word.isdecimal() and len(word) <= _PID_DIGITS]
    return frozenset(map(int, found))


def counts(text: str, wanted: Collection[str], separator: str = " ") -> dict[str, int]:
    """Those of ``wanted`` that are among lines of a name and a count (``pswpin 12``, ``MemTotal: 12 kB``).

    Values that are not counts are left out, and so is a last line without its end. The first line of a name counts.
    """
    found: dict[str, int] = {}
    for line in complete_lines(text):
        name, _, rest = line.partition(separator)
        if name not in wanted or name in found:
            continue
        words = rest.split(None, 1)
        value = count_or_none(words[0]) if words else None
        if value is not None:
            found[name] = value
    return found


def complete_lines(text: str) -> Iterator[str]:
    """The lines of a text that have their end, at most :data:`MOST_LINES`: the last number of a cut line may be cut."""
    whole, _, _ = text.rpartition("\n")
    return islice(whole.split("\n", MOST_LINES), MOST_LINES) if whole else iter(())


def needed(table: Mapping[str, int], name: str, what: str) -> int:
    """Return the value of ``name``. Raises :class:`ParseError` if ``what`` has none."""
    value = table.get(name)
    if value is None:
        raise ParseError(f"{what} has no {name}")
    return value
