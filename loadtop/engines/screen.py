"""What a terminal shows after everything that a program wrote to it."""

import codecs
import re
from typing import Any, NamedTuple

import pyte

MOST_ROWS = 1000
"""Lines kept that have left the screen at its top."""


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Characters of format: they take no cell, and pyte leaves out what follows them."""


class Run(NamedTuple):
    """Neighbouring cells that look alike."""

    text: str
    bold: bool = False
    reverse: bool = False


class _Stream(pyte.Stream):
    """pyte's parser, except that a sequence it cannot follow is left out, not fatal."""

    def _send_to_parser(self, data: str) -> bool | None:
        try:
            return super()._send_to_parser(data)
        except (TypeError, ValueError, LookupError, AttributeError, NameError):
            return True


class Screen:
    """A screen of ``columns`` by ``rows`` cells and what has left it. ``changes`` grows with everything it is fed."""

    def __init__(self, columns: int, rows: int) -> None:
        self.changes = 0
        self._screen = pyte.HistoryScreen(columns, rows, history=MOST_ROWS)
        self._stream = _Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._screen.columns, self._screen.lines

    @property
    def cursor(self) -> tuple[int, int] | None:
        """Column and row of the cursor on the screen; ``None`` where the program has hidden it."""
        cursor = self._screen.cursor
        return None if cursor.hidden else (min(cursor.x, self._screen.columns - 1), cursor.y)

    @property
    def left(self) -> int:
        """How many lines have left the screen and are kept."""
        return len(self._screen.history.top)

    def feed(self, data: bytes) -> None:
        """Take what the program wrote; it may be cut anywhere."""
        self.changes += 1
        self._stream.feed(_INVISIBLE.sub("", self._decoder.decode(data)))

    def resize(self, columns: int, rows: int) -> None:
        """Give the screen another size. In fewer rows the one with the cursor stays; what leaves at the top is kept.

        pyte alone drops as many rows from the top, full or not, and leaves the cursor below the screen.
        """
        if (columns, rows) == self.size:
            return
        self.changes += 1
        screen, cursor = self._screen, self._screen.cursor
        fewer, (x, y) = screen.lines - rows, (cursor.x, cursor.y)
        gone = max(0, y + 1 - rows) if fewer > 0 else 0
        if fewer > 0:
            screen.set_margins()
            cursor.y = screen.lines - 1
            for _ in range(gone):
                screen.index()
            cursor.y = 0
            screen.insert_lines(fewer)  # which pyte drops
        screen.resize(rows, columns)
        screen.cursor.x, screen.cursor.y = min(x, columns), y - gone

    def lines(self, back: int = 0) -> list[list[Run]]:
        """The rows of the screen from top to bottom, or those ``back`` lines before them."""
        rows, columns = self._screen.lines, self._screen.columns
        kept: list[Any] = list(self._screen.history.top)
        first = max(0, len(kept) - back)
        found = [*kept[first:], *(self._screen.buffer[y] for y in range(rows))]
        return [_runs(line, columns) for line in found[:rows]]


def _runs(line: Any, columns: int) -> list[Run]:
    runs: list[Run] = []
    for x in range(columns):
        cell = line[x]
        text = cell.data[:1]
        if runs and (runs[-1].bold, runs[-1].reverse) == (cell.bold, cell.reverse):
            runs[-1] = Run(runs[-1].text + text, cell.bold, cell.reverse)
        else:
            runs.append(Run(text, cell.bold, cell.reverse))
    return runs
