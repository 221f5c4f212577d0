"""A pseudo-terminal that a command runs in: its screen, its output as lines, and the keys that go to it."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from collections.abc import Callable

from loadtop.engines.output import CommandOutput
from loadtop.engines.screen import Screen

READ_BYTES = 8192
PAUSE_S = 0.02
"""Pause after a full read: a command that floods its terminal has to wait, and the cockpit stays responsive."""


class Terminal(CommandOutput):
    """The controlling side."""

    def __init__(self, on_line: Callable[[str], None], columns: int = 80, rows: int = 24) -> None:
        super().__init__(on_line)
        self.screen = Screen(columns, rows)
        self._master = self._slave = -1
        self._pause: asyncio.TimerHandle | None = None

    def open(self) -> int:
        """Open it and return the command's side. Call :meth:`hand_over` once the command has that."""
        self._master, self._slave = pty.openpty()
        os.set_blocking(self._master, False)
        self._set_size()
        self._listen()
        return self._slave

    def hand_over(self) -> None:
        """Close our copy of the command's side, so that we see when the command closes it."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

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
        self.hand_over()
        if self._master >= 0:
            self._stop()
            os.close(self._master)
            self._master = -1

    def _set_size(self) -> None:
        if self._master >= 0:
            columns, rows = self.screen.size
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _listen(self) -> None:
        self._pause = None
        asyncio.get_running_loop().add_reader(self._master, self._read)

    def _read(self) -> None:
        loop = asyncio.get_running_loop()
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
            loop.remove_reader(self._master)
            self._pause = loop.call_later(PAUSE_S, self._listen)

    def _stop(self) -> None:
        if self._done.is_set():
            return
        if self._pause is not None:
            self._pause.cancel()
        asyncio.get_running_loop().remove_reader(self._master)
        self._finish()
