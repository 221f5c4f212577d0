"""Full pools and queues on an idle machine: php-fpm, HAProxy, nginx, the accept queue, a lock."""

import contextlib
import csv
import io
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.lab.case import RUN_S, Bench, Build, Case, Proof, Stand, judge, marked, over_ssh
from tests.lab.load import served_by_ab
from tests.lab.pages import SHORTLY, TOGETHER, WAITING, locked
from tests.lab.table import Report
from tests.servers.haproxy import Haproxy

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]


def waits_at(place: int | Path) -> float:
    """Connections in the accept queue of a port or a unix socket, as ``ss`` prints them."""
    chosen = ["-t", f"sport = :{place}"] if isinstance(place, int) else ["-x", "src", str(place)]
    done = subprocess.run(["ss", "-OlnH", *chosen], capture_output=True, text=True, check=True)
    return float(sum(int(line.split("LISTEN")[1].split()[0]) for line in done.stdout.splitlines()))


def queued_in(haproxy: Haproxy) -> float:
    """Requests that have queued in the backend at most, by HAProxy's own statistics."""
    with urllib.request.urlopen(f"{haproxy.stats_url};csv", timeout=5) as response:
        rows = csv.DictReader(io.StringIO(response.read().decode().removeprefix("# ")))
        return float(next(row["qmax"] for row in rows if (row["pxname"], row["svname"]) == ("be", "BACKEND")))


def overflows() -> float:
    """Connections that found an accept queue full since boot."""
    names, values = (line.split() for line in Path("/proc/net/netstat").read_text().splitlines()[:2])
    return float(dict(zip(names, values, strict=True))["ListenOverflows"])


def fpm(children: int, page: str) -> Build:
    """Apache before a php-fpm pool of few children."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.apache(
            mpm="event", php="fpm", workers=25, pages={"page.php": page}, fpm_children=24 if lifted else children
        )
        assert server.fpm is not None
        port = server.fpm.port or 0
        return Stand(
            f"{server.url}page.php",
            ("--apache", server.status_url, "--fpm", server.fpm_status_url),
            sign=lambda: waits_at(port),
        )

    return build


def gunicorn(workers: int) -> Build:
    """gunicorn with synchronous workers."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.gunicorn(workers=24 if lifted else workers)
        return Stand(server.url, sign=lambda: waits_at(server.port or 0))

    return build


def uwsgi(workers: int) -> Build:
    """uWSGI with its HTTP router, which asks the workers at a unix socket."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.uwsgi(workers=24 if lifted else workers)
        return Stand(server.url, sign=lambda: waits_at(server.workers))

    return build


def haproxy(servers: int, maxconn: int) -> Build:
    """HAProxy that lets few requests at once to each of its servers, which could serve more."""

    def build(bench: Bench, lifted: bool) -> Stand:
        apaches = [
            bench.apache(mpm="prefork", php="mod", workers=20, pages={"page.php": WAITING}) for _ in range(servers)
        ]
        proxy = bench.haproxy([apache.port for apache in apaches], maxconn=None if lifted else maxconn)
        return Stand(f"{proxy.url}page.php", ("--haproxy", proxy.stats_url), sign=lambda: queued_in(proxy))

    return build


def nginx(connections: int) -> Build:
    """nginx with few connections for pages that take 50 ms. Its error log names every connection that it closes."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.nginx(connections=512 if lifted else connections, slow_s=0.05)
        return Stand(server.slow_url, ("--nginx", server.status_url), sign=lambda: float(server.dropped()))

    return build


def small_backlog(workers: int, page: str) -> Build:
    """Apache with workers enough whose accept queue holds one connection."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.apache(
            mpm="prefork", php="mod", workers=workers, pages={"page.php": page}, keepalive_s=0,
            extra="ListenBacklog 511" if lifted else "ListenBacklog 1",
        )  # fmt: skip
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), sign=overflows)

    return build


def lock(locks: int) -> Build:
    """Requests that wait for one another's lock: nothing that is watched is full."""

    def build(bench: Bench, lifted: bool) -> Stand:
        server = bench.apache(
            mpm="prefork", php="mod", workers=30, pages={"page.php": locked(locks, exclusive=not lifted)}
        )
        (server.documents / "page.php").parent.chmod(0o777)  # its locks are files beside it
        held = server.documents / "lock0" if locks == 1 else None
        return Stand(f"{server.url}page.php", ("--apache", server.status_url), locked=held)

    return build


