"""A program in a pseudo-terminal of its own: when it painted, what it sent, what it cost."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

_ESCAPES = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78])")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Spent(Struct, frozen=True):
    """What a program did in a stretch of time: bytes sent to the terminal, processor seconds, its memory at the end."""

    seconds: float
    sent: int
    cpu_s: float
    rss_kb: int


class Terminal:
    """Starts a program in a terminal of a size, in ``folder`` where one is given. Its output is read all the time, as
    a terminal would."""

    def __init__(
        self, command: Sequence[str], columns: int, rows: int, environment: dict[str, str], folder: Path | None = None
    ) -> None:
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # pragma: no cover (the child becomes the program)
            if folder is not None:
                os.chdir(folder)
            os.execvpe(command[0], list(command), environment)  # noqa: S606 (no shell is wanted)
        self.resize(columns, rows)

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal a size."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, text: bytes, limit_s: float) -> float | None:
        """Seconds from the start until ``text`` was sent, or ``None`` where it was not in time."""
        seen = b""
        while time.perf_counter() - self.began < limit_s:
            seen = seen[-200:] + self._read(0.02)
            if text in seen:
                return time.perf_counter() - self.began
        return None

    def first_paint_s(self, limit_s: float) -> float | None:
        """Seconds from the start until text stood on the screen (escape sequences alone are none)."""
        seen = b""
        while time.perf_counter() - self.began < limit_s:
            seen += self._read(0.005)
            if _ESCAPES.sub(b"", seen).strip():
                return time.perf_counter() - self.began
        return None

    def measure(self, seconds: float) -> Spent:
        """What it sends and costs in so many seconds."""
        began, cpu, sent = time.perf_counter(), self._cpu_s(), 0
        while time.perf_counter() - began < seconds:
            sent += len(self._read(0.2))
        return Spent(time.perf_counter() - began, sent, self._cpu_s() - cpu, self._rss_kb())

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._fd, keys.encode())

    def answer_s(self, keys: str, limit_s: float = 2.0, quiet_s: float = 0.05) -> float:
        """Seconds from typing something to the first byte of the screen's answer; silence before is waited for."""
        while self._read(quiet_s):
            pass
        began = time.perf_counter()
        self.press(keys)
        while not self._read(0.001) and time.perf_counter() - began < limit_s:
            pass
        return time.perf_counter() - began

    def close(self) -> None:
        """End the program and wait for it."""
        os.kill(self.pid, signal.SIGTERM)
        deadline = time.perf_counter() + 5.0
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self._read(0.05)
            if time.perf_counter() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                break
        os.close(self._fd)

    def _read(self, wait_s: float) -> bytes:
        if not select.select([self._fd], [], [], wait_s)[0]:
            return b""
        try:
            return os.read(self._fd, 65536)
        except OSError:  # Linux says so where the program has closed its side
            time.sleep(wait_s)
            return b""

    def _cpu_s(self) -> float:
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:  # noqa: PTH123 (a benchmark reads /proc plainly)
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def _rss_kb(self) -> int:
        with open(f"/proc/{self.pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123 (see above)
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))
