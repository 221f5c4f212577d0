"""Pictures of the cockpit from a real run: ``make screenshots``.

Runs ``loadtop demo`` (against a real Apache) once, recorded; then shows the recording in pseudo-terminals of several
sizes and looks side by side, and presses ``p`` in each once a verdict has held for a while. Writes SVG files, and PNG
files by rsvg-convert, beside this file. ``python -m screenshots.make RECORDING`` takes them of another run.
"""

import fcntl
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from loadtop.session.reader import Session

HERE = Path(__file__).resolve().parent
HELD_S = 6.0
START_S = 1.5
"""Seconds that a cockpit is given to begin with the recording."""

PALETTE, EVIDENCE, ESCAPE, CTRL_S = ":", "e", "\x1b", "\x13"


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: which verdict is to hold, which keys open what is to be seen, and the name of the file."""

    verdict: str
    name: str
    keys: str = ""
    later_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Show:
    """A cockpit with the recording: its size, its look, and what is taken of it."""

    columns: int
    rows: int
    shots: tuple[Shot, ...]
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


SHOWS = (
    Show(
        120,
        40,
        (
            Shot("none", "none-120x40"),
            Shot("apache-workers", "apache-workers-120x40"),
            Shot("apache-workers", "evidence-120x40", EVIDENCE, 2.0),
            Shot("cpu", "cpu-120x40"),
            Shot("cpu", "commands-120x40", PALETTE, 2.0),
        ),
    ),
    Show(
        80, 24, (Shot("none", "none-80x24"), Shot("apache-workers", "apache-workers-80x24"), Shot("cpu", "cpu-80x24"))
    ),
    Show(120, 40, (Shot("apache-workers", "japanese-120x40"),), ("--lang", "ja")),
    Show(80, 24, (Shot("cpu", "japanese-80x24"),), ("--lang", "ja")),
    Show(80, 24, (Shot("apache-workers", "no-colour-80x24"),), (), {"NO_COLOR": "1"}),
    Show(60, 20, (Shot("cpu", "cpu-60x20"),)),
    Show(200, 60, (Shot("cpu", "cpu-200x60"),)),
)


class Terminal:
    """loadtop in a pseudo-terminal: what it prints is read and thrown away, keys can be sent."""

    def __init__(self, show: Show, recording: Path, folder: Path) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", show.rows, show.columns, 0, 0))
        known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "loadtop", "replay", *show.options, str(recording)],
            stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
            env={**known, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **show.environment},
        )  # fmt: skip
        os.close(slave)

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def run_for(self, seconds: float) -> None:
        """Keep reading, so that the program never waits for its terminal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    os.read(self._master, 65536)
                except OSError:  # the program has closed its side
                    return

    def close(self) -> None:
        self.process.terminate()
        self.run_for(0.5)
        self.process.wait(10)
        os.close(self._master)


def moments_of(recording: Path) -> dict[str, float]:
    """For each verdict, when (seconds of the session) it has first held for long enough."""
    found: dict[str, float] = {}
    began: dict[str, float] = {}
    last = ""
    with Session(recording) as session:
        for at, diagnosis in session.verdicts():
            name = str(diagnosis.verdict.bottleneck)
            if name != last:
                began[name], last = at, name
            if at - began[name] >= HELD_S:
                found.setdefault(name, at)
    return found


def take(show: Show, recording: Path, times: dict[str, float]) -> None:
    """All pictures of one show."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        terminal = Terminal(show, recording, folder)
        began = time.monotonic()
        try:
            for shot in show.shots:
                due = began + START_S + times[shot.verdict] + shot.later_s
                terminal.run_for(max(0.0, due - time.monotonic()))
                if shot.keys:
                    terminal.press(shot.keys)
                    terminal.run_for(0.7)
                keep(terminal, folder, shot.name)
                if shot.keys:
                    terminal.press(ESCAPE)
                    terminal.run_for(0.5)
        finally:
            terminal.close()


def keep(terminal: Terminal, folder: Path, name: str) -> None:
    """Have the picture saved, and keep it under this name, as PNG too."""
    terminal.press(CTRL_S)
    terminal.run_for(1.2)
    (picture,) = folder.glob("*.svg")
    kept = HERE / f"{name}.svg"
    shutil.move(picture, kept)
    subprocess.run(["rsvg-convert", "--zoom=1", kept, "-o", kept.with_suffix(".png")], check=True)
    print(kept.with_suffix(".png").name, flush=True)


def main() -> None:
    """Make all pictures anew."""
    if shutil.which("rsvg-convert") is None:
        raise SystemExit("rsvg-convert is missing: install librsvg2-bin")
    with tempfile.TemporaryDirectory() as name:
        recording = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(name) / "session"
        if len(sys.argv) < 2:
            command = [sys.executable, "-m", "loadtop", "demo", "--headless", "--quiet", "--record", str(recording)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
        times = moments_of(recording)
        missing = {shot.verdict for show in SHOWS for shot in show.shots} - times.keys()
        if missing:
            raise SystemExit(f"no stretch of {', '.join(sorted(missing))} in that run: was something else running?")
        threads = [threading.Thread(target=take, args=(show, recording, times)) for show in SHOWS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
