"""Calm loads on real servers for as long as is wanted: no limit may be named in them.

``LOADTOP_LAB_CALM_S`` are the seconds of all runs in sum: an hour for `make lab-calm`, two minutes for `make lab`. The
servers are loaded side by side. What is said while the kernel's counters show full processors is no false alarm:
something else was at work on the machine.
"""

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from msgspec import Struct

from tests.lab import test_dependencies as shops
from tests.lab.case import Bench
from tests.lab.counters import Change, Counters
from tests.lab.load import Run, watch_load
from tests.lab.pages import SHORTLY
from tests.lab.table import Report, Result

CALM_S = int(os.environ.get("LOADTOP_LAB_CALM_S", "120"))
PAGES = {"page.php": SHORTLY, "page.html": "x" * 3400}
BUSY_S, IDLE = 5.0, 15.0
"""Seconds before an alarm in which less than this percentage of idle time explains it."""

pytestmark = [
    pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.full,
    pytest.mark.timeout(CALM_S + 120),
]  # fmt: skip


class Calm(Struct, frozen=True):
    """A server that is loaded with ``rate`` requests/s, far from any limit."""

    name: str
    rate: int
    url: str
    watch: tuple[str, ...]


def static(bench: Bench) -> Calm:
    server = bench.apache(mpm="prefork", workers=12, pages=PAGES)
    return Calm("static", 40, f"{server.url}page.html", ("--apache", server.status_url))


def half_full(bench: Bench) -> Calm:
    """6 of 12 slots are busy on average."""
    server = bench.apache(mpm="prefork", php="mod", workers=12, pages=PAGES)
    return Calm("half of its slots", 100, f"{server.url}page.php", ("--apache", server.status_url))


def behind_event(bench: Bench) -> Calm:
    """3 of 12 children are busy on average."""
    server = bench.apache(mpm="event", php="fpm", workers=25, pages=PAGES, fpm_children=12)
    watch = ("--apache", server.status_url, "--fpm", server.fpm_status_url)
    return Calm("event and php-fpm", 50, f"{server.url}page.php", watch)


def behind_haproxy(bench: Bench) -> Calm:
    """2.4 of 12 slots, on two servers, are busy on average."""
    servers = [bench.apache(mpm="prefork", php="mod", workers=12, pages=PAGES) for _ in range(2)]
    proxy = bench.haproxy([server.port for server in servers], maxconn=6)
    return Calm("HAProxy", 40, f"{proxy.url}page.php", ("--haproxy", proxy.stats_url))


def with_databases(bench: Bench) -> Calm:
    """1.5 of 12 slots are busy on average, and each request asks three databases."""
    first, second, third = shops.shop(bench), shops.postgresql_shop(bench), bench.redis()
    updates = shops.mysql_page(first, shops.MYSQL_UPDATE), shops.postgresql_page(second, shops.ROWS)
    pages = {"page.php": "\n?>".join((*updates, shops.redis_page(third)))}
    server = bench.apache(mpm="prefork", php="mod", workers=12, pages=pages, extensions=(*shops.MYSQLI, "pgsql"))
    watch = "--apache", server.status_url, "--mysql", str(first.unix_socket), "--redis", third.address
    return Calm("databases", 30, f"{server.url}page.php", watch)


BUILDS: tuple[Callable[[Bench], Calm], ...] = (static, half_full, behind_event, behind_haproxy, with_databases)
EACH_S = CALM_S // len(BUILDS)


def test_a_calm_load_has_no_alarm(tmp_path: Path, report: Report) -> None:
    with contextlib.ExitStack() as stack, Counters() as counters:
        stands = [build(Bench(stack)) for build in BUILDS]
        with ThreadPoolExecutor(len(stands)) as threads:
            runs = list(threads.map(partial(load, tmp_path), stands))
    false: list[str] = []
    for stand, run in zip(stands, runs, strict=True):
        alarms = begun(run)
        wrong = [(at, said) for at, said in alarms if not (said == "cpu" and is_busy(counters, at))]
        false += [f"{stand.name} after {at - run.first_line:.0f} s: {said}" for at, said in wrong]
        name = f"{EACH_S} s {stand.name}: {len(alarms)} alarms"
        report(Result(name, "none", wrong[0][1] if wrong else "none", None))
        assert len(run.verdicts) >= 0.9 * EACH_S, f"{stand.name}: hardly anything was said at all"
        assert run.summary["load"]["failed"] == 0
    assert not false, false


def load(directory: Path, stand: Calm) -> Run:
    """The stand's load, in a directory of its own."""
    own = directory / stand.name
    own.mkdir()
    options = ("--rate", str(stand.rate), "-t", str(EACH_S), *stand.watch)
    return watch_load(stand.url, options, directory=own, seconds=EACH_S)


def begun(run: Run) -> list[tuple[float, str]]:
    """Each verdict but ``none`` when it was first said, on the monotonic clock."""
    before = "none"
    found: list[tuple[float, str]] = []
    for at, said in run.verdicts:
        if said not in ("none", before):
            found.append((at, said))
        before = said
    return found


def is_busy(counters: Counters, at: float) -> bool:
    """Whether the processors were full for a while before that moment."""
    shortly = [reading for reading in counters.readings if at - BUSY_S <= reading.at <= at]
    later = shortly[len(shortly) // 2 :]
    return len(later) > 1 and Change.between(later[0], later[-1]).idle < IDLE
