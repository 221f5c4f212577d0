"""Real servers driven into a known limit, proven by kernel counters and the server's log, then named by loadtop."""

import contextlib
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import Struct

from tests.lab.case import kept_as
from tests.lab.counters import Change, Counters
from tests.lab.load import Run, Span, run_ab, run_loadtop
from tests.lab.memory import memory_group, swap_file
from tests.lab.pages import ALLOCATING
from tests.lab.table import Report, Result
from tests.servers.apache import Apache, ApacheFactory, Mpm, Php

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(180)]

PROOF_S, RUN_S = 4, 10
SWAP_MB, GROUP_MB = 512, 96
MOST_SECONDS_TO_VERDICT = 8.0

COMPUTING = "<?php $until = hrtime(true) + 15e6; while (hrtime(true) < $until) { sqrt(2); } echo 'computed';"
WAITING = "<?php usleep(200000); echo 'waited';"
CHEAP = "<?php usleep(40000); echo 'waited a little';"


class Scenario(Struct, frozen=True):
    """A server, a page and a number of connections; what must be the limit, which evidence must name it, and how the
    counters of a period show that it has started (``None``: it begins with the load)."""

    name: str
    expected: str
    evidence: str
    page: str
    workers: int
    concurrency: int
    mpm: Mpm = "prefork"
    php: Php = "mod"
    little_memory: bool = False
    begins: Callable[[Change], bool] | None = None


def computes(change: Change) -> bool:
    return change.idle + change.iowait < 10


def swaps(change: Change) -> bool:
    return change.swap_in_kb_s > 1000 and change.swap_out_kb_s > 1000


SCENARIOS = [
    Scenario("computing PHP, prefork", "cpu", "cpu.busy_pct", COMPUTING, 20, 8, begins=computes),
    Scenario(
        "computing PHP, event and php-fpm", "cpu", "cpu.busy_pct", COMPUTING, 25, 6, "event", "fpm", begins=computes
    ),
    Scenario("4 workers, waiting page, prefork", "apache-workers", "apache.full_pct", WAITING, 4, 12),
    Scenario("4 workers, waiting page, event", "apache-workers", "apache.full_pct", WAITING, 4, 12, "event", "fpm"),
    Scenario(
        "allocating PHP in 96 MB, prefork", "swap", "swap.in_kb_s", ALLOCATING, 12, 8, little_memory=True, begins=swaps
    ),
    Scenario("one request at a time", "none", "cpu.busy_pct", CHEAP, 20, 1),
]


@pytest.fixture(params=SCENARIOS, ids=lambda scenario: scenario.name)
def scenario(request: pytest.FixtureRequest) -> Scenario:
    found: Scenario = request.param
    return found


@pytest.fixture
def server(scenario: Scenario, servers: contextlib.ExitStack, apache: ApacheFactory) -> Apache:
    """The scenario's server; the swap and the control group, where it has them, outlive it by a moment."""
    launcher: list[str] = []
    if scenario.little_memory:
        servers.enter_context(swap_file(SWAP_MB))
        launcher = servers.enter_context(memory_group(GROUP_MB)).launcher
    return apache(
        mpm=scenario.mpm,
        php=scenario.php,
        workers=scenario.workers,
        pages={"page.php": scenario.page},
        launcher=launcher,
    )


def test_names_the_limit(scenario: Scenario, server: Apache, tmp_path: Path, report: Report) -> None:
    url = f"{server.url}page.php"
    with Counters() as counters:
        span = run_ab(url, concurrency=scenario.concurrency, seconds=PROOF_S)
    prove(scenario, server, counters, span)

    with Counters() as counters:
        run = run_loadtop(
            url, server.status_url, concurrency=scenario.concurrency, seconds=RUN_S, directory=tmp_path,
            keep=kept_as(scenario.expected, scenario.name),
        )  # fmt: skip
    seconds = seconds_to_verdict(scenario, server, counters, run)
    report(Result(scenario.name, scenario.expected, run.bottleneck, seconds))

    assert run.bottleneck == scenario.expected, run.summary["timeline"]
    evidence = {entry["metric"]: entry for entry in run.summary["verdict"]["evidence"]}
    assert scenario.evidence in evidence
    assert all(entry["source"] and entry["unit"] for entry in evidence.values())
    assert run.summary["load"]["failed"] == 0
    assert seconds is None or seconds <= MOST_SECONDS_TO_VERDICT
    agrees_with_the_kernel(run, counters)


def prove(scenario: Scenario, server: Apache, counters: Counters, span: Span) -> None:
    """The limit is what the scenario says, seen without loadtop."""
    change = counters.between(span.began + 1.0, span.ended)
    if scenario.expected == "cpu":
        assert computes(change), change
        assert not swaps(change)
    elif scenario.expected == "apache-workers":
        assert change.idle > 50, change
        assert mean_in_service(server) == pytest.approx(scenario.workers, rel=0.25)
    elif scenario.expected == "swap":
        assert swaps(change), change
    else:
        assert change.idle > 50, change
        assert not swaps(change)
        assert mean_in_service(server) < scenario.workers / 4


def mean_in_service(server: Apache) -> float:
    """How many requests were served at the same time, on average: durations over elapsed time (Little's law)."""
    served = [entry for entry in server.logged() if ".php" in entry.line]
    began = min(entry.at for entry in served)
    ended = max(entry.at + entry.took_us / 1e6 for entry in served)
    return sum(entry.took_us for entry in served) / 1e6 / (ended - began)


def seconds_to_verdict(scenario: Scenario, server: Apache, counters: Counters, run: Run) -> float | None:
    """From the first sign of the limit (or of the load) to the first line that names it; ``None`` for ``none``."""
    said = run.said_at(scenario.expected)
    if scenario.expected == "none" or said is None:
        return None
    if scenario.begins is not None:
        return said - next(at for at, change in counters.changes() if scenario.begins(change))
    since_epoch = time.time() - time.monotonic()
    began = min(entry.at for entry in server.logged() if entry.at - since_epoch >= run.span.began)
    return said - (began - since_epoch)


def agrees_with_the_kernel(run: Run, counters: Counters) -> None:
    """loadtop's means over the run are those of the counters, within what differing periods allow."""
    inside = counters.between(run.first_line, run.first_line + RUN_S)
    host = run.summary["hosts"][0]
    assert host["cpu"]["idle"]["mean"] == pytest.approx(inside.idle, abs=12)
    if inside.swap_in_kb_s > 1000:
        assert host["swap"]["in_kb_s"]["mean"] == pytest.approx(inside.swap_in_kb_s, rel=0.5)


def test_the_status_page_agrees_about_the_pool(apache: ApacheFactory) -> None:
    """The proof by the access log, proven once by the scoreboard itself."""
    server = apache(mpm="prefork", php="mod", workers=4, pages={"page.php": WAITING})
    run_ab(f"{server.url}page.php", concurrency=4, seconds=PROOF_S)
    assert mean_in_service(server) == pytest.approx(4, rel=0.25)
    with urllib.request.urlopen(f"{server.status_url}?auto", timeout=5) as response:
        scoreboard = response.read().decode().split("Scoreboard: ")[1].split()[0]
    assert len(scoreboard) == 4
