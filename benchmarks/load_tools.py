"""Load tools, run once with the same number of connections: requests/s, their own CPU time, memory, latency."""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model import Distribution, LoadState
from loadtop.model.histogram import merge, percentile


class Load(Struct, frozen=True):
    """What is asked of a tool."""

    url: str
    requests: int
    concurrency: int
    keepalive: bool
    workers: int = 1

    def part(self, divisor: int) -> "Load":
        """The same with fewer requests, the same number for each connection."""
        return replace(self, requests=self.requests // divisor // self.concurrency * self.concurrency)


class Result(Struct, frozen=True):
    """What a tool did. CPU time is that of its whole processes, starting included; percentiles are in ms."""

    requests_s: float
    cpu_us: float
    memory_mb: float
    percentiles: tuple[float, ...] = ()


PERCENTS = (50, 90, 99)
SLOWNESS = {"hey": 3, "k6": 6}
"""How many times fewer requests these tools get, so that a round does not take minutes."""


def installed() -> list[str]:
    """The other tools on this machine; ab and wrk are a must."""
    for name in ("ab", "wrk"):
        if shutil.which(name) is None:
            raise SystemExit(f"this benchmark needs {name}: apt-get install apache2-utils wrk")
    return [name for name in ("ab", "wrk", "oha", "hey", "k6") if shutil.which(name) is not None]


def run_tool(name: str, load: Load) -> Result | None:
    """Run ``loadtop`` or another tool once; ``None`` where the tool cannot do this."""
    if name == "loadtop":
        return asyncio.run(_run_loadtop(load))
    if name == "wrk" and not load.keepalive:
        return None
    return _run_other(name, load.part(SLOWNESS.get(name, 1)))


async def _run_loadtop(load: Load) -> Result:
    step = Step(concurrency=load.concurrency, requests=load.requests)
    pool = LoadPool(Plan((Target.parse(load.url),), (step,), keepalive=load.keepalive, workers=load.workers))
    await pool.start()
    totals: list[Distribution] = []
    memory = 0.0
    while True:
        await asyncio.sleep(0.1)
        memory = max(memory, sum(peak_mb(pid) for pid in pool.pids))
        sample = pool.take()
        if sample is None:
            continue
        if sample.latencies is not None:
            totals.append(sample.latencies.total)
        if sample.state.ended:
            break
    await pool.close()
    if sample.state is not LoadState.DONE or sample.failed or sample.generator is None or not sample.requests:
        raise SystemExit(f"loadtop could not make this load: {sample.message or sample.failures}")
    total = merge(totals)
    return Result(
        sample.requests / sample.elapsed_s,
        sum(sample.generator.worker_cpu_s) / sample.requests * 1e6,
        memory,
        tuple(percentile(total, percent) / 1000 for percent in PERCENTS),
    )


def peak_mb(pid: int) -> float:
    """The most memory that a process has had so far; 0 where it is gone."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _run_other(name: str, load: Load) -> Result:
    with tempfile.TemporaryDirectory() as place:
        command = _command(name, load, Path(place))
        started = time.monotonic()
        with (Path(place) / "output").open("w+") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL)
            memory = 0.0
            while (ended := os.wait4(process.pid, os.WNOHANG))[0] == 0:
                # What wait4 says of memory includes this process, from which the tool was forked.
                memory = max(memory, peak_mb(process.pid))
                time.sleep(0.02)
            _, code, used = ended
            process.returncode = os.waitstatus_to_exitcode(code)
            seconds = time.monotonic() - started
            output.seek(0)
            text = output.read()
        if process.returncode:
            raise SystemExit(f"{name} could not make this load (exit code {process.returncode})")
        rate, requests = _rate(name, text, load, seconds)
        csv = Path(place) / "percentiles.csv"
        percentiles = ab_percentiles(csv.read_text()) if csv.exists() else ()
    return Result(rate, (used.ru_utime + used.ru_stime) / requests * 1e6, memory, percentiles)


def _command(name: str, load: Load, place: Path) -> list[str]:
    requests, concurrency = str(load.requests), str(load.concurrency)
    match name:
        case "ab":
            keep = ["-k"] if load.keepalive else []
            return ["ab", "-q", *keep, "-n", requests, "-c", concurrency, "-e", f"{place}/percentiles.csv", load.url]
        case "wrk":
            # wrk knows no number of requests; this is about as long as the others take.
            return [
                "wrk",
                "-t",
                str(load.workers),
                "-c",
                concurrency,
                "-d",
                f"{max(1, load.requests // 60_000)}s",
                load.url,
            ]
        case "oha":
            keep = [] if load.keepalive else ["--disable-keepalive"]
            return ["oha", "--no-tui", *keep, "-n", requests, "-c", concurrency, load.url]
        case "hey":
            keep = [] if load.keepalive else ["-disable-keepalive"]
            return ["hey", *keep, "-n", requests, "-c", concurrency, load.url]
        case _:
            script = place / "script.js"
            reuse = str(not load.keepalive).lower()
            script.write_text(
                "import http from 'k6/http';\n"
                f"export const options = {{noConnectionReuse: {reuse}, discardResponseBodies: true}};\n"
                f"export default function () {{ http.get('{load.url}'); }}\n"
            )
            return ["k6", "run", "--quiet", "--vus", concurrency, "--iterations", requests, str(script)]


_RATES = {
    "ab": r"Requests per second:\s+([\d.]+)",
    "wrk": r"Requests/sec:\s+([\d.]+)",
    "oha": r"Requests/sec:\s+([\d.]+)",
    "hey": r"Requests/sec:\s+([\d.]+)",
    "k6": r"http_reqs\D*\d+\s+([\d.]+)/s",
}


def _rate(name: str, text: str, load: Load, seconds: float) -> tuple[float, float]:
    """Requests per second, and how many requests there were."""
    found = re.search(_RATES[name], text)
    rate = float(found[1]) if found else load.requests / seconds
    if name == "wrk":
        made = re.search(r"(\d+) requests in", text)
        return rate, float(made[1]) if made else rate * seconds
    return rate, float(load.requests)


def ab_percentiles(text: str) -> tuple[float, ...]:
    """The percentiles of :data:`PERCENTS` in ms, from what ab writes with -e."""
    rows = dict(line.split(",") for line in text.splitlines()[1:])
    return tuple(float(rows[str(percent)]) for percent in PERCENTS)
