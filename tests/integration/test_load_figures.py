"""The figures of our generator beside those of ab and wrk, for the same page of the same server.

The page sleeps for 20 ms: what a request takes is the page's and hardly the machine's, so the three may run one after
the other. Where they differ by more than a sixth, one of them does not measure what it says.
"""

import re
import subprocess

import pytest

from loadtop.model.histogram import mean, percentile
from tests.loads.running import Run, plan, run_load
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.reference import Reference

pytestmark = pytest.mark.quiet("compares requests/s of one moment with those of another")

CONCURRENCY, REQUESTS, SECONDS = 4, 240, 2
CLOSE = 1 / 6


@pytest.fixture
def server(apache: ApacheFactory) -> Apache:
    page = "<?php usleep(20000); echo str_repeat('x', 1000);"
    return apache(mpm="prefork", php="mod", workers=2 * CONCURRENCY, pages={"page.php": page})


def run(*command: str) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def figure(printed: str, pattern: str) -> float:
    found = re.search(pattern, printed, re.MULTILINE)
    assert found is not None, (pattern, printed)
    return float(found[1])


def rps(of: Run) -> float:
    return of.requests / of.last.elapsed_s


async def test_ab(server: Apache, reference: Reference) -> None:
    url = f"{server.url}page.php"
    ours = await run_load(plan(url, requests=REQUESTS, concurrency=CONCURRENCY, keepalive=False))
    sent = len(server.logged())
    theirs = run(reference.program("ab"), "-q", "-n", str(REQUESTS), "-c", str(CONCURRENCY), url)
    assert sent == ours.requests == len(server.logged()) - sent == figure(theirs, r"^Complete requests:\s+(\d+)")
    assert ours.failures.total == figure(theirs, r"^Failed requests:\s+(\d+)") == 0
    assert ours.last.body_bytes == figure(theirs, r"^HTML transferred:\s+(\d+)")
    assert rps(ours) == pytest.approx(figure(theirs, r"^Requests per second:\s+([\d.]+)"), rel=CLOSE)
    assert mean(ours.total) / 1000 == pytest.approx(figure(theirs, r"^Total:\s+\d+\s+(\d+)"), rel=CLOSE, abs=1.0)
    for percent in (50, 75):
        theirs_ms = figure(theirs, rf"^\s+{percent}%\s+(\d+)$")
        assert percentile(ours.total, percent) / 1000 == pytest.approx(theirs_ms, rel=CLOSE, abs=1.0)


async def test_wrk(server: Apache, reference: Reference) -> None:
    url = f"{server.url}page.php"
    ours = await run_load(plan(url, seconds=SECONDS, concurrency=CONCURRENCY, keepalive=True))
    theirs = run(reference.program("wrk"), "-t1", f"-c{CONCURRENCY}", f"-d{SECONDS}s", "--latency", url)
    assert rps(ours) == pytest.approx(figure(theirs, r"^Requests/sec:\s+([\d.]+)"), rel=CLOSE)
    for percent in (50, 75):
        theirs_ms = figure(theirs, rf"^\s+{percent}%\s+([\d.]+)ms$")
        assert percentile(ours.total, percent) / 1000 == pytest.approx(theirs_ms, rel=CLOSE)
