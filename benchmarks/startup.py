"""From the command to the first painted screen, in a pseudo-terminal, the start of the interpreter included.

``python -m benchmarks.startup [TIMES]``. The load goes to a closed port of this machine: the first screen is painted
before anything is connected. Bytecode is kept in a directory of its own and one start goes before those that count, so
that what is measured is any start but the very first.
"""

import os
import statistics
import sys
import tempfile

from benchmarks.terminal import Terminal

GOAL_S = 0.5
LIMIT_S = 20.0
FIRST = b"loadtop"
COMMANDS = (
    ("python -m loadtop URL", ("-m", "loadtop", "--no-record", "http://127.0.0.1:9/"), FIRST),
    ("a bare Textual app", ("-c", "from textual.app import App; App(ansi_color=True).run()"), b"\x1b[1;1H"),
    ("import textual.app", ("-c", "import textual.app; print('loadtop')"), FIRST),
    ("the interpreter", ("-c", "print('loadtop')"), FIRST),
)


def main() -> int:
    """Print median and extremes; 1 where the goal is missed."""
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    medians: list[float] = []
    with tempfile.TemporaryDirectory() as cache:
        found = [(name, measure(arguments, mark, times, cache)) for name, arguments, mark in COMMANDS]
    for name, seconds in found:
        if not seconds:
            print(f"{name:24} nothing was painted within {LIMIT_S:.0f} s")
            return 1
        medians.append(statistics.median(seconds))
        print(f"{name:24} {medians[-1]:.3f} s  ({min(seconds):.3f} to {max(seconds):.3f}, {len(seconds)} times)")
    print(f"first screen under {GOAL_S} s: {'yes' if medians[0] < GOAL_S else 'NO'}")
    return 0 if medians[0] < GOAL_S else 1


def measure(arguments: tuple[str, ...], mark: bytes, times: int, cache: str) -> list[float]:
    """Seconds until the mark is sent, of the starts in which it was."""
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPYCACHEPREFIX": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds: list[float | None] = []
    for _ in range(times + 1):
        terminal = Terminal((sys.executable, *arguments), 80, 24, environment)
        seconds.append(terminal.read_until(mark, LIMIT_S))
        terminal.close()
    return [found for found in seconds[1:] if found is not None]


if __name__ == "__main__":
    sys.exit(main())
