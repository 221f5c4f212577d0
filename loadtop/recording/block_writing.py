"""The newest block as it grows: series of everything that is measured."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from loadtop.model.secrets import url_without_secrets
from loadtop.recording import schema
from loadtop.recording.definitions import REMEMBERED, Numbering, Row, summed
from loadtop.recording.packing import squeeze
from loadtop.recording.schema import Column, Kind, Part, line_id
from loadtop.recording.series import RealSeries, WholeSeries


class _Line:
    """One thing in one block."""

    __slots__ = ("_id", "_missing", "_place", "_series", "_stands", "_values", "part")

    def __init__(self, part: Part, line: int, place: int, values: Row) -> None:
        self.part = part
        self._id = line
        self._place = WholeSeries(place, sparse=part.sparse)
        self._stands = place
        self._missing = WholeSeries(_missing(values), sparse=part.sparse)
        pairs = zip(part.columns, values, strict=True)
        self._series = [_series(column, value, sparse=part.sparse) for column, value in pairs]
        self._values: Row = values

    def put(self, position: int, place: int, values: Row) -> bool:
        """Whether anything is not as it was."""
        if place == self._stands and values == self._values:
            return False
        self._place.put(position, place)
        self._stands = place
        self._missing.put(position, _missing(values))
        for series, value, old in zip(self._series, values, self._values, strict=True):
            if value is not None and value != old:
                series.put(position, value)
        self._values = values
        return True

    def leave(self, position: int) -> None:
        self._place.put(position, 0)
        self._stands = 0

    def row(self) -> Row:
        row: list[Any] = [self._id, *self._place.stored(), *self._missing.stored()]
        for series in self._series:
            row += series.stored()
        return summed(tuple(row))


class _Group:
    """All things of one part and machine in the block: those now there, in order, and all there were."""

    __slots__ = ("lines", "things", "values")

    def __init__(self) -> None:
        self.things: Sequence[int] = ()
        self.values: list[Row] = []
        self.lines: dict[int, _Line] = {}


class BlockWriter:
    """Takes what was measured frame by frame, and gives the rows that have changed."""

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._first = 0
        self._position = 0
        self._groups: dict[tuple[str, int], _Group] = {}
        self._changed: dict[int, _Line] = {}
        self._texts: dict[str, int] = {}

    def begin(self, frame: int) -> list[tuple[str, Row]]:
        """What comes now belongs to this frame. Where it begins a block: all rows of the one before, in order."""
        first, self._position = frame - (frame - 1) % schema.BLOCK, (frame - 1) % schema.BLOCK
        if first == self._first:
            return []
        done = [(line.part.table, line.row()) for group in self._groups.values() for line in group.lines.values()]
        self._first = first
        self._groups = {}
        return sorted(done, key=lambda entry: (entry[0], entry[1][0]))

    @property
    def lines(self) -> int:
        """How many rows the block has so far."""
        return sum(len(group.lines) for group in self._groups.values())

    def rows(self) -> list[tuple[str, Row]]:
        """Table and row of everything that has changed since this was last asked."""
        changed, self._changed = self._changed, {}
        return [(line.part.table, line.row()) for line in changed.values()]

    def put_object(self, part: Part, host: int, thing: object | None) -> None:
        """The one thing of its part, or None where it was not measured."""
        self.put(part, host, (), ()) if thing is None else self.put(part, host, (0,), (self.values(part, thing),))

    def put(self, part: Part, host: int, things: Sequence[int], rows: Sequence[Row]) -> None:
        """All things of their part, by number and in order, with the values of their columns."""
        group = self._groups.get((part.name, host))
        if group is None:
            if not things:
                return
            group = self._groups[part.name, host] = _Group()
        moved = things != group.things
        if moved:
            for gone in set(group.things).difference(things):
                group.lines[gone].leave(self._position)
                self._note(group.lines[gone])
        for place, (thing, values) in enumerate(zip(things, rows, strict=True), start=1):
            line = group.lines.get(thing)
            new = line is None
            if line is None:
                known = place if self._position == 0 else 0
                line = group.lines[thing] = _Line(part, line_id(self._first, host, thing), known, values)
            elif not moved and values == group.values[place - 1]:
                continue
            if line.put(self._position, place, values) or new:
                self._note(line)
        group.things, group.values = things, list(rows)

    def values(self, part: Part, thing: object) -> Row:
        """The values of the part's columns, texts as their numbers."""
        values: Row = GETTERS[part.name](thing)
        texts = _TEXTS[part.name]
        if not texts:
            return values
        changed = list(values)
        for position in texts:
            changed[position] = self.text(changed[position])
        return tuple(changed)

    def text(self, text: str) -> int:
        """The number of a text."""
        number = self._texts.get(text)
        if number is None:
            if len(self._texts) >= REMEMBERED:
                self._texts.clear()
            number = self._texts[text] = self._numbering.number("text", squeeze(url_without_secrets(str(text))))
        return number

    def _note(self, line: _Line) -> None:
        self._changed[id(line)] = line


def _series(column: Column, value: Any, *, sparse: bool) -> WholeSeries | RealSeries:
    if column.kind is Kind.REAL:
        return RealSeries(0.0 if value is None else value, sparse=sparse)
    return WholeSeries(0 if value is None else value, sparse=sparse)


def _missing(values: Row) -> int:
    if None not in values:
        return 0
    return sum(1 << position for position, value in enumerate(values) if value is None)


def _getter(part: Part) -> Callable[[object], Row]:
    first, *names = part.names
    if names:
        return attrgetter(first, *names)
    only = attrgetter(first)

    def values(thing: object) -> Row:
        return (only(thing),)

    return values


GETTERS = {part.name: _getter(part) for part in schema.PARTS if part.type is not None}
_TEXTS = {
    part.name: [place for place, column in enumerate(part.columns) if column.kind is Kind.TEXT] for part in schema.PARTS
}
