"""Moments of a web server with php-fpm behind it and HAProxy before it, and of nginx."""

from dataclasses import replace

from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import HostSample, Outcome, State
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measurer
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS
from tests.tui.scenes import headroom

POOLS = (
    FpmPool("www", "dynamic", 0, 0, 511, 0, 5, 5, 0, 0, 5, "/run/php/www.sock"),
    FpmPool("reports-of-the-month", "static", 0, 0, 511, 3, 1, 4, 0, 0, 4, "127.0.0.1:9001"),
)
LINES = (
    HaproxyProxy("fe", "FRONTEND", "OPEN", None, 40, 2000, 0, 0, 0, requests_total=0),
    HaproxyProxy("app", "web1", "UP", 2, 8, 8, 0, 0, 0),
    HaproxyProxy("app", "a-server-with-a-long-name", "DOWN", 0, 0, 8, 0, 0, 0),
    HaproxyProxy("app", "BACKEND", "UP", 7, 10, 200, 0, 0, 0, requests_total=0),
)


def with_servers(*, silent: bool = False) -> list[Snapshot]:
    """Ten seconds with a full pool and a queue; ``silent``: in the last ones no pool answers."""
    measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
    snapshots: list[Snapshot] = []
    for number, snapshot in enumerate(headroom()[:10]):
        (host,) = snapshot.measured.frame.hosts
        sample = host.sample
        assert sample is not None
        changed = replace(host, sample=_sample(sample, number, silent=silent and number >= 8))
        measured = measurer.measure(replace(snapshot.measured.frame, hosts=(changed,)))
        snapshots.append(Snapshot(measured, diagnoser.diagnose(measured)))
    return snapshots


def _sample(sample: HostSample, number: int, *, silent: bool) -> HostSample:
    pools = tuple(replace(pool, accepted=number * 30, listen_queue=number % 4) for pool in POOLS)
    if silent:
        pools = tuple(
            replace(pool, accepted=None, idle=None, active=None, total=None, listen_queue=12, silent_s=2.0)
            for pool in POOLS
        )
    lines = tuple(
        replace(
            entry,
            queue=None if entry.queue is None else entry.queue + number % 3,
            sessions_total=number * 50,
            requests_total=None if entry.requests_total is None else number * 70,
        )
        for entry in LINES
    )
    processes = tuple(
        replace(process, name="php-fpm8.2", group="php-fpm") if process.name == "mariadbd" else process
        for process in sample.processes or ()
    )
    outcomes = (*sample.outcomes, Outcome("fpm", State.FAILED if silent else State.OK))
    return replace(
        sample, servers={**sample.servers, "fpm": pools, "haproxy": lines}, processes=processes, outcomes=outcomes
    )


def with_nginx(*, limits: bool = True) -> list[Snapshot]:
    """Ten seconds of an nginx that runs out of connections in the last ones; ``limits``: its configuration is read."""
    measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
    snapshots: list[Snapshot] = []
    accepts = handled = 0
    for number, snapshot in enumerate(headroom()[:10]):
        (host,) = snapshot.measured.frame.hosts
        sample = host.sample
        assert sample is not None
        full = number >= 6
        accepts, handled = accepts + 400, handled + (275 if full else 400)
        status = NginxStatus(
            "http://127.0.0.1/nginx_status", 1014 if full else 200 + 40 * number, 3, 1000 if full else 60, 11,
            accepts, handled, 1200 * number, 2 if limits else None, 512 if limits else None,
        )  # fmt: skip
        servers = {"nginx": (status,)}
        outcomes = tuple(each for each in sample.outcomes if each.collector != "apache")
        processes = tuple(
            replace(process, name="nginx", group="nginx") if process.group == "httpd" else process
            for process in sample.processes or ()
        )
        changed = replace(
            host,
            sample=replace(
                sample,
                servers=servers,
                processes=processes,
                outcomes=(*outcomes, Outcome("nginx", State.OK)),
            ),
        )
        measured = measurer.measure(replace(snapshot.measured.frame, hosts=(changed,)))
        snapshots.append(Snapshot(measured, diagnoser.diagnose(measured)))
    return snapshots
