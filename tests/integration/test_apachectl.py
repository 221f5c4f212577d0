"""What we read of an Apache beside what its own ``apachectl status`` prints (Debian's: a browser can be named)."""

import os
import re
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from msgspec import Struct

from collectors.apache.collector import parse
from loadtop.rates.compute import server_rates
from loadtop.servers.apache.record import ApacheStatus
from tests.loads.program import wait_until
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.program import find_program
from tests.servers.reference import APACHE, Reference

HELD, WORKERS, REQUESTS = 2, 6, 40
BROWSER = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())"
HOLDING = "<?php while (!file_exists(__DIR__ . '/go')) { usleep(10000); clearstatcache(); } echo 'gone';"


class Printed(Struct, frozen=True):
    """The figures of ``apachectl status``. The rate is that since the start, 0 in the first second."""

    busy: int
    idle: int
    accesses: int
    per_second: float


class Control:
    """Runs ``apachectl status`` for a server, with directories of its own."""

    def __init__(self, reference: Reference, server: Apache, place: Path) -> None:
        reference.program("apache2")  # whose script it is
        browser, variables = place / "browser.py", place / "envvars"
        browser.write_text(BROWSER)
        (place / "run" / "socks").mkdir(parents=True)
        (place / "lock").mkdir()
        variables.write_text(f"export APACHE_RUN_DIR={place}/run APACHE_LOCK_DIR={place}/lock\n")
        self._command = [find_program("apachectl", install=APACHE), "status"]
        self._environment = {
            "PATH": os.environ["PATH"],
            "APACHE_ENVVARS": str(variables),
            "APACHE_LYNX": f"{sys.executable} {browser}",
            "APACHE_STATUSURL": server.status_url,
        }

    def status(self) -> Printed:
        done = subprocess.run(self._command, env=self._environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        busy, idle = self._figures(r"(\d+) requests currently being processed.* (\d+) idle workers", done.stdout)
        (accesses,) = self._figures(r"Total accesses: (\d+)", done.stdout)
        per_second = re.search(r"([\d.]+) requests/sec", done.stdout)
        return Printed(int(busy), int(idle), int(accesses), float(per_second[1]) if per_second else 0.0)

    def _figures(self, pattern: str, text: str) -> tuple[str, ...]:
        found = re.search(pattern, text)
        assert found is not None, (pattern, text)
        return found.groups()


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as page:
        text: str = page.read().decode()
    return text


def read(server: Apache) -> ApacheStatus:
    return parse(fetch(f"{server.status_url}?auto"), server.status_url)


@pytest.fixture
def server(apache: ApacheFactory) -> Apache:
    return apache(mpm="prefork", php="mod", workers=WORKERS, pages={"a.html": "x", "hold.php": HOLDING})


def test_workers_that_are_busy_and_idle(server: Apache, reference: Reference, tmp_path: Path) -> None:
    control = Control(reference, server, tmp_path)
    expected = (HELD + 1, WORKERS - HELD - 1)  # the page itself takes a worker
    held = [threading.Thread(target=fetch, args=(f"{server.url}hold.php",)) for _ in range(HELD)]
    for each in held:
        each.start()
    try:  # a worker may still close the connection of the page before
        assert wait_until(lambda: ((printed := control.status()).busy, printed.idle) == expected)
        assert wait_until(lambda: ((ours := read(server)).busy, ours.idle) == expected)
    finally:
        (server.documents / "go").touch()
        for each in held:
            each.join()


def test_requests_and_their_rate(server: Apache, reference: Reference, tmp_path: Path) -> None:
    control = Control(reference, server, tmp_path)
    assert wait_until(lambda: (read(server).uptime_s or 0) > 0)  # before, apachectl prints no rate
    first, printed_first = read(server), control.status()
    for _ in range(REQUESTS):
        fetch(f"{server.url}a.html")
    printed, last = control.status(), read(server)
    assert first.accesses is not None
    assert last.accesses is not None
    # Apache counts a request just after its answer, so one may be missing.
    pages = printed.accesses - printed_first.accesses
    assert pages == pytest.approx(REQUESTS + 1, abs=1)
    assert last.accesses - printed.accesses == pytest.approx(1, abs=1)
    (rates,) = server_rates((first,), (last,), seconds=2.0)
    assert rates.per_second["accesses"] == pytest.approx((pages + 2) / 2.0, abs=1)
    assert (first.uptime_s or 0) - 1 <= printed.accesses / printed.per_second <= (last.uptime_s or 0) + 1
