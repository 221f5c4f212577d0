"""Pictures of the cockpit from real runs: ``make screenshots``.

Runs ``loadtop demo`` (against a real Apache) once, recorded; then shows that recording, and some kept from the
lab, in pseudo-terminals of several sizes and looks side by side, and has each save its picture once a verdict has held
for a while. Writes SVG files, and PNG files by rsvg-convert, beside this file. With ``--kept`` nothing is run: the
recordings of real runs that are kept in tests/fixtures/lab are shown. Names after it: only these pictures. A film of a
run from its start to its verdict goes to verdict.cast, for asciinema.
"""

import fcntl
import lzma
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
class Show:
    """A cockpit that shows a run under a verdict: the name of the picture, its size, its look, and keys that open what
    is to be seen."""

    verdict: str
    name: str
    columns: int
    rows: int
    keys: str = ""
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


SHOWS = (
    Show("none", "none-120x40", 120, 40),
    Show("none", "none-80x24", 80, 24),
    Show("apache-workers", "apache-workers-120x40", 120, 40),
    Show("apache-workers", "apache-workers-80x24", 80, 24),
    Show("cpu", "cpu-120x40", 120, 40),
    Show("cpu", "cpu-80x24", 80, 24),
    Show("cpu", "cpu-60x20", 60, 20),
    Show("cpu", "cpu-200x60", 200, 60),
    Show("fpm-workers", "fpm-workers-120x40", 120, 40),
    Show("disk", "disk-80x24", 80, 24),
    Show("fpm-workers", "evidence-120x40", 120, 40, EVIDENCE),
    Show("cpu", "commands-120x40", 120, 40, PALETTE),
    Show("fpm-workers", "japanese-120x40", 120, 40, "", ("--lang", "ja")),
    Show("disk", "japanese-80x24", 80, 24, "", ("--lang", "ja")),
    Show("cpu", "light-120x40", 120, 40, "", ("--theme", "light")),
    Show("cpu", "safe-80x24", 80, 24, "", ("--theme", "safe")),
    Show("fpm-workers", "no-colour-80x24", 80, 24, "", (), {"NO_COLOR": "1"}),
)

FILM = "verdict.cast"

KEPT = HERE.parent / "tests" / "fixtures" / "lab"


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


def moment_of(recording: Path, verdict: str) -> float | None:
    """When (seconds of the session) this verdict has held for long enough, or at last where it never did so long."""
    began, last = 0.0, None
    with Session(recording) as session:
        for at, diagnosis in session.verdicts():
            if str(diagnosis.verdict.bottleneck) != verdict:
                began = at
                continue
            last = at
            if at - began >= HELD_S:
                return at
    return last


def take(show: Show, recording: Path) -> None:
    """The picture of one show."""
    due = moment_of(recording, show.verdict)
    if due is None:
        raise SystemExit(f"{show.name}: {show.verdict} did not hold in {recording.name}")
    with tempfile.TemporaryDirectory() as name:
        terminal = Terminal(show, recording, Path(name))
        try:
            terminal.run_for(START_S + due)
            if show.keys:
                terminal.press(show.keys)
                terminal.run_for(0.7)
            keep(terminal, Path(name), show.name)
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
        folder = Path(name)
        recordings = {verdict: kept(verdict, folder) for verdict in ("none", "cpu", "disk", "fpm-workers")}
        if "--kept" not in sys.argv:
            run = folder / "demo"
            command = [sys.executable, "-m", "loadtop", "demo", "--headless", "--quiet", "--record", str(run)]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
            recordings |= dict.fromkeys(("none", "apache-workers", "cpu"), run)
        asked = [word for word in sys.argv[1:] if not word.startswith("-")]
        shows = [show for show in SHOWS if show.verdict in recordings and (not asked or show.name in asked)]
        if not asked or FILM in asked:
            film = [sys.executable, "-m", "loadtop", "export", "--cast", str(HERE / FILM), str(recordings["cpu"])]
            subprocess.run(film, check=True, stdin=subprocess.DEVNULL)
        threads = [threading.Thread(target=take, args=(show, recordings[show.verdict])) for show in shows]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def kept(verdict: str, folder: Path) -> Path:
    """The kept recording of a real run under this verdict: the longest there is."""
    found = max(KEPT.glob(f"{verdict}-*.loadtop.xz"), key=lambda path: path.stat().st_size)
    unpacked = folder / found.name.removesuffix(".xz")
    unpacked.write_bytes(lzma.decompress(found.read_bytes()))
    return unpacked


if __name__ == "__main__":
    main()
