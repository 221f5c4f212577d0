"""Pictures of the cockpit from a real run: ``make screenshots``.

Runs ``loadtop demo`` (against a real Apache) in a pseudo-terminal of each size, presses ``p`` once a verdict
has held for a while, and names the picture after it. Writes SVG files, and PNG files by rsvg-convert, beside this file.
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
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from loadtop.session.reader import Session, SessionError

HERE = Path(__file__).resolve().parent
SIZES = ((80, 24), (120, 40))
WANTED = ("none", "apache-workers", "cpu")
HELD_S = 6.0
LIMIT_S = 90.0


class Terminal:
    """loadtop in a pseudo-terminal: what it prints is read and thrown away, keys can be sent."""

    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self._master = master
        self.process = process

    def press(self, key: str) -> None:
        os.write(self._master, key.encode())

    def run_for(self, seconds: float) -> None:
        """Keep reading, so that the program never waits for its terminal."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._master], [], [], left)[0]:
                try:
                    os.read(self._master, 65536)
                except OSError:  # the program has closed its side
                    return


@contextmanager
def cockpit(columns: int, rows: int, folder: Path) -> Generator[Terminal]:
    """``loadtop demo`` on a screen of that size, in that folder."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "loadtop", "demo", "--record", str(folder / "session")],
        stdin=slave, stdout=slave, stderr=slave, cwd=folder, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    os.close(slave)
    terminal = Terminal(master, process)
    try:
        yield terminal
    finally:
        process.terminate()
        terminal.run_for(0.5)
        process.wait(10)
        os.close(master)


def verdict_now(recording: Path) -> tuple[str, float]:
    """The newest verdict on record and for how long it has held, in seconds."""
    try:
        with Session(recording) as session:
            newest = [diagnosis.verdict for _, diagnosis in session.verdicts(session.duration)]
    except SessionError:
        return "", 0.0
    return (str(newest[-1].bottleneck), newest[-1].held_s) if newest else ("", 0.0)


def take_pictures(columns: int, rows: int) -> Iterator[Path]:
    """One picture for each wanted verdict, on one screen size."""
    with tempfile.TemporaryDirectory() as name, cockpit(columns, rows, Path(name)) as terminal:
        folder, missing, began = Path(name), list(WANTED), time.monotonic()
        while missing and time.monotonic() - began < LIMIT_S and terminal.process.poll() is None:
            terminal.run_for(1.0)
            verdict, held = verdict_now(folder / "session")
            if verdict in missing and held >= HELD_S:
                missing.remove(verdict)
                terminal.press("p")
                terminal.run_for(1.0)
                picture = max(folder.glob("*.svg"), key=lambda path: path.stat().st_mtime)
                yield Path(shutil.move(picture, HERE / f"{verdict}-{columns}x{rows}.svg"))
    if missing:
        raise SystemExit(f"no picture of {', '.join(missing)} at {columns}x{rows}: was something else running?")


def main() -> None:
    """Make all pictures anew."""
    if shutil.which("rsvg-convert") is None:
        raise SystemExit("rsvg-convert is missing: install librsvg2-bin")
    for columns, rows in SIZES:
        for picture in take_pictures(columns, rows):
            subprocess.run(["rsvg-convert", "--zoom=1", picture, "-o", picture.with_suffix(".png")], check=True)
            print(picture.with_suffix(".png").name)


if __name__ == "__main__":
    main()
