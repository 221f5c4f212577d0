"""What the cockpit costs while every number changes, beside htop, top, btop and glances in the same harness.

``python -m benchmarks.cockpit [SECONDS] [SIZE ...]`` shows a generated feed (one host, at 1 s) in a pseudo-terminal of
each size (80x24 120x40 200x60): processor share, bytes per second sent to the terminal, memory, time to the first byte
painted and from a key to the first byte of the answer. Peers that are not installed are left out (apt install htop btop
glances); ``--alone`` leaves all of them out. At the end, with ``--load`` only that: the same key of the real command
while its generator runs flat out against nginx on the same machine.
"""

import asyncio
import itertools
import os
import shutil
import statistics
import sys
from collections.abc import Sequence

from benchmarks.load_servers import server
from benchmarks.terminal import Terminal

SIZES = ((80, 24), (120, 40), (200, 60))
LOADTOP = (sys.executable, "-m", "benchmarks.cockpit", "--show")
START = (sys.executable, "-m", "loadtop", "--no-record", "http://127.0.0.1:9/")
"""How long its first paint takes is measured of the real command: the generated feed is made beforehand."""

PEERS = {
    "htop": (("htop", "-d", "10"), "hh"),
    "top": (("top", "-d", "1"), "11"),
    "btop": (("btop", "--utf-force"), "mm"),
    "glances": (("glances", "-t", "1"), "11"),
}
"""Commands at 1 s (btop: at its 2 s), and two keys that change the picture and change it back."""

SETTLE_S = 8.0
PAINT_S = 10.0
STARTS = 3
"""Starts of which the median counts, after one that does not."""
MOMENTS = 240
KEYS = "\t\t\t\tzzzz"
"""Typed one after the other: the time from a key to the first byte of the answer is measured, the median is shown."""

ROUNDS, BETWEEN_S = 25, 0.07
"""Under load: how often they are typed, and seconds between two of them, so that some meet the figures of a second."""

GOALS = {(80, 24): (1.25, 2000.0), (120, 40): (1.25, 4000.0), (200, 60): (1.25, 8000.0)}
"""Percent of a core and bytes/s that are not to be exceeded."""

KEY_MS = 50.0
"""Milliseconds from a key to the screen that 95 % of the keys may take at most, under load."""


def main() -> int:
    """Print the table and how keys are answered under load; 1 where a goal is missed."""
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    seconds = next((float(word) for word in words if "x" not in word), 20.0)
    sizes = [size for size in SIZES if "x".join(map(str, size)) in words] or SIZES
    missed = "--load" not in sys.argv and table(seconds, sizes)
    answers = sorted(under_load())
    middle, most, longest = (1000 * answers[round(share * (len(answers) - 1))] for share in (0.5, 0.95, 1.0))
    print(
        f"key to screen while the generator runs flat out, {len(answers)} keys: "
        f"median {middle:.0f} ms, 95 % within {most:.0f} ms, longest {longest:.0f} ms"
    )
    missed |= most > KEY_MS
    print(f"goals (CPU 1.25 %, 2 kB/s at 80x24, 4 kB/s at 120x40, a key 50 ms): {'missed' if missed else 'met'}")
    return 1 if missed else 0


def table(seconds: float, sizes: Sequence[tuple[int, int]]) -> bool:
    """Print a line per program and size; whether a goal is missed."""
    programs: dict[str, tuple[Sequence[str], str]] = {"loadtop": (LOADTOP, KEYS)}
    if "--alone" not in sys.argv:
        programs |= {name: known for name, known in PEERS.items() if shutil.which(name)}
    print(f"{'':10} {'size':>8} {'cpu of a core':>14} {'bytes/s':>9} {'memory':>9} {'first paint':>12} {'key':>10}")
    missed = False
    for name, (command, keys) in programs.items():
        for size in sizes:
            share, sent = measure(name, command, keys, size, seconds)
            most = GOALS.get(size) if name == "loadtop" else None
            missed |= most is not None and (share > most[0] or sent > most[1])
    return missed


def under_load() -> list[float]:
    """Seconds from each of some keys to the first byte of the answer, while load, server and cockpit want the cores."""
    with server("nginx") as url:
        command = (sys.executable, "-m", "loadtop", "--no-record", "-k", "-c", "64", "-t", "60", f"{url}1k.html")
        terminal = Terminal(command, 80, 24, environment())
        try:
            terminal.measure(SETTLE_S)
            answers: list[float] = []
            for key in KEYS * ROUNDS:
                answers.append(terminal.answer_s(key, quiet_s=0.02))
                terminal.measure(BETWEEN_S)
            return answers
        finally:
            terminal.close()


def measure(name: str, command: Sequence[str], keys: str, size: tuple[int, int], seconds: float) -> tuple[float, float]:
    """Run one program in one size; percent of a core and bytes/s."""
    columns, rows = size
    paints: list[float] = []
    for _ in range(1 + STARTS):
        first = Terminal(START if name == "loadtop" else command, columns, rows, environment())
        paints += [found] if (found := first.first_paint_s(PAINT_S)) is not None else []
        first.close()
    paint = statistics.median(paints[1:]) if len(paints) > 1 else None
    terminal = Terminal(command, columns, rows, environment())
    terminal.measure(SETTLE_S)
    spent = terminal.measure(seconds)
    answer = answered(terminal, keys)
    terminal.close()
    share, sent = 100 * spent.cpu_s / spent.seconds, spent.sent / spent.seconds
    print(
        f"{name:10} {f'{columns}x{rows}':>8} {share:12.2f} % {sent:9.0f} {spent.rss_kb / 1024:6.0f} MB"
        f" {'-' if paint is None else f'{1000 * paint:.0f}':>9} ms {1000 * answer:7.0f} ms",
        flush=True,
    )
    return share, sent


def answered(terminal: Terminal, keys: str) -> float:
    """Seconds from a key to the first byte of the answer, the median of several."""
    return statistics.median(terminal.answer_s(key) for key in keys)


def environment() -> dict[str, str]:
    """What every program is started with. Bytecode is kept, as it is where loadtop is installed."""
    known = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
    known.pop("PYTHONDONTWRITEBYTECODE", None)
    return known


def show() -> None:
    """The program that is measured."""
    from tests.tui.fake_feed import FakeFeed
    from tests.tui.scenes import endless
    from tui.apps.cockpit import Cockpit, run_cockpit

    made = list(itertools.islice(endless(), MOMENTS))  # beforehand: making them up is no part of the cost
    asyncio.run(run_cockpit(Cockpit(FakeFeed(made, pause_s=1.0))))


if __name__ == "__main__":
    if "--show" in sys.argv:
        show()
    else:
        sys.exit(main())
