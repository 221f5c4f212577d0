"""What the generator promises, shown on real servers: ``python -m benchmarks.load_proofs [--only NAME]``.

It takes about five minutes.

counts       requests and bytes reported are those in the server's access log, over 100,000 requests of each kind
sleeping     20 requests to a page that sleeps 1 s behind a pool of 5 take 20, 10, 7, 5, 4 s at c = 1, 2, 3, 4, 5
memory       a million requests leave the worker's memory where it was
percentiles  p50, p90 and p99 are ab's, within 2 % or 0.1 ms, in alternating runs
stall        a server that stalls for 1 s every 5 s: the open model shows it in p99, the closed one does not
scaling      --workers auto: a worker that fills its core gets another, while a core is idle; no request is lost
"""

import argparse
import asyncio
import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Generator
from itertools import product
from math import ceil
from pathlib import Path

from benchmarks.load_servers import server
from benchmarks.load_tools import PERCENTS, ab_percentiles, peak_mb
from loadtop.generator.plan import Plan, Step, Target
from loadtop.generator.pool import LoadPool
from loadtop.model.histogram import percentile
from loadtop.pipeline.feed import StopLoad
from tests.loads.running import Run, run_load, until, until_requests
from tests.loads.scripted import OK, read_request, scripted
from tests.servers.apache import ApacheFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.program import find_program

MANY = 100_000
CHILDREN = 5
STALL_S, PERIOD_S = 1.0, 5.0


def main() -> int:
    """Run the proofs; 1 where one fails."""
    parser = argparse.ArgumentParser(description="show that the generator does what it promises")
    parser.add_argument("--only", choices=list(PROOFS), help="this proof alone")
    only: str | None = parser.parse_args().only
    held = True
    for name, proof in PROOFS.items():
        if only in (None, name):
            for line, right in asyncio.run(proof()):
                print(f"{name:<12} {line}: {'yes' if right else 'NO'}", flush=True)
                held &= right
    return 0 if held else 1


Shown = list[tuple[str, bool]]
"""What was measured, and whether it is right."""


@contextlib.contextmanager
def _apaches() -> Generator[ApacheFactory]:
    with contextlib.ExitStack() as servers:
        yield ApacheFactory(servers, FpmFactory(servers))


async def _counts() -> Shown:
    shown: Shown = []
    kinds = {"closed": Step(concurrency=16, requests=MANY), "open": Step(rate=5000, requests=MANY)}
    for (name, step), keepalive in product(kinds.items(), (True, False)):
        with _apaches() as apache:
            page = apache(workers=64, pages={"a.html": b"x" * 1024})
            plan = Plan((Target.parse(f"{page.url}a.html"),), (step,), keepalive=keepalive)
            run = await run_load(plan, within_s=120)
            logged = page.logged()
            sent = sum(each.sent_bytes for each in logged)
        kind = f"{name}, {'keep-alive' if keepalive else 'a connection per request'}"
        line = f"{kind}: {run.requests} requests, {len(logged)} logged; {run.last.received_bytes} bytes, {sent} logged"
        shown.append((line, run.requests == len(logged) == MANY and run.last.received_bytes == sent))
    return shown


async def _sleeping() -> Shown:
    shown: Shown = []
    with _apaches() as apache:
        page = apache(php="fpm", workers=64, fpm_children=CHILDREN, pages={"a.php": "<?php sleep(1); echo 'x';"})
        for concurrency in (1, 2, 3, 4, 5, 10, 20):
            step = Step(concurrency=concurrency, requests=20)
            run = await run_load(Plan((Target.parse(f"{page.url}a.php"),), (step,)), within_s=60)
            known = float(ceil(20 / min(concurrency, CHILDREN)))
            line = f"c={concurrency}: {run.last.elapsed_s:.3f} s where {known:.0f} s are right"
            shown.append((line, abs(run.last.elapsed_s - known) <= 0.02 * known))
    return shown


async def _memory() -> Shown:
    sizes: list[tuple[int, float]] = []

    async def watch(pool: LoadPool) -> None:
        while (sample := pool.take()) is None or not sample.state.ended:
            if sample is not None and pool.pids:
                sizes.append((sample.requests or 0, peak_mb(pool.pids[0])))
            await asyncio.sleep(0.1)

    with server("nginx") as url:
        plan = Plan((Target.parse(f"{url}1k.html"),), (Step(concurrency=32, requests=1_000_000),), keepalive=True)
        run = await run_load(plan, during=watch, within_s=120)
    early = next(size for requests, size in sizes if requests > MANY)
    late = max(size for _, size in sizes)
    line = f"{run.requests} requests: {early:.1f} MB at most until the first {MANY}, {late:.1f} MB until the last"
    return [(line, run.requests == 1_000_000 and late - early < 2)]


