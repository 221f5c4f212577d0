"""Blocks as they are in the file, checked against their sums and taken apart."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from loadtop.model import LoadState
from loadtop.recording.definitions import DamagedError, Definitions, Row, checked
from loadtop.recording.packing import unsqueeze
from loadtop.recording.schema import (
    BLOCK,
    FRAME_TABLES,
    KINDS,
    LOAD,
    PARTS,
    Column,
    Kind,
    Part,
    host_and_thing,
    line_id,
)
from loadtop.recording.series import read_real_series, read_whole_series

_FIRST_COLUMN = 5
"""Where in a row the columns of a part begin: after the id and the two columns each of ``place`` and ``missing``."""


class UnknownError(Exception):
    """The recording holds something that this version does not know: it comes from a newer one."""


@dataclass(slots=True)
class Line:
    """One thing over the intervals of a block: its place (0 while it was not there), and its values."""

    thing: int
    places: list[int]
    values: list[Row]
    made: Any = None
    """What was made of the values last, by whoever reads the block, so that it need not be made again."""


@dataclass(slots=True)
class Block:
    """The frames from ``first`` on. ``lines`` are by part and machine, ``frames`` the other rows by table and frame."""

    first: int
    count: int
    lines: dict[tuple[str, int], list[Line]] = field(default_factory=dict[tuple[str, int], list[Line]])
    frames: dict[tuple[str, int], list[Row]] = field(default_factory=dict[tuple[str, int], list[Row]])

    def there(self, part: Part, host: int, number: int) -> list[Line]:
        """The things of a part in one frame, in order."""
        position = number - self.first
        lines = [line for line in self.lines.get((part.name, host), ()) if line.places[position]]
        return lines if len(lines) < 2 else sorted(lines, key=lambda line: line.places[position])


class _Stored(NamedTuple):
    """A part as this file has it, and where in a row the columns are."""

    part: Part
    offsets: Sequence[int]


class Blocks:
    """Fetches blocks. Raises sqlite3.Error where the file cannot be read, DamagedError where it contradicts itself."""

    def __init__(self, connection: sqlite3.Connection, definitions: Definitions) -> None:
        """Raises UnknownError for parts or columns that this version does not know."""
        self._connection = connection
        self._definitions = definitions
        known = {part.table for part in PARTS}
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE name GLOB '*_block'"):
            if table not in known:
                raise UnknownError(str(table))
        self._stored = [stored for part in PARTS if (stored := self._look(part)) is not None]

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The columns that this file has, by part: the fields of the values in its lines."""
        return {stored.part.name: stored.part.names for stored in self._stored}

    def count(self) -> int:
        """The number of the last frame so far; frames are numbered from 1."""
        (last,) = self._connection.execute("SELECT max(id) FROM frame").fetchone()
        return int(last or 0)

    def readable(self) -> int:
        """The number of the last frame that can be reached where the end of the file is damaged."""
        low, high = 0, 1
        while self._there(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._there(middle) else (low, middle)
        return low

    def _there(self, number: int) -> bool:
        try:
            return self._connection.execute("SELECT id FROM frame WHERE id = ?", (number,)).fetchone() is not None
        except (sqlite3.Error, UnicodeDecodeError):
            return False

    def at(self, number: int) -> float | None:
        """The time of a frame in seconds of the session; None where there is no such frame or it is damaged."""
        row = self._connection.execute("SELECT * FROM frame WHERE id = ?", (number,)).fetchone()
        try:
            return None if row is None else float(checked(row)[2])
        except DamagedError:
            return None

    def with_load(self) -> list[tuple[int, int]]:
        """First and last frame of each stretch in which load ran, the interval of its end too; not the warm-up."""
        known = next((stored for stored in self._stored if stored.part.name == LOAD.name), None)
        if known is None:
            return []
        stored = _Stored(known.part.among(frozenset({"state"})), [known.offsets[known.part.names.index("state")]])
        found: list[tuple[int, int]] = []
        before = LoadState.DONE
        for row in self._connection.execute(f"SELECT * FROM {LOAD.table} ORDER BY id"):  # noqa: S608 - the schema's name
            line = self._line(checked(row), stored, BLOCK)
            for number, (place, (state,)) in enumerate(
                zip(line.places, line.values, strict=True), row[0] // line_id(BLOCK, 0, 0) * BLOCK + 1
            ):
                if place and (state is LoadState.RUNNING or (state.ended and not before.ended)):
                    goes_on = bool(found) and found[-1][1] == number - 1
                    found.append((found.pop()[0] if goes_on else number, number))
                before = state if place else before
        return found

    def fetch(self, number: int, *, lines: bool = True) -> Block:
        """The block that frame ``number`` is in, as it is now. Without ``lines``: nothing of what was measured."""
        first = number - (number - 1) % BLOCK
        block = Block(first, 0)
        self._connection.execute("BEGIN")
        try:
            for table in FRAME_TABLES:
                self._fetch_frames(block, table)
            for stored in self._stored if lines else ():
                self._fetch_lines(block, stored)
        finally:
            self._connection.execute("COMMIT")
        if lines:
            _count(block)
        return block

    def _fetch_frames(self, block: Block, table: str) -> None:
        key, factor = {"frame": ("id", 1), "latency_histogram": ("id", KINDS)}.get(table, ("frame", 1))
        query = f"SELECT * FROM {table} WHERE {key} >= ? AND {key} < ?"  # noqa: S608 - the names come from the schema
        bounds = block.first * factor, (block.first + BLOCK) * factor
        for row in self._connection.execute(query, bounds):
            number, kind = divmod(row[0], factor)
            values = checked(row)[1:]
            block.frames.setdefault((table, number), []).append(values if factor == 1 else (kind, *values))
            block.count = max(block.count, number - block.first + 1)

    def _fetch_lines(self, block: Block, stored: _Stored) -> None:
        part = stored.part
        query = f"SELECT * FROM {part.table} WHERE id BETWEEN ? AND ?"  # noqa: S608 - the name comes from the schema
        bounds = line_id(block.first, 0, 0), line_id(block.first + BLOCK, 0, 0) - 1
        for row in self._connection.execute(query, bounds):
            checked(row)
            try:
                line = self._line(row, stored, block.count)
            except (ValueError, TypeError, IndexError) as error:
                raise DamagedError(f"a row of {part.table} cannot be read") from error
            host, _ = host_and_thing(row[0])
            block.lines.setdefault((part.name, host), []).append(line)

    def _line(self, row: Row, stored: _Stored, count: int) -> Line:
        places = read_whole_series(row[1], row[2], count)
        missing = read_whole_series(row[3], row[4], count)
        pairs = zip(stored.part.columns, stored.offsets, strict=True)
        columns = [self._column(column, row[offset], row[offset + 1], count) for column, offset in pairs]
        bits = [(offset - _FIRST_COLUMN) // 2 for offset in stored.offsets]
        gaps = set(missing)
        if len(gaps) == 1:
            (gap,) = gaps
            columns = [[None] * count if gap >> bit & 1 else column for bit, column in zip(bits, columns, strict=True)]
        values: list[Row] = list(zip(*columns, strict=True)) if columns else [()] * count
        if len(gaps) > 1:
            values = [_without(row, gap, bits) if gap else row for row, gap in zip(values, missing, strict=True)]
        _, thing = host_and_thing(row[0])
        return Line(thing, places, values)

    def _column(self, column: Column, start: Any, text: str | None, count: int) -> Sequence[Any]:
        if column.kind is Kind.REAL:
            return read_real_series(start, text, count)
        numbers = read_whole_series(start, text, count)
        if column.kind is Kind.TEXT:
            texts = {number: column.type(self._text(number)) for number in set(numbers)}
            return [texts[number] for number in numbers]
        return list(map(bool, numbers)) if column.type is bool else numbers

    def _text(self, number: int) -> str:
        return unsqueeze(self._definitions.values("text", number)[0])

    def _look(self, part: Part) -> _Stored | None:
        names = [row[1] for row in self._connection.execute(f"PRAGMA table_info({part.table})")]
        if not names:
            return None
        series = {f"{name}{end}" for name in ("place", "missing", *part.names) for end in ("", "_from")}
        unknown = set(names) - series - {"id", "crc"}
        if unknown:
            raise UnknownError(f"{part.name}.{min(unknown)}")
        known = part.among(frozenset(names))
        return _Stored(known, [names.index(f"{name}_from") for name in known.names])


def _count(block: Block) -> None:
    """Raise DamagedError where rows are missing. A frame that is missing itself says so when it is asked for."""
    newest = block.frames.get(("frame", block.first + block.count - 1))
    if newest is not None and newest[0][-1] != sum(map(len, block.lines.values())):
        raise DamagedError("rows of it are missing")
    for (table, number), rows in list(block.frames.items()):
        if table == "frame":
            others = (block.frames.get((other, number), ()) for other in FRAME_TABLES if other != "frame")
            if rows[0][-2] != sum(map(len, others)):
                del block.frames[table, number]


def _without(row: Row, missing: int, bits: Sequence[int]) -> Row:
    return tuple(None if missing >> bit & 1 else value for bit, value in zip(bits, row, strict=True))
