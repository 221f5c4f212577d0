"""Pictures of the cockpit from real runs: ``make screenshots``, or ``python -m screenshots.make [RUN ...]``.

Starts real servers with private configurations, drives each into its limit in a cockpit of its own (a pseudo-terminal),
waits until the verdict is seen there, and has the cockpit save its picture. Writes PNG files beside this file, by
rsvg-convert, with few colours where pngquant is installed; verdict.cast, a film of one run for asciinema; and
verdict.svg, the same as a moving picture (``python -m screenshots.film`` makes it of verdict.cast alone). Takes four
minutes. The pictures of swap need root on Linux, for a control group and a swap file; where they cannot be made they
stay as they are, and a line says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from screenshots.runs import RUNS


def main() -> int:
    """Make the pictures of all runs again, or of those that are named; 1 where a server is missing."""
    asked = sys.argv[1:] or list(RUNS)
    if unknown := [name for name in asked if name not in RUNS]:
        raise SystemExit(f"no run is called {', '.join(unknown)}: there are {', '.join(RUNS)}")
    if shutil.which("rsvg-convert") is None:
        raise SystemExit("rsvg-convert is missing: install librsvg2-bin")
    if not subprocess.run(["fc-list", ":lang=ja"], capture_output=True, check=True).stdout:
        raise SystemExit("no font has Japanese characters: install fonts-ipafont-gothic")
    missing = False
    for name in asked:
        if name == "swap" and not (sys.platform == "linux" and os.geteuid() == 0):
            print("swap: its pictures stay as they are, new ones need root on Linux (a control group and a swap file)")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                RUNS[name](Path(folder))
            except pytest.fail.Exception as error:  # what the tests' servers say where they cannot be started
                print(f"{name}: its pictures stay as they are: {error}", file=sys.stderr)
                missing = True
    return int(missing)


if __name__ == "__main__":
    sys.exit(main())
