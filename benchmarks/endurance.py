"""Whether memory stays flat: six hours of generated frames through monitor, recorder, totals and cockpit, in minutes.

The monitor runs on a clock that is advanced instead of waited for, and the cockpit draws without a terminal. Memory is
taken ten times, after the garbage was collected; after the first tenth it may not grow by more than :data:`MOST_MB`.

``--real SECONDS`` waits instead: loadtop without its cockpit loads a real nginx that answers after 20 s, over so many
connections (1,000 are 50 requests/s, which take 5 % of a core). The same holds for the memory of each of loadtop's
processes.
"""

import argparse
import asyncio
import contextlib
import ctypes
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.made_frames import made_frames
from benchmarks.watch import cpu_seconds, processes_below
from loadtop.analysis.fail_if import Condition, Watchdog
from loadtop.analysis.totals.totals import Totals
from loadtop.i18n import Text
from loadtop.model import Frame, HostSample, LoadSample, Profile
from loadtop.pipeline.feed import Command
from loadtop.pipeline.monitor import Clock, Monitor
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.recording.recorder import Recorder
from tests.servers.nginx import NginxFactory
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import TERMINAL, UNICODE, Appearance

MOST_MB = 4.0  # a tenth of six hours is 2,160 frames: a leak of 2 kB per frame would show
TENTHS = 10
FLUSH_EVERY = 50  # frames: less than the recorder's queue
SIZE = (120, 40)
SLOW_S = 20.0  # after which the real server answers


class MadeTest:
    """The frames as a load and as machines, and the clock that brings the next one."""

    def __init__(self, hosts: int, frames: int) -> None:
        self._frames: Iterator[Frame] = made_frames(hosts, 500)
        self._left = frames
        self.frame = next(self._frames)
        self.over = asyncio.Event()

    def advance(self) -> None:
        self._left -= 1
        self.frame = next(self._frames)
        if self._left <= 0:
            self.over.set()


class MadeClock(Clock):
    """Time continues only while someone waits for it."""

    def __init__(self, test: MadeTest) -> None:
        self._test = test
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)
        self._now += seconds
        self._test.advance()


class MadeLoad:
    """The load of the frames."""

    def __init__(self, test: MadeTest) -> None:
        self._test = test

    async def start(self) -> None:
        """It runs already."""

    async def wait(self) -> None:
        await self._test.over.wait()

    def take(self) -> LoadSample | None:
        return self._test.frame.load

    def command(self, command: Command) -> None:
        """Nothing can be changed."""

    async def close(self) -> None:
        """Nothing is open."""


class MadeMachine:
    """One machine of the frames."""

    def __init__(self, test: MadeTest, number: int) -> None:
        self._test = test
        self._number = number
        state = test.frame.hosts[number]
        self.name, self.role = state.name, state.role

    async def start(self, interval_s: float) -> None:
        """It runs already."""

    def latest(self) -> tuple[HostSample | None, Text]:
        return self._test.frame.hosts[self._number].sample, ""

    async def refresh(self, *, later: bool = False) -> None:
        """The newest sample is always that of the frame."""

    async def profile(self, pids: Sequence[int]) -> Profile:  # noqa: ARG002 - part of the protocol
        return Profile(self.name)

    async def close(self) -> None:
        """Nothing is open."""


def resident_mb(pid: int | str = "self") -> float:
    """Memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def own_mb() -> float:
    """Memory of this process, without what the allocator holds back."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_mb()


async def endure(frames: int, hosts: int, folder: Path, note: Callable[[int], None]) -> None:
    """Show so many frames; ``note`` is called after each."""
    test = MadeTest(hosts, frames)
    meta = SessionMeta(1.8e9, ("-c", "64"), "http://web1/index.php", "0", 1.0)
    recorder = Recorder(folder / "endurance.loadtop", meta=meta)
    totals, watchdog = Totals("http://web1/index.php", ("-c", "64")), Watchdog([Condition.parse("p99>500ms for 10s")])
    shown = 0

    def count(_: Snapshot) -> None:
        nonlocal shown
        shown += 1
        if shown % FLUSH_EVERY == 0:
            recorder.flush()
        note(shown)

    monitor = Monitor(
        "http://web1/index.php",
        MadeLoad(test),
        [MadeMachine(test, number) for number in range(hosts)],
        sinks=[recorder.record, totals.add, watchdog.add, count],
        until_load_ends=True,
        clock=MadeClock(test),
    )
    app = Cockpit(monitor, appearance=Appearance(TERMINAL, UNICODE))
    async with app.run_test(size=SIZE) as pilot:
        await test.over.wait()
        await pilot.pause()
    recorder.close(totals.result)
    if recorder.problem:
        raise SystemExit(recorder.problem)


def endure_real(seconds: float, connections: int) -> int:
    """Print the memory of loadtop's processes after each tenth of a real test; 1 if one grew after the first."""
    held: list[dict[int, float]] = []
    with contextlib.ExitStack() as servers, tempfile.TemporaryDirectory() as folder:
        nginx = NginxFactory(servers)(connections=connections + 100, slow_s=SLOW_S, keepalive_s=60)
        words = ("-k", "-c", str(connections), "-t", str(seconds), "--record", f"{folder}/real.loadtop")
        command = (sys.executable, "-m", "loadtop", "--headless", "-q", *words, nginx.slow_url)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL) as program:
            began = time.monotonic()
            for tenth in range(1, TENTHS + 1):
                last_s = 5.0 if tenth == TENTHS else 0.0  # its processes must be there still
                time.sleep(max(0.0, began + tenth * seconds / TENTHS - last_s - time.monotonic()))
                processes = [program.pid, *processes_below(program.pid)]
                held.append({pid: resident_mb(pid) for pid in processes})
                spent = 100.0 * cpu_seconds(processes) / (time.monotonic() - began)
                each = "  ".join(f"{mb:5.1f}" for mb in held[-1].values())
                print(f"{time.monotonic() - began:6.0f} s  {each} MB  {spent:4.1f} % of a core", flush=True)
    grown = max(mb - held[0].get(pid, 0.0) for later in held[1:] for pid, mb in later.items())
    print(f"memory of one process after the first tenth: {grown:+.1f} MB (at most {MOST_MB:.0f})")
    return int(grown > MOST_MB or program.returncode != 0)


def main() -> int:
    """Print the memory after each tenth; 1 if it grew after the first one."""
    parser = argparse.ArgumentParser(description="six hours of frames in minutes: does memory stay flat?")
    parser.add_argument("--hours", type=float, default=6.0)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--real", type=float, metavar="SECONDS", help="a real test of so long instead, 60 s at least")
    parser.add_argument("--connections", type=int, default=1000)
    options = parser.parse_args()
    if options.real:
        return endure_real(max(60.0, options.real), options.connections)
    frames = int(options.hours * 3600)
    held: list[float] = []
    began = time.monotonic()

    def note(number: int) -> None:
        if number % (frames // TENTHS) == 0 and len(held) < TENTHS:
            held.append(own_mb())
            print(f"{number:6d} frames  {held[-1]:7.1f} MB  {time.monotonic() - began:5.0f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(endure(frames, options.hosts, Path(folder), note))
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    grown = max(held[1:]) - held[0]
    print(f"recording {size / 1e6:.1f} MB; memory after the first tenth: {grown:+.1f} MB (at most {MOST_MB:.0f})")
    return int(grown > MOST_MB)


if __name__ == "__main__":
    sys.exit(main())
