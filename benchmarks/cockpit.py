"""What the cockpit costs while every number changes: processor share, bytes per second, memory, time to answer a key.

``python -m benchmarks.cockpit [SECONDS]`` shows a made-up feed, one host at 1 s, in a pseudo-terminal of each size.
With ``--beside`` also what is installed of htop, top and btop, in the same harness.
"""

import asyncio
import itertools
import os
import shutil
import sys

from benchmarks.terminal import Terminal

SIZES = ((80, 24), (120, 40), (200, 60))
BESIDE = (("htop", "-d", "10"), ("top", "-d", "1"), ("btop", "-u", "1000"))
SETTLE_S = 8.0
MOMENTS = 240
KEYS = "\t\t\t\tzzzz"
"""Typed one after the other: the time from a key to the first byte of the answer is measured, the median is shown."""


def main() -> None:
    """Print a line per size."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    seconds = float(words[0]) if words else 20.0
    commands: list[tuple[str, ...]] = [(sys.executable, "-m", "benchmarks.cockpit", "--show")]
    if "--beside" in sys.argv:
        commands += [command for command in BESIDE if shutil.which(command[0])]
    print(f"{'':10} {'size':>8} {'cpu of a core':>14} {'bytes/s':>9} {'memory':>9} {'key':>10}")
    for command in commands:
        name = "loadtop" if command[0] == sys.executable else command[0]
        for columns, rows in SIZES:
            environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            terminal = Terminal(command, columns, rows, environment)
            terminal.measure(SETTLE_S)
            spent = terminal.measure(seconds)
            answers = sorted(terminal.answer_s(key) for key in KEYS) if name == "loadtop" else [float("nan")]
            terminal.close()
            share, sent = 100 * spent.cpu_s / spent.seconds, spent.sent / spent.seconds
            size = f"{columns}x{rows}"
            print(
                f"{name:10} {size:>8} {share:12.2f} % {sent:9.0f} {spent.rss_kb / 1024:6.0f} MB"
                f" {1000 * answers[len(answers) // 2]:7.0f} ms",
                flush=True,
            )


def show() -> None:
    """The program that is measured."""
    from tests.tui.scenes import FakeFeed, endless
    from tui.app import run_cockpit

    made = list(itertools.islice(endless(), MOMENTS))  # beforehand: making them up is no part of the cost
    asyncio.run(run_cockpit(FakeFeed(made, pause_s=1.0)))


if __name__ == "__main__":
    show() if "--show" in sys.argv else main()
