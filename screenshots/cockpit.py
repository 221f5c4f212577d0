"""A cockpit in a pseudo-terminal that is looked at: what it shows is known, keys are typed, its pictures are kept."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.terminal import Terminal
from loadtop.engines.terminal import Screen

HERE = Path(__file__).resolve().parent
LIMIT_S = 40.0
"""How long something that must come to be seen is waited for."""

SAID_S = 4.5
"""How long the message about a picture stays where the keys are shown, and a little."""

DRAWN_S = 2.2
"""After which a cockpit of another size has drawn two moments in it."""

COLOURS = "64"
"""Of a picture: sixteen, and shades between them and the ground."""

CTRL_S = "\x13"


class Cockpit(Terminal):
    """loadtop, called with ``words``, in a folder and a terminal of its own."""

    def __init__(
        self, words: Sequence[str], size: tuple[int, int], folder: Path, environment: dict[str, str] | None = None
    ) -> None:
        known = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "LOADTOP_THEME")}
        known |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(environment or {})}
        self._folder = folder
        self._screen = Screen(*size)
        self._kept_at = 0.0
        super().__init__([sys.executable, "-m", "loadtop", *words], *size, known, folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def text(self) -> str:
        """What is seen."""
        return "\n".join("".join(run.text for run in runs) for runs in self._screen.lines())

    def run_for(self, seconds: float) -> None:
        """Let it go on."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(min(left, 0.2))

    def until(self, text: str) -> None:
        """Let it go on until this is seen. Ends all where it does not come."""
        end = time.monotonic() + LIMIT_S
        while text not in self.text:
            if time.monotonic() > end:
                raise SystemExit(f"{text!r} has not come for {LIMIT_S:.0f} s, there is only:\n{self.text}")
            self._read(0.2)

    def turn_to(self, columns: int, rows: int) -> None:
        """Give it another size, and time to fill that."""
        self.resize(columns, rows)
        self._screen.resize(columns, rows)
        self.run_for(DRAWN_S)

    def keep(self, name: str) -> None:
        """Have it save its picture, and keep that as a PNG file of this name."""
        self.run_for(self._kept_at + SAID_S - time.monotonic())
        self.press(CTRL_S)
        end = time.monotonic() + LIMIT_S
        while not (found := [file for file in self._folder.glob("*.svg") if file.read_text().endswith("</svg>\n")]):
            if time.monotonic() > end:
                raise SystemExit(f"{name}: no picture was saved, there is only:\n{self.text}")
            self._read(0.1)
        self._kept_at = time.monotonic()
        picture = HERE / f"{name}.png"
        subprocess.run(["rsvg-convert", "--zoom=1", found[0], "-o", picture], check=True)
        found[0].unlink()
        if shutil.which("pngquant"):
            subprocess.run(["pngquant", "--force", "--strip", "--output", picture, COLOURS, picture], check=True)
        print(picture.name, flush=True)

    def _read(self, wait_s: float) -> bytes:
        sent = super()._read(wait_s)
        if sent:
            self._screen.feed(sent)
        return sent