async def _percentiles() -> Shown:
    shown: Shown = []
    with _apaches() as apache:
        page = apache(mpm="prefork", php="mod", workers=12, keepalive_s=60, pages={"a.php": WAITING})
        for keepalive in (True, False):
            ours: list[tuple[float, ...]] = []
            abs_: list[tuple[float, ...]] = []
            for number in range(5):
                for tool in (0, 1) if number % 2 else (1, 0):
                    figures = abs_ if tool else ours
                    figures.append(await (_by_ab if tool else _by_loadtop)(f"{page.url}a.php", keepalive=keepalive))
            for place, percent in enumerate(PERCENTS):
                mine, other = (statistics.median(each[place] for each in figures) for figures in (ours, abs_))
                kind = "keep-alive" if keepalive else "a connection per request"
                line = f"{kind}: p{percent} {mine:.3f} ms, ab {other:.3f} ms ({mine / other - 1:+.2%})"
                shown.append((line, abs(mine - other) <= max(0.1, 0.02 * other)))
    return shown


WAITING = "<?php usleep(mt_rand(5000, 25000)); echo str_repeat('x', 1000);"
"""Evenly distributed times: percentiles of them differ little from run to run."""
CONCURRENCY, REQUESTS = 10, 3000


async def _by_loadtop(url: str, *, keepalive: bool) -> tuple[float, ...]:
    step = Step(concurrency=CONCURRENCY, requests=REQUESTS)
    run = await run_load(Plan((Target.parse(url),), (step,), keepalive=keepalive), within_s=60)
    return tuple(percentile(run.total, percent) / 1000 for percent in PERCENTS)


async def _by_ab(url: str, *, keepalive: bool) -> tuple[float, ...]:
    ab = find_program("ab", install="apt-get install apache2-utils")
    with tempfile.TemporaryDirectory() as place:
        csv = Path(place) / "percentiles.csv"
        words = [ab, "-q", *(["-k"] if keepalive else []), "-n", str(REQUESTS), "-c", str(CONCURRENCY)]
        command = [*words, "-e", str(csv), url]
        await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True, timeout=60)
        return ab_percentiles(csv.read_text())


async def _stall() -> Shown:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (await read_request(reader))[0]:
            left = PERIOD_S - time.monotonic() % PERIOD_S
            if left < STALL_S:
                await asyncio.sleep(left)
            writer.write(OK)

    runs: list[Run] = []
    async with scripted(handler=handle) as stalling:
        for step in (Step(rate=200, duration_s=4 * PERIOD_S), Step(concurrency=2, duration_s=4 * PERIOD_S)):
            plan = Plan((Target.parse(stalling.url),), (step,), keepalive=True)
            runs.append(await run_load(plan, within_s=60))
    opened, closed = percentile(runs[0].corrected, 99) / 1000, percentile(runs[1].total, 99) / 1000
    return [
        (f"open: p99 {opened:.0f} ms", opened > 900 * STALL_S),
        (f"closed: p99 {closed:.1f} ms", closed < 100 * STALL_S),
    ]


CHUNKS = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 5000 + b"0\r\n\r\n"
"""Always the same bytes for the server; thousands of chunks to take apart for the worker."""


async def _scaling() -> Shown:
    passed: list[float] = []

    async def watch(pool: LoadPool) -> None:
        await until_requests(pool, 1)
        with contextlib.suppress(AssertionError):
            passed.append(await until(lambda: len(pool.pids) > 1, 20))
        pool.command(StopLoad())

    async with scripted(CHUNKS) as cheap:
        step = Step(concurrency=8, duration_s=30)
        plan = Plan((Target.parse(cheap.url),), (step,), keepalive=True, more_workers=True)
        run = await run_load(plan, during=watch, within_s=60)
        served = len(cheap.heads)
    shares = () if run.last.generator is None else run.last.generator.worker_cpu_s
    after = f"one more after {passed[0]:.1f} s" if passed else "none more in 20 s"
    line = f"one full worker, the other core idle: {after}; {run.requests} requests, {served} served"
    return [(line, len(shares) == 2 and run.requests == served)]


PROOFS: dict[str, Callable[[], Coroutine[None, None, Shown]]] = {
    "counts": _counts,
    "sleeping": _sleeping,
    "memory": _memory,
    "percentiles": _percentiles,
    "stall": _stall,
    "scaling": _scaling,
}

if __name__ == "__main__":
    sys.exit(main())
