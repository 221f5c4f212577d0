"""What one machine generates with each engine: ``python -m benchmarks.engines [--rounds N] [--seconds S]``.

An nginx that answers 1 kB from its configuration, on as many processes as there are cores, runs on the same machine and
has to share it: what is left of the processors is printed too.
Figures are the medians of the rounds, with the least and the greatest in brackets, and the ratio to the built-in
generator of the same run. CPU time is that of the engine's own processes for each request (of Locust, as it
tells itself), from the first whole interval after the warm-up to the last.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from msgspec import Struct

from benchmarks.load_servers import server
from loadtop.model import LoadState
from loadtop.recording.reader import Session

CONCURRENCY = 32
WARM_S = 2
"""Java compiles in its first seconds, and Locust does not know its CPU time yet."""

ENGINES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("built-in", ()),
    ("built-in, --workers 2", ("--workers", "2")),
    ("Locust", ("--engine", "locust")),
    ("Locust, --workers 2", ("--engine", "locust", "--workers", "2")),
    ("JMeter", ("--engine", "jmeter")),
)


class Result(Struct, frozen=True):
    """``idle`` is percent of all cores, ``cpu_us`` CPU time of a request; what was not measured is ``None``."""

    requests_s: float
    idle: float | None
    cpu_us: float | None
    verdict: str


def main() -> int:
    """Print a table of each engine that is installed."""
    parser = argparse.ArgumentParser(description="measure what one machine generates with each engine")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="after a warm-up of two")
    parser.add_argument("--keepalive", choices=("yes", "no", "both"), default="both")
    options = parser.parse_args()
    programs = Path(sys.prefix)
    os.environ["PATH"] = f"{programs / 'engines' / 'bin'}:{programs / 'jmeter' / 'bin'}:{os.environ['PATH']}"
    engines = [
        (name, words) for name, words in ENGINES if not words or words[0] != "--engine" or shutil.which(words[1])
    ]
    for name, _ in set(ENGINES) - set(engines):
        print(f"{name}: not installed (make engines; JMeter: scripts/jmeter.sh)")
    cores = f"{os.cpu_count()} cores of {platform.machine()}"
    print(
        f"{cores}, c={CONCURRENCY}, {options.seconds} s, {options.rounds} rounds; requests/s, times the built-in's, "
        "idle, processor time of a request, limit"
    )
    with server("return") as url:
        for keepalive in {"yes": (True,), "no": (False,), "both": (True, False)}[options.keepalive]:
            print("with keep-alive" if keepalive else "without keep-alive")
            more = ("-k",) if keepalive else ()
            found: dict[str, list[Result]] = {name: [] for name, _ in engines}
            for _ in range(options.rounds):
                for name, words in engines:
                    times = ("-t", str(options.seconds), "--warmup", str(WARM_S))
                    found[name].append(_run((*words, *more, *times), f"{url}1k.html"))
            against = statistics.median(result.requests_s for result in found[engines[0][0]])
            for name, results in found.items():
                print(f"  {name:<22} {_line(results, against)}", flush=True)
    return 0


def _run(words: tuple[str, ...], url: str) -> Result:
    with tempfile.TemporaryDirectory() as place:
        recording, summary = Path(place) / "run.loadtop", Path(place) / "summary.json"
        files = ("--record", str(recording), "--json", str(summary))
        command = [sys.executable, "-m", "loadtop", "-q", *files, "-c", str(CONCURRENCY), *words, url]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
        said = json.loads(summary.read_text())
        (host,) = said["hosts"]
        idle = host["cpu"]["idle"]
        verdict = said["verdict"]["bottleneck"]
        return Result(said["load"]["rps"], None if idle is None else idle["mean"], _cpu_us(recording), verdict)


def _cpu_us(recording: Path) -> float | None:
    """CPU time of the engine's processes for each request while the load ran; of two intervals at least."""
    with Session(recording) as session:
        loads = [frame.load for frame in session.frames() if frame.load is not None]
    running = [
        (sum(load.generator.worker_cpu_s), load.requests)
        for load in loads
        if load.state is LoadState.RUNNING and load.generator is not None and load.requests
    ]
    if len(running) < 2 or running[-1][1] == running[0][1]:
        return None
    (cpu_s, requests), (cpu_s_then, requests_then) = running[0], running[-1]
    return 1e6 * (cpu_s_then - cpu_s) / (requests_then - requests)


def _line(results: list[Result], against: float) -> str:
    rates = [result.requests_s for result in results]
    verdicts = ", ".join(sorted({result.verdict for result in results}))
    spread = f"{statistics.median(rates):8.0f} ({min(rates):.0f} to {max(rates):.0f})"
    idle, cpu_us = (_median(values) for values in zip(*((r.idle, r.cpu_us) for r in results), strict=True))
    return f"{spread:<28} {statistics.median(rates) / against:5.2f}  {idle:>5} %  {cpu_us:>6} µs  {verdicts}"


def _median(values: tuple[float | None, ...]) -> str:
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f}" if known else "-"


if __name__ == "__main__":
    sys.exit(main())
