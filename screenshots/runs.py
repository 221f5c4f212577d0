"""The runs that pictures are taken of: real servers, driven into a limit in a cockpit that is watched."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from screenshots.cockpit import HERE, Cockpit
from screenshots.film import write_film
from tests.lab.case import Bench, Stand
from tests.lab.memory import memory_group, swap_file
from tests.lab.pages import ALLOCATING, SHORTLY

SMALL, MIDDLE, WIDE, HUGE = (60, 20), (80, 24), (120, 40), (200, 60)
HERE_IS_WEB1 = ("--host", "web1=local")
OFTEN = ("--interval", "0.5")
"""Half the time until graphs are filled."""

PALETTE, EVIDENCE, ESCAPE, PAUSE, TIME = ":", "e", "\x1b", " ", "t"
EXPERIMENTS = HERE.parent / "docs" / "experiments"
DEMO_S = "84"
SWAP_MB, GROUP_MB = 512, 96


@contextlib.contextmanager
def stand(build: Callable[[Bench], Stand]) -> Generator[Stand]:
    """A server, gone afterwards."""
    with contextlib.ExitStack() as stack:
        yield build(Bench(stack))


def few_children(bench: Bench) -> Stand:
    """php-fpm with four children, behind Apache."""
    server = bench.apache(mpm="event", php="fpm", workers=25, pages={"page.php": SHORTLY}, fpm_children=4)
    return Stand(f"{server.url}page.php", ("--apache", server.status_url, "--fpm", server.fpm_status_url))


def little_memory(bench: Bench) -> Stand:
    """Apache in 96 MB, with a page that wants 12 MB for each request. Needs root."""
    bench.stack.enter_context(swap_file(SWAP_MB))
    group = bench.stack.enter_context(memory_group(GROUP_MB))
    server = bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": ALLOCATING}, launcher=group.launcher)
    return Stand(f"{server.url}page.php", ("--apache", server.status_url))


def workers(number: int) -> Callable[[Bench], Stand]:
    """Apache with so many workers, which wait more than they compute."""

    def build(bench: Bench) -> Stand:
        server = bench.apache(mpm="prefork", php="mod", workers=number, pages={"page.php": SHORTLY})
        return Stand(f"{server.url}page.php", ("--apache", server.status_url))

    return build


def load(where: Stand, *words: str) -> list[str]:
    """The command line of a load on this server, long enough for all pictures of it."""
    return [*words, "-t", "90", *HERE_IS_WEB1, *where.watch, where.url]


def demo(folder: Path) -> None:
    """``loadtop demo`` with its three limits in several sizes, then its recording."""
    recording = str(folder / "demo.loadtop")
    words = ["demo", *HERE_IS_WEB1, "--record", recording]
    with Cockpit(words, WIDE, folder, {"LOADTOP_DEMO_SECONDS": DEMO_S}) as cockpit:
        cockpit.until("● HEADROOM")
        cockpit.run_for(14)
        cockpit.keep("none-120x40")
        cockpit.turn_to(*MIDDLE)
        cockpit.keep("none-80x24")
        cockpit.turn_to(*WIDE)
        cockpit.until("▲ APACHE WORKERS")
        cockpit.run_for(10)
        cockpit.keep("apache-workers-120x40")
        cockpit.turn_to(*MIDDLE)
        cockpit.keep("apache-workers-80x24")
        cockpit.turn_to(*WIDE)
        cockpit.until("▲ CPU ")
        cockpit.run_for(4)
        cockpit.keep("cpu-120x40")
        cockpit.press(PALETTE)
        cockpit.run_for(1)
        cockpit.keep("commands-120x40")
        cockpit.press(ESCAPE)
        for name, size in (("cpu-80x24", MIDDLE), ("cpu-60x20", SMALL), ("cpu-200x60", HUGE)):
            cockpit.turn_to(*size)
            cockpit.keep(name)
    replayed(recording, "75%", "▲ CPU ", folder, "replay-120x40", WIDE)
    replayed(recording, "50%", "▲ APACHE WORKERS", folder, "safe-80x24", MIDDLE, "--theme", "safe")


def replayed(
    recording: str, time: str, verdict: str, folder: Path, name: str, size: tuple[int, int], *words: str
) -> None:
    """A picture of a recording, at a time of it."""
    with Cockpit(["replay", *words, recording], size, folder) as cockpit:
        cockpit.until("loadtop")
        cockpit.run_for(1)
        cockpit.press(PAUSE)
        cockpit.press(TIME)
        cockpit.until("jump to")
        cockpit.press(f"{time}\r")
        cockpit.until(verdict)
        cockpit.run_for(1)
        cockpit.keep(name)


def fpm(folder: Path) -> None:
    """A pool of php-fpm that becomes the limit when the load is raised; a film of it; the same in Japanese."""
    recording = str(folder / "fpm.loadtop")
    with stand(few_children) as server:
        with Cockpit(load(server, "-c", "2", *OFTEN, "--record", recording), WIDE, folder) as cockpit:
            cockpit.until("● HEADROOM")
            cockpit.run_for(7)
            cockpit.press("m")
            cockpit.until("text of the mark")
            cockpit.press("16 connections\r")
            cockpit.until("marked")
            cockpit.press("16\r")
            cockpit.until("▲ PHP-FPM WORKERS")
            cockpit.run_for(11)
            cockpit.keep("fpm-workers-120x40")
            cockpit.press(EVIDENCE)
            cockpit.run_for(1)
            cockpit.keep("evidence-120x40")
        words = ["-c", "16", *OFTEN, "--no-record", "--lang", "ja"]
        with Cockpit(load(server, *words), WIDE, folder) as cockpit:
            cockpit.until("▲ PHP-FPM ワーカー")
            cockpit.run_for(10)
            cockpit.keep("japanese-120x40")
            cockpit.turn_to(*MIDDLE)
            cockpit.keep("japanese-80x24")
    film = [
        sys.executable,
        "-m",
        "loadtop",
        "export",
        "--size",
        "80x24",
        "--cast",
        str(HERE / "verdict.cast"),
        recording,
    ]
    subprocess.run(film, check=True, stdin=subprocess.DEVNULL)
    write_film(HERE / "verdict.cast", HERE / "verdict.svg")


def swap(folder: Path) -> None:
    """Apache in too little memory: more connections, and it swaps."""
    with (
        stand(little_memory) as server,
        Cockpit(load(server, "-c", "3", *OFTEN, "--no-record"), WIDE, folder) as cockpit,
    ):
        cockpit.until("● HEADROOM")
        cockpit.run_for(6)
        cockpit.press("16\r")
        cockpit.until("▲ SWAP")
        cockpit.run_for(9)
        cockpit.keep("swap-120x40")
        cockpit.turn_to(*MIDDLE)
        cockpit.keep("swap-80x24")


def pools(folder: Path) -> None:
    """Few workers and then more of them, without colour and in the light theme; both compared."""
    before, after = str(folder / "4-workers.loadtop"), str(folder / "16-workers.loadtop")
    with (
        stand(workers(4)) as server,
        Cockpit(load(server, "-c", "30", *OFTEN, "--record", before), MIDDLE, folder, {"NO_COLOR": "1"}) as cockpit,
    ):
        cockpit.until("▲ APACHE WORKERS")
        cockpit.run_for(9)
        cockpit.keep("no-colour-80x24")
    words = ["-c", "30", *OFTEN, "--theme", "light", "--record", after]
    with stand(workers(16)) as server, Cockpit(load(server, *words), WIDE, folder) as cockpit:
        cockpit.until("▲ APACHE WORKERS")
        cockpit.run_for(9)
        cockpit.keep("light-120x40")
    with Cockpit(["compare", before, after], WIDE, folder) as cockpit:
        cockpit.until("A ")
        cockpit.run_for(1)
        cockpit.keep("compare-120x40")


def tune(folder: Path) -> None:
    """``loadtop tune`` on a pool of four, to its end."""
    words = ["--step-time", "3", "--most-step-time", "5", "--finer", "2", "-c", "16", "--no-record"]
    with stand(few_children) as server:
        swept = ["tune", *words, "-t", "60", *HERE_IS_WEB1, *server.watch, server.url]
        with Cockpit(swept, WIDE, folder) as cockpit:
            cockpit.until("6 steps measured")
            cockpit.until("Knee")
            cockpit.run_for(1)
            cockpit.keep("tune-120x40")


def wordpress(folder: Path) -> None:
    """Debian's WordPress with five children of php-fpm; then with one row of its database for all visits."""
    for server, workers, plugin, verdict in (
        ("nginx", "5", "slow-query", "▲ PHP-FPM WORKERS"),
        ("apache", "20", "counter", "▲ DEPENDENCY"),
    ):
        done = subprocess.run([EXPERIMENTS / "wordpress.sh", "start", server, workers, plugin], capture_output=True)
        try:
            if done.returncode:
                pytest.fail(done.stderr.decode(errors="replace"), pytrace=False)
            where = Stand(f"http://127.0.0.1:{18060 if server == 'nginx' else 18080}/")
            with Cockpit(load(where, "-c", "2", *OFTEN, "--no-record"), WIDE, folder) as cockpit:
                cockpit.run_for(10)
                cockpit.press("20\r")
                cockpit.until(verdict)
                cockpit.run_for(12)
                cockpit.keep(f"wordpress-{plugin}-120x40")
        finally:
            subprocess.run([sys.executable, EXPERIMENTS / "servers.py", "stop"], check=True)


RUNS: dict[str, Callable[[Path], None]] = {
    "demo": demo,
    "fpm": fpm,
    "swap": swap,
    "pools": pools,
    "tune": tune,
    "wordpress": wordpress,
}
