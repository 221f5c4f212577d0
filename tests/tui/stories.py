"""Moments beyond those of a plain Apache: other servers, other engines, hostile names; and the views of them all."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from loadtop.diagnosis.finding import Diagnosis, Evidence, Finding
from loadtop.i18n import verbatim
from loadtop.model import (
    MISSING,
    EngineWorker,
    Failures,
    Frame,
    HostSample,
    HostState,
    Listener,
    Outcome,
    Peer,
    Peers,
    State,
    StatedTimes,
    Tcp,
)
from loadtop.model.server import Blocker, ServerReading
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import HostRates, ServerRates
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.gunicorn.record import GunicornPool
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.mysql.record import MysqlStatus
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.postgresql.record import PostgresqlStatus
from loadtop.servers.redis.record import RedisStatus
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES, moments, remeasured
from tests.unit.known import known
from tui.panels.registry import CURVES
from tui.state.view import FeedReader, Phase, View

EVIL = "\x1b]0;evil\x07[bold red]\u202e日本\r\n\x9b2J"
TIMES = (StatedTimes("total", p50_ms=12.0, p90_ms=34.0, p99_ms=56.0),)
CALM = tuple(
    EngineWorker(f"g{1 + number // 8}-{1 + number % 8}", f"g{1 + number // 8}", "running", 25, 41.0 + number, 62_000)
    for number in range(16)
)
TROUBLED = (
    EngineWorker("g1-1", "g1", "running", 1250, 96.4, 1_262_000),
    EngineWorker("g1-2", "g1", MISSING),
    EngineWorker("\x1b[Jgen-of-the-month-1", "gen", "cleanup", 12, 3.0, 61_000),
    EngineWorker("gen-of-the-month-2", "gen", "ready", 0),
)
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
    return remeasured(
        moments("headroom")[:10], lambda number, sample: _sample(sample, number, silent=silent and number >= 8)
    )


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

    def change(number: int, sample: HostSample) -> HostSample:
        full = number >= 6
        status = NginxStatus(
            "http://127.0.0.1/nginx_status", 1014 if full else 200 + 40 * number, 3, 1000 if full else 60, 11,
            400 * (number + 1), 400 * (number + 1) - 125 * max(0, number - 5), 1200 * number,
            2 if limits else None, 512 if limits else None,
        )  # fmt: skip
        outcomes = tuple(each for each in sample.outcomes if each.collector != "apache")
        processes = tuple(
            replace(process, name="nginx", group="nginx") if process.group == "httpd" else process
            for process in sample.processes or ()
        )
        outcomes = (*outcomes, Outcome("nginx", State.OK))
        return replace(sample, servers={"nginx": (status,)}, processes=processes, outcomes=outcomes)

    return remeasured(moments("headroom")[:10], change)


def with_more(more: Callable[[int], dict[str, tuple[ServerReading, ...]]]) -> list[Snapshot]:
    """Ten seconds with ``more`` servers in each."""
    return remeasured(
        moments("headroom")[:10], lambda number, sample: replace(sample, servers={**sample.servers, **more(number)})
    )


def _databases(number: int, *, full: bool) -> dict[str, tuple[ServerReading, ...]]:
    redis = RedisStatus(
        "127.0.0.1:6379", "7.0.15", 9_990 if full else 12, 3, 10_000, 128, 52_000 * number, 2 if full else 0,
        41.0 * number + (56.0 * (number - 5) if full else 0.0),
    )  # fmt: skip
    mysql = MysqlStatus(
        "/run/mysqld/mysqld.sock", "10.11.19-MariaDB", 14 if full else 2, 150 if full else 13, 151, 12 if full else 0,
        1_250 * number, 3 * number, 11_800 * number if full else 0, 7 * max(0, number - 5) if full else 0,
        blocker=Blocker(session=57, blocked=12, waited_ms=640, statement="UPDATE", mode="X", table="shop.stock")
        if full else None,
    )  # fmt: skip
    postgresql = PostgresqlStatus(
        "127.0.0.1:5432", "15.18", 96 if full else 13, 14 if full else 2, 1, 12 if full else 0, 0, 1, 1 if full else 0,
        100, 3, 2_500 * number, False,
        wait_event="Lock:tuple" if full else "IO:DataFileRead", wait_event_sessions=11 if full else 1,
        blocker=Blocker(
            session=2145, blocked=12, waited_ms=640, idle=True, statement="UPDATE", mode="ExclusiveLock", table="stock"
        ) if full else None,
    )  # fmt: skip
    return {"redis": (redis,), "mysql": (mysql,), "postgresql": (postgresql,)}


def _pools(number: int) -> dict[str, tuple[ServerReading, ...]]:
    uwsgi = UwsgiStatus(
        "/run/uwsgi/app/shop/socket", 4, 2, 8, 12, "127.0.0.1:9191", "2.0.21-debian", 0, 0, 160 * number, number
    )
    gunicorn = GunicornPool("127.0.0.1:8000", 3, 4, 12, 0, "gthread", 19)
    return {
        "gunicorn": (gunicorn,),
        "uwsgi": (uwsgi, replace(uwsgi, address="127.0.0.1:3031", url="127.0.0.1:9192", active=1, listen_queue=0)),
    }


def with_dependency() -> list[Snapshot]:
    """A pool of 40 that waits for a database, which takes longer the more ask; a cache answers at once."""

    def change(number: int, sample: HostSample) -> HostSample:
        slow = max(0, number - 7)  # seconds
        database, cache = 12 * (number + 1) + 143 * slow, 6 * (number + 1)
        peers = (
            Peer("10.0.0.5:3306", "mysql", 1, 200 * number, database, 20 * database, 41 * 40 * number),
            Peer("10.0.0.6:6379", "redis", 1, 200 * number, cache, cache, 120 * number),
        )
        queued = Tcp(0, 0, 0, 900 * number, 0, 0, 24, 130, 60, listeners=(Listener(80, 4 if slow else 0),))
        return replace(sample, peers=Peers(5 * number, peers), locks=(), tcp=queued)

    return remeasured(moments("apache-workers"), change)


def with_load(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """The moment with these fields of its load changed."""
    frame = snapshot.measured.frame
    assert frame.load is not None
    frame = replace(frame, load=replace(frame.load, **changes))
    return replace(snapshot, measured=replace(snapshot.measured, frame=frame))


def by_locust(workers: tuple[EngineWorker, ...] = TROUBLED) -> list[Snapshot]:
    """A load as Locust tells of it: much it does not say."""
    unsaid = {"in_flight": None, "non_2xx": None, "received_bytes": None, "server": None}
    return [
        with_load(snapshot, engine="locust", workers=workers, failures=Failures.undivided(0), **unsaid)
        for snapshot in moments("headroom")
    ]


def by_ab() -> list[Snapshot]:
    """A load as ab tells of it: much it does not say."""
    unsaid = {"latencies": None, "in_flight": None, "failures": None, "non_2xx": None, "server": None}
    return [with_load(snapshot, engine="ab", stated=TIMES, **unsaid) for snapshot in moments("swap")]


def long_names() -> list[Snapshot]:
    """Devices with long names and large figures, and swapping on one of them."""
    return [_with_rates(snapshot, _longer) for snapshot in moments("swap")]


def _with_rates(snapshot: Snapshot, change: Callable[[HostRates], HostRates]) -> Snapshot:
    hosts = tuple(
        host if host.rates is None else replace(host, rates=change(host.rates)) for host in snapshot.measured.hosts
    )
    return replace(snapshot, measured=replace(snapshot.measured, hosts=hosts))


def _longer(rates: HostRates) -> HostRates:
    disks = tuple(
        replace(disk, name="dm-crypt-home", util=100.0, await_ms=12_345.0, read_kb=999_000.0, swap=True)
        for disk in rates.disks or ()
    )
    networks = tuple(
        replace(network, name="bridge-of-the-lab", rx_kb=999_000.0, tx_kb=998_000.0, util=100.0)
        for network in rates.networks or ()
    )
    return replace(rates, disks=disks, networks=networks)


def poisoned(name: str = "swap") -> list[Snapshot]:
    """The moments of a scene with hostile names everywhere."""
    return [_poisoned(snapshot) for snapshot in moments(name)]


def _poisoned(snapshot: Snapshot) -> Snapshot:
    measured = snapshot.measured
    load = known(measured.load)
    hosts: list[HostView] = []
    for host in measured.hosts:
        sample = known(host.sample)
        rates = host.rates
        if rates is not None:
            rates = replace(
                rates,
                processes=tuple(
                    replace(p, process=replace(p.process, name=EVIL, state="\x1b")) for p in rates.processes or ()
                ),
                disks=tuple(replace(disk, name=EVIL) for disk in rates.disks or ()),
                networks=tuple(replace(net, name=EVIL) for net in rates.networks or ()),
                servers={"apache": tuple(map(_evil, rates.servers["apache"]))},
            )
        facts = replace(sample.facts, source="\x1b[2J")
        outcomes = tuple(replace(outcome, reason=EVIL) for outcome in sample.outcomes)
        state = HostState(EVIL, "target", replace(sample, facts=facts, outcomes=outcomes), host.state.fresh, EVIL)
        hosts.append(HostView(state, rates, host.stale_s))
    evidence = (Evidence(EVIL, EVIL, 12.0, 3.0, EVIL, EVIL), Evidence("running", EVIL, 2.0, 3.0, "tasks", EVIL))
    finding = Finding("swap", EVIL, 1.0, 2.0, 0.9, evidence, verbatim(EVIL * 9))
    verdict = replace(finding, symptoms=(finding,))
    frame = Frame(
        measured.frame.number,
        measured.frame.at,
        measured.frame.wall,
        replace(load, message=EVIL, engine=EVIL, model=EVIL),
        tuple(host.state for host in hosts),
        (EVIL,),
    )
    found = Breakdown(20, 300.0, (Share(Part.DEPENDENCY, EVIL, EVIL, 200.0, EVIL), Share(Part.LOCK, EVIL, EVIL, 60.0)))
    return Snapshot(Measured(frame, measured.load_rates, tuple(hosts)), Diagnosis(verdict, (verdict,)), found)


def _evil(page: ServerRates[ServerReading]) -> ServerRates[ServerReading]:
    reading = page.reading
    assert isinstance(reading, ApacheStatus)
    return replace(page, reading=replace(reading, mpm=EVIL, scoreboard=reading.scoreboard + EVIL))


STORIES: dict[str, Callable[[], Sequence[Snapshot]]] = {
    **SCENES,
    "servers": with_servers,
    "servers-silent": lambda: with_servers(silent=True),
    "nginx": with_nginx,
    "nginx-without-limits": lambda: with_nginx(limits=False),
    "databases": lambda: with_more(lambda number: _databases(number, full=False)),
    "dependency": with_dependency,
    "databases-full": lambda: with_more(lambda number: _databases(number, full=number >= 6)),
    "pools": lambda: with_more(_pools),
    "workers": by_locust,
    "many-workers": lambda: by_locust((*CALM, *TROUBLED[:2])),
    "ab": by_ab,
    "long-names": long_names,
}


def view_after(snapshots: Sequence[Snapshot]) -> View:
    reader = FeedReader(FakeFeed([]), lambda: None, CURVES)
    for snapshot in snapshots:
        reader.receive(snapshot)
    return reader.view


@cache
def _swapping() -> View:
    return view_after(STORIES["swap"]())


STATES: dict[str, Callable[[], View]] = {
    "starting": lambda: view_after([]),
    "first": lambda: view_after(moments("headroom")[:1]),
    "paused": lambda: replace(_swapping(), paused=True),
    "over": lambda: replace(_swapping(), phase=Phase.DONE),
    "broken": lambda: replace(_swapping(), phase=Phase.BROKEN, detail="the disk \x1b[31mis full"),
}
"""Before there is anything to show, while the cockpit is paused, and at an end."""

VIEWS = sorted((*STORIES, *STATES))


@cache
def view_of(name: str) -> View:
    """What a cockpit shows at the end of a story, or in a state."""
    return STATES[name]() if name in STATES else view_after(STORIES[name]())
