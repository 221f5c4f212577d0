"""However the cockpit ends, it ends soon and in order: the feed is stopped, the normal screen is back, no traceback."""

import asyncio
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import moments
from tui.apps.cockpit import Cockpit
from tui.apps.terminal import TerminalDriver

ROOT = Path(__file__).parents[2]
PROGRAM = """
import asyncio, fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from pathlib import Path
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import endless
from tui.apps.cockpit import Cockpit, run_cockpit
feed = FakeFeed(endless(), pause_s=0.05)
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else None
ended_by = asyncio.run(run_cockpit(Cockpit(feed), seconds))
Path(sys.argv[1]).write_text(f"{ended_by and ended_by.name} {feed.running} {feed.cancelled}")
print("THE SUMMARY", flush=True)
"""


STILL = """
import asyncio
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import moments
from tui.apps.cockpit import Cockpit, run_cockpit
asyncio.run(run_cockpit(Cockpit(FakeFeed(moments("headroom")))))
"""
CALM_S = 0.3  # seconds of silence after which nothing more is drawn
MOST = 60_000
"""Bytes: four whole screens of 80x24. Drawn for ever, it is a megabyte a second."""


class Window:
    """A terminal window with the cockpit in it."""

    def __init__(self, notes: Path, *words: str) -> None:
        self.notes = notes
        self.seen = b""
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(notes), *words],
            cwd=ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"},
        )
        os.close(slave)

    def wait_for(self, text: bytes, limit_s: float = 60.0) -> None:
        """Read until this is on its way to the screen."""
        deadline = time.monotonic() + limit_s
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen[-2000:]
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)

    def wait_for_end(self, limit_s: float = 30.0) -> None:
        """Wait until the program is gone; what it still says is read."""
        began = time.monotonic()
        while self.program.poll() is None:
            assert time.monotonic() - began < limit_s, self.seen[-2000:]
            self.read_rest()
        self.read_rest()

    def read_rest(self) -> None:
        """Read what there is, if the window is open."""
        if self.master < 0:
            time.sleep(0.02)
        elif select.select([self.master], [], [], 0.02)[0]:
            try:
                self.seen += os.read(self.master, 65536)
            except OSError:
                time.sleep(0.02)

    def close(self) -> None:
        """Close the window, whatever runs in it."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def clean_up(self) -> None:
        """Leave nothing behind."""
        self.close()
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()


@pytest.fixture
def window(tmp_path: Path) -> Iterator[Window]:
    """A window in which the load is shown running."""
    opened = Window(tmp_path / "notes")
    try:
        opened.wait_for(b"HEADROOM")
        yield opened
    finally:
        opened.clean_up()


ENDS: dict[str, tuple[Callable[[Window], object], str]] = {
    "q": (lambda window: os.write(window.master, b"qq"), "None"),
    "ctrl+c": (lambda window: os.write(window.master, b"\x03"), "SIGINT"),
    "SIGINT": (lambda window: window.program.send_signal(signal.SIGINT), "SIGINT"),
    "SIGTERM": (lambda window: window.program.send_signal(signal.SIGTERM), "SIGTERM"),
    "SIGHUP": (lambda window: window.program.send_signal(signal.SIGHUP), "SIGHUP"),
    "window closed": (Window.close, "SIGHUP"),
}


@pytest.mark.parametrize("way", ENDS)
def test_every_end_is_in_order(way: str, window: Window) -> None:
    end, name = ENDS[way]
    end(window)
    window.wait_for_end()
    assert window.program.returncode == 0
    assert window.notes.read_text() == f"{name} False True"
    assert b"Traceback" not in window.seen
    if name != "SIGHUP":
        after = window.seen.rpartition(b"\x1b[?1049l")[2]
        assert b"THE SUMMARY" in after


def test_a_dead_terminal_without_a_signal_ends_it_too(tmp_path: Path) -> None:
    """A program that is reported nothing (another session's terminal) notices when it writes."""
    opened = Window(tmp_path / "notes")
    try:
        opened.wait_for(b"HEADROOM")
        os.kill(opened.program.pid, signal.SIGSTOP)
        opened.close()
        os.kill(opened.program.pid, signal.SIGCONT)
        opened.wait_for_end()
        assert opened.notes.read_text() == "SIGHUP False True"
    finally:
        opened.clean_up()


def test_a_signal_to_continue_begins_nothing_twice(window: Window) -> None:
    """A closed window sends it after the hang-up: a second reader of keys would outlive the cockpit."""
    threads = Path(f"/proc/{window.program.pid}/task")
    before = len(list(threads.iterdir()))
    os.kill(window.program.pid, signal.SIGCONT)
    window.seen = b""
    window.wait_for(b"\x1b[")  # something was drawn after the signal
    assert len(list(threads.iterdir())) == before
    os.kill(window.program.pid, signal.SIGTERM)
    window.wait_for_end()


async def test_keys_are_read_from_terminals_only() -> None:
    """As in a script's loop over a file, or in a job: its end would be read over and over, with a whole core."""
    driver = TerminalDriver(Cockpit(FakeFeed(moments("headroom"))))
    driver.fileno = os.open(os.devnull, os.O_RDONLY)
    reader = threading.Thread(target=driver.run_input_thread, daemon=True)
    reader.start()
    await asyncio.to_thread(reader.join, 10.0)
    os.close(driver.fileno)
    assert not reader.is_alive()


def test_it_continues_after_it_was_suspended(window: Window) -> None:
    os.kill(window.program.pid, signal.SIGTSTP)
    os.waitid(os.P_PID, window.program.pid, os.WSTOPPED)
    window.read_rest()
    os.kill(window.program.pid, signal.SIGCONT)
    window.seen = b""
    window.wait_for(b"\x1b[?1049h")
    os.kill(window.program.pid, signal.SIGTERM)
    window.wait_for_end()


def test_it_ends_after_the_time_that_was_given(tmp_path: Path) -> None:
    opened = Window(tmp_path / "notes", "1.5")
    try:
        opened.wait_for_end(60.0)
        assert opened.program.returncode == 0
        assert opened.notes.read_text().startswith("None False")
        assert b"THE SUMMARY" in opened.seen.rpartition(b"\x1b[?1049l")[2]
    finally:
        opened.clean_up()


@pytest.mark.parametrize("size", [(0, 0), (1, 1)], ids=["0x0", "1x1"])
def test_a_terminal_without_a_size_is_drawn_once(size: tuple[int, int]) -> None:
    pid, master = pty.fork()
    if pid == 0:  # pragma: no cover (the child becomes the program)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        os.execve(sys.executable, (sys.executable, "-c", STILL), environment)  # noqa: S606 (no shell is wanted)
    seen = b""
    try:
        calm, deadline = False, time.monotonic() + 60.0
        while not calm and len(seen) < MOST and time.monotonic() < deadline:
            calm = not select.select([master], [], [], CALM_S)[0] and b"\x1b[1;1H" in seen
            seen += os.read(master, 65536) if select.select([master], [], [], 0.0)[0] else b""
        assert calm, f"{len(seen)} bytes, and on it goes"
        assert len(seen) < MOST
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
