"""A pseudo-terminal that a command runs in: its screen, its output as lines, and the keys that go to it."""

import asyncio
import codecs
import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

import pyte

from loadtop.engines.output import CommandOutput

READ_BYTES = 8192
PAUSE_S = 0.02  # pause after a full read: a flood of output has to wait, and the cockpit stays responsive

MAX_ROWS = 1000  # lines kept after they have scrolled off the top
_FORMAT = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
"""Format characters: they take no cell, and pyte drops what follows them."""


class Run(NamedTuple):
    """Neighbouring cells of the same style."""

    text: str
    bold: bool = False
    reverse: bool = False


class _Stream(pyte.Stream):
    """pyte's parser, but a sequence that it cannot handle is skipped."""

    def _send_to_parser(self, data: str) -> bool | None:
        try:
            return super()._send_to_parser(data)
        except (TypeError, ValueError, LookupError, AttributeError, NameError):
            return True


class Screen:
    """A screen of ``columns`` by ``rows`` cells and its scrollback. ``changes`` counts everything that changed it."""

    def __init__(self, columns: int, rows: int) -> None:
        self.changes = 0
        self._screen = pyte.HistoryScreen(columns, rows, history=MAX_ROWS)
        self._stream = _Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def size(self) -> tuple[int, int]:
        return self._screen.columns, self._screen.lines

    @property
    def cursor(self) -> tuple[int, int] | None:
        """Column and row of the cursor; ``None`` if it is hidden."""
        cursor = self._screen.cursor
        return None if cursor.hidden else (min(cursor.x, self._screen.columns - 1), cursor.y)

    @property
    def scrollback(self) -> int:
        """How many lines have scrolled off the top and are kept."""
        return len(self._screen.history.top)

    def feed(self, data: bytes) -> None:
        """Take output of the program; it may be cut anywhere."""
        self.changes += 1
        self._stream.feed(_FORMAT.sub("", self._decoder.decode(data)))

    def resize(self, columns: int, rows: int) -> None:
        """Change the size. With fewer rows, the row of the cursor stays and rows at the top go to the scrollback. pyte
        alone drops as many rows from the top, full or not, and leaves the cursor below the screen."""
        self.changes += 1
        screen, cursor = self._screen, self._screen.cursor
        fewer, (x, y) = screen.lines - rows, (cursor.x, cursor.y)
        scrolled = max(0, y + 1 - rows) if fewer > 0 else 0
        if fewer > 0:
            screen.set_margins()
            cursor.y = screen.lines - 1
            for _ in range(scrolled):
                screen.index()
            cursor.y = 0
            screen.insert_lines(fewer)  # which pyte drops
        screen.resize(rows, columns)
        screen.cursor.x, screen.cursor.y = min(x, columns), y - scrolled

    def lines(self, back: int = 0) -> list[list[Run]]:
        """Return the rows of the screen, or those ``back`` lines before them, as runs of cells."""
        rows, columns = self._screen.lines, self._screen.columns
        history: list[Any] = list(self._screen.history.top)
        found = [*history[max(0, len(history) - back) :], *(self._screen.buffer[y] for y in range(rows))]
        return [_runs(line, columns) for line in found[:rows]]


def _runs(line: Any, columns: int) -> list[Run]:
    cells = [line[x] for x in range(columns)]
    styles = groupby(cells, key=lambda cell: (cell.bold, cell.reverse))
    return [Run("".join(cell.data[:1] for cell in group), bold, reverse) for (bold, reverse), group in styles]


class Terminal(CommandOutput):
    """The controlling side of a pseudo-terminal."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        super().__init__(on_line)
        self.screen = Screen(80, 24)
        self._master = -1
        self._pause: asyncio.TimerHandle | None = None

    def open(self) -> int:
        """Open it and return the command's side."""
        self._master, command_end = pty.openpty()
        os.set_blocking(self._master, False)
        self._set_size()
        self._listen()
        return command_end

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the screen; the command gets SIGWINCH."""
        if columns > 0 and rows > 0 and (columns, rows) != self.screen.size:
            self.screen.resize(columns, rows)
            self._set_size()

    def type(self, keys: bytes) -> None:
        """Send keys to the command. What it does not read in time is lost."""
        if self._master >= 0 and not self._done.is_set():
            with contextlib.suppress(OSError):
                os.write(self._master, keys)

    def close(self) -> None:
        if self._master >= 0:
            self._stop()
            os.close(self._master)
            self._master = -1

    def _set_size(self) -> None:
        if self._master >= 0:
            columns, rows = self.screen.size
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _listen(self) -> None:
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # Linux: the other side is closed
            data = b""
        if not data:
            self._stop()
            return
        self.screen.feed(data)
        self._feed(data)
        if len(data) == READ_BYTES:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._master)
            self._pause = loop.call_later(PAUSE_S, self._listen)

    def _stop(self) -> None:
        if self._done.is_set():
            return
        if self._pause is not None:
            self._pause.cancel()
        asyncio.get_running_loop().remove_reader(self._master)
        self._finish()
