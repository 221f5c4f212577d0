"""What a recording costs: bytes and CPU time per frame, and how long opening, jumping and reading take.

The frames are made, not measured: a generator, a proxy, two web servers with 64 httpd processes each and a database.
``--hours 24`` makes the recording of a whole day (a quarter of an hour's work); with ``--keep FILE`` it stays, and is
measured as it is the next time. At the end, loadtop, sadc and atop watch this machine for a minute side by side.
"""

import argparse
import asyncio
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.made_frames import made_frames
from loadtop.analysis.totals.totals import Totals
from loadtop.pipeline.snapshot import Pipeline
from loadtop.recording.container import SessionMeta
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Writer

SADC = ("/usr/lib/sysstat/sadc", "/usr/lib64/sa/sadc")
JUMPS = 100
"""To moments drawn at random."""

BESIDE_S = 60
"""How long other recorders run beside loadtop; what they write is scaled to an hour."""


def write(path: Path, seconds: int, hosts: int, rps: int) -> None:
    """Write the recording and print what it cost."""
    writer = Writer(path, SessionMeta(1.8e9, ("loadtop", "-c", "64"), "http://web1/index.php", "0.1.0", 1.0))
    pipeline, totals = Pipeline(), Totals("http://web1/index.php", ("-c", "64"))
    empty = path.stat().st_size
    spent = real = 0.0
    for frame, _ in zip(made_frames(hosts, rps), range(seconds), strict=False):
        snapshot = pipeline.snapshot(frame)
        totals.add(snapshot)
        cpu, wall = time.process_time(), time.perf_counter()
        writer.take(snapshot)
        writer.write()
        spent += time.process_time() - cpu
        real += time.perf_counter() - wall
    writer.add_result(totals.result())
    writer.close()
    size = path.stat().st_size
    each = (size - empty) / seconds
    print(f"{hosts} hosts, {seconds} frames: {size / 1e6:.1f} MB ({empty / 1e3:.0f} kB of it when empty)")
    print(f"  {each:.0f} bytes per frame; 24 h at 1 s: {each * 86400 / 1e6:.0f} MB (goal 300)")
    print(
        f"  {1000 * spent / seconds:.2f} ms processor time per frame: {100 * spent / seconds:.2f} % of a core at 1 s "
        f"(goal for each host 0.1 %); {1000 * real / seconds:.2f} ms elapsed"
    )


def read(path: Path, seconds: int) -> None:
    """Read the recording back and print how long that takes."""
    forget(path)
    began = time.perf_counter()
    session = Session(path)
    duration = session.duration
    print(f"  opened in {1000 * (time.perf_counter() - began):.1f} ms, not cached (goal 1000)")
    draw = random.Random(3)  # noqa: S311 - no secret
    for words, cold in (("", False), (", not cached", True)):
        times: list[float] = []
        for _ in range(JUMPS):
            if cold:
                forget(path)
            began = time.perf_counter()
            next(session.frames(session.index(draw.uniform(0, duration))))
            times.append(time.perf_counter() - began)
        print(f"  {told('a frame anywhere', times)} (goal 100){words}")
    began = time.perf_counter()
    count = sum(1 for _, frame in zip(range(min(seconds, 3600)), session.frames(), strict=False) if frame.load)
    passed = time.perf_counter() - began
    print(
        f"  read at {1000 * passed / count:.2f} ms per frame; peak memory "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB (goal 300); damage: {session.damage}"
    )
    session.close()
    for words, cold in (("", False), (", not cached", True)):
        with Session(path) as session:
            times = asyncio.run(jump(session, duration, cold=cold))
        print(f"  {told('a jump of a replay', times)} (goal 100), the first in {1000 * times[0]:.0f} ms{words}")


def told(what: str, times: list[float]) -> str:
    return (
        f"{what} in {1000 * sum(times) / len(times):.0f} ms, the slowest of {len(times)} in {1000 * max(times):.0f} ms"
    )


def forget(path: Path) -> None:
    """Have the system read the file from its disk the next time."""
    with path.open("rb") as file:
        os.fdatasync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


