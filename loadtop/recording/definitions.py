"""What frames refer to by number: written once, when it is first seen, and read when it is first asked for."""

import sqlite3
import zlib
from typing import Any

Row = tuple[Any, ...]

REMEMBERED = 20_000
"""Definitions of one kind that are remembered; one that was forgotten gets another number when it comes again."""


class DamagedError(Exception):
    """Something in the file contradicts its check sum or itself."""


def checksum(row: Row) -> int:
    """CRC-32 of the row as Python writes it, which tells types and every bit of a float."""
    return zlib.crc32(repr(row).encode("utf-8", "surrogatepass"))


def summed(row: Row) -> Row:
    """The row with its check sum."""
    return (*row, checksum(row))


def checked(row: Row) -> Row:
    """The row without its check sum. Raises DamagedError where it is wrong."""
    if checksum(row[:-1]) != row[-1]:
        raise DamagedError("a check sum is wrong")
    return row[:-1]


def stored_text(text: str) -> str | bytes:
    """A text that SQLite can take. File and process names can hold bytes that are no UTF-8; those become a blob."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def loaded_text(stored: str | bytes) -> str:
    """The text that :func:`stored_text` was given. Raises DamagedError for what is no text."""
    if isinstance(stored, str):
        return stored
    try:
        return stored.decode("utf-8", "surrogatepass")
    except (UnicodeDecodeError, AttributeError) as error:
        raise DamagedError("a text is none") from error


class Numbering:
    """The writer's side: gives each definition its number, and keeps those not yet written."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Row, int]] = {}
        self._last: dict[str, int] = {}
        self._new: list[tuple[str, Row]] = []

    def number(self, table: str, *values: Any) -> int:
        """The number of the definition, a new one where it is not known. ``values`` are as they are stored."""
        numbers = self._numbers.setdefault(table, {})
        known = numbers.get(values)
        if known is not None:
            return known
        if len(numbers) >= REMEMBERED:
            for old in list(numbers)[: REMEMBERED // 2]:
                del numbers[old]
        number = self._last[table] = self._last.get(table, 0) + 1
        numbers[values] = number
        self._new.append((table, summed((number, *values))))
        return number

    def unwritten(self) -> list[tuple[str, Row]]:
        """Table and row of each definition since the last :meth:`written`."""
        return self._new

    def written(self) -> None:
        """All of them are in the file."""
        self._new = []


class Definitions:
    """The reader's side: definitions by number."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, dict[int, Row]] = {}

    def values(self, table: str, number: int) -> Row:
        """The definition's columns without its number. Raises DamagedError for one that is missing or altered."""
        known = self._known.setdefault(table, {})
        values = known.get(number)
        if values is None:
            if len(known) >= REMEMBERED:
                known.clear()
            query = f"SELECT * FROM {table} WHERE id = ?"  # noqa: S608 - the name comes from the schema
            row = self._connection.execute(query, (number,)).fetchone()
            if row is None:
                raise DamagedError(f"{table} {number!a} is missing")
            values = known[number] = checked(row)[1:]
        return values