def is_free(proof: Proof) -> bool:
    return proof.change.idle > 30


def queues(proof: Proof) -> bool:
    return proof.change.idle > 30 and proof.peak > proof.before


def drops(proof: Proof) -> bool:
    """The server's log names the limit. Idle processors prove nothing here: ab connects again at once after each drop,
    and may keep both of them busy."""
    return proof.peak > proof.before


CASES = [
    Case(
        name="2 children, waiting page", expected="fpm-workers", build=fpm(2, WAITING), concurrency=12, proven=queues,
        evidence="fpm.", advice="Raise pm.max_children from 2 to 1", quick=True,  # 12, or less where one is on its way
    ),
    Case(
        name="4 children, shorter page", expected="fpm-workers", build=fpm(4, SHORTLY), concurrency=16, proven=queues,
        evidence="fpm.listen_queue", advice="Raise pm.max_children from 4",
    ),
    Case(
        name="2 workers of gunicorn", expected="gunicorn-workers", build=gunicorn(2), concurrency=12, proven=queues,
        evidence="gunicorn.listen_queue", advice="Raise --workers of gunicorn from 2 to 1", quick=True,
    ),
    Case(
        name="2 workers of uWSGI", expected="uwsgi-workers", build=uwsgi(2), concurrency=12, proven=queues,
        evidence="uwsgi.listen_queue", advice="Raise --workers of uWSGI from 2 to 1",
    ),
    Case(
        name="1 server, maxconn 3", expected="haproxy-queue", build=haproxy(1, 3), concurrency=12, proven=queues,
        evidence="haproxy.queue", advice="maxconn",
    ),
    Case(
        name="2 servers, maxconn 2", expected="haproxy-queue", build=haproxy(2, 2), concurrency=16, proven=queues,
        evidence="haproxy.queue", advice="4 of 4 slots of its 2 servers",
    ),
    Case(
        name="backlog 1, 40 workers", expected="listen-queue", build=small_backlog(40, TOGETHER), concurrency=30,
        proven=queues, evidence="tcp.listen_overflows_s", advice="ListenBacklog",
    ),
    Case(
        name="backlog 1, 60 workers", expected="listen-queue", build=small_backlog(60, TOGETHER), concurrency=50,
        proven=queues, evidence="tcp.listen_overflows_s", advice="ListenBacklog",
    ),
    Case(
        name="one lock", expected="lock", build=lock(1), concurrency=12, proven=is_free, evidence="lock.waiting_pct",
        advice="wait for a file lock", quick=True,
    ),
    Case(
        name="one lock, over SSH", expected="lock", build=over_ssh(lock(1)), concurrency=12, proven=is_free,
        evidence="lock.waiting_pct", advice="wait for a file lock",
    ),
    Case(
        name="three locks", expected="waiting", build=lock(3), concurrency=24, proven=is_free,
        evidence="load.waiting_pct", advice="waits for file locks", within_s=6.0,  # once 5.0 of four
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_pool(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)


NGINX = Case(
    name="16 connections", expected="nginx-connections", build=nginx(16), concurrency=40, proven=drops,
    options=("-c", "40", "-r", "-t", str(RUN_S)), evidence="nginx.dropped_s", gain=None,
    advice="Raise worker_connections from 16 to 80", quick=True,
)  # fmt: skip


@pytest.mark.parametrize("case", marked([NGINX]))
def test_names_the_connections_of_nginx(case: Case, tmp_path: Path, report: Report) -> None:
    """ab counts a dropped connection as a request, so that it is not faster without the limit: nothing is dropped."""
    judge(case, tmp_path, report)
    with contextlib.ExitStack() as stack:
        stand = case.build(Bench(stack), True)
        assert served_by_ab(stand.url, concurrency=case.concurrency, seconds=case.proof_s) > 0
        assert stand.sign is not None
        assert stand.sign() == 0