async def jump(session: Session, duration: float, *, cold: bool) -> list[float]:
    """Jump about in the recording as the cockpit does: seconds until there is a picture, for each jump."""
    player = SessionPlayer(session, stay=True)
    player.playing = False
    shown = asyncio.Event()
    task = asyncio.create_task(player.run(lambda _: shown.set()))
    draw = random.Random(4)  # noqa: S311 - no secret
    times: list[float] = []
    for _ in range(JUMPS // 2):
        if cold:
            forget(session.path)
        began = time.perf_counter()
        shown.clear()
        player.seek(draw.uniform(0, duration))
        await shown.wait()
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    task.cancel()
    return times


def report(path: Path) -> None:
    """Print how long reports and a comparison take and how much memory, from start to end."""
    with tempfile.TemporaryDirectory() as folder:
        page, figures = Path(folder) / "page.html", Path(folder) / "figures.json"
        one = ["report", str(path)]
        for words in (
            [*one, "--text"],
            [*one, "--markdown"],
            [*one, "--html", str(page)],
            [*one, "--json", str(figures)],
            ["compare", str(path), str(path), "--json", str(figures)],
        ):
            began = time.perf_counter()
            command = [sys.executable, "-m", "loadtop", *words]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
                _, status, used = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
            passed = time.perf_counter() - began
            what = "comparison with itself" if words[0] == "compare" else f"report {words[2]}"
            print(
                f"  {what} in {passed:.1f} s (goal for a report of 24 h: 20), {used.ru_maxrss / 1024:.0f} MB "
                f"(goal 300), exit code {child.returncode}"
            )


def beside() -> None:
    """Watch this machine with loadtop, sadc and atop at once, and print what each writes in an hour."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        commands = {
            "loadtop": [sys.executable, "-m", "loadtop", "watch", "--headless", "-q", "--host", "here=local"],
            "sadc": [_found("sadc", *SADC), "1", str(BESIDE_S + 1), str(place / "sadc")],
            "sadc -S XALL": [_found("sadc", *SADC), "-S", "XALL", "1", str(BESIDE_S + 1), str(place / "sadc -S XALL")],
            "atop": [_found("atop"), "-w", str(place / "atop"), "1", str(BESIDE_S + 1)],
        }
        commands["loadtop"] += ["-t", str(BESIDE_S), "--record", str(place / "loadtop")]
        there = {name: command for name, command in commands.items() if command[0]}
        children = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in there.values()]
        for child in children:
            child.wait()
        print(f"this machine, watched for {BESIDE_S} s by all at once; an hour is {3600 // BESIDE_S} times that:")
        for name in commands:
            if name not in there:
                print(f"  {name:14} not installed")
                continue
            size = (place / name).stat().st_size
            # An empty recording has a page for each table, which a minute does not fill.
            once, grown = (0, size) if name != "loadtop" else (size, _held(place / name))
            print(f"  {name:14} {(once + grown * 3600 / BESIDE_S) / 1e6:.1f} MB ({grown / 1e3:.0f} kB in the minute)")


def _held(path: Path) -> int:
    """Bytes of the rows that grow with time, where SQLite was built to tell; else the file's size."""
    query = "SELECT sum(payload) FROM dbstat WHERE name NOT IN ('sqlite_schema', 'totals')"
    connection = sqlite3.connect(path)
    try:
        (held,) = connection.execute(query).fetchone()
    except sqlite3.OperationalError:
        return path.stat().st_size
    finally:
        connection.close()
    return int(held)


def _found(name: str, *places: str) -> str:
    """Where a program is; empty where it is not installed."""
    return shutil.which(name) or next((place for place in places if Path(place).exists()), "")


def tables(path: Path, seconds: int) -> None:
    """Print where the bytes are, where SQLite was built to tell."""
    connection = sqlite3.connect(path)
    try:
        query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 16"
        for name, size in connection.execute(query):
            print(f"    {name:20} {size / seconds:8.1f} bytes per frame")
    except sqlite3.OperationalError as error:
        print(f"    no sizes by table: {error}")
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=0.25)
    parser.add_argument("--hosts", type=int, default=0, help="1 to 5 (default: one run with 1, one with 5)")
    parser.add_argument("--rps", type=int, default=500)
    parser.add_argument("--tables", action="store_true", help="print where the bytes are")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where the recording stays, or is already")
    parser.add_argument("--alone", action="store_true", help="without the recorders of others")
    arguments = parser.parse_args()
    seconds = max(1, round(arguments.hours * 3600))
    for hosts in (arguments.hosts,) if arguments.hosts else (1, 5):
        with tempfile.TemporaryDirectory() as folder:
            path = arguments.keep or Path(folder) / "made.loadtop"
            if not path.exists():
                write(path, seconds, hosts, arguments.rps)
            read(path, seconds)
            report(path)
            if arguments.tables:
                tables(path, seconds)
    if not arguments.alone:
        beside()


if __name__ == "__main__":
    main()
