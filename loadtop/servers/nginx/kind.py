"""nginx as a kind of server: a web server or a proxy. Its verdict: all connections are taken, so it closes new ones."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from loadtop.diagnosis.forecast import Use, served
from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement, exceeds
from loadtop.diagnosis.waiting import backs_up
from loadtop.i18n import Message, figure, mean_figure, plain, plural, sentences, tr
from loadtop.model import Role
from loadtop.model.server import FULL_PCT
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, summed
from loadtop.servers.nginx.record import NAME, SERVER, NginxStatus

CLEAR_PCT = 85.0  # percent of the connections below which it is cleared; our own, as for the other pools

DROPPED_S = 0.0
"""Connections per second that were accepted and closed at once: any (nginx: "worker_connections are not enough")."""

ROOM = 2  # times the connections in flight that are advised, so that the next step of the load fits too; our own


def _assess(measured: Measured, host: HostView) -> Assessment | None:
    """nginx drops connections, or nearly all of its connections are in use. The connections of one worker can run out
    while others have some left: what is dropped decides."""
    servers = host.servers(NAME, NginxStatus)
    fullest = max(servers, key=lambda each: (dropped(each) or 0.0, each.reading.full or 0.0), default=None)
    if fullest is None:
        return None
    status, lost = fullest.reading, dropped(fullest)
    full, capacity = status.full, status.capacity
    used = None if full is None else status.used
    if lost is None and full is None:
        return None
    # Only where each request needs a second connection are requests refused before connections are dropped.
    full_proxy = status.proxies and full is not None and full >= FULL_PCT and backs_up(measured, capacity or 0)
    return Assessment(
        over=bool(lost) or full_proxy,
        held=bool(lost) or (full is not None and full >= CLEAR_PCT),
        evidence=(
            Row("nginx.dropped_s", lost, DROPPED_S, "/s", "stub_status: accepts minus handled"),
            Row("nginx.full_pct", full, FULL_PCT, "%", "loadtop, calibrated"),
            Row("nginx.used", used, capacity or 0, "conn", "worker_processes x worker_connections"),
        ),
        advice=lambda: _advice(measured, status, lost),
        confidence=agreement(exceeds(lost, DROPPED_S), None if full is None else full >= CLEAR_PCT),
        certain=bool(lost) and full is not None and full >= FULL_PCT,
    )


def dropped(rates: ServerRates[NginxStatus]) -> float | None:
    """Connections per second that nginx closed right after it accepted them; ``None`` before the second reading."""
    accepts, handled = rates.per_second["accepts"], rates.per_second["handled"]
    return None if accepts is None or handled is None else max(0.0, accepts - handled)


def _advice(measured: Measured, status: NginxStatus, lost: float | None) -> Message:
    processes, connections = status.worker_processes, status.worker_connections
    drops = Message("nginx drops {rate:.0f} connections/s.", rate=lost) if lost else None
    if processes is None or connections is None:
        more = Message("Raise worker_connections in its events block.")
        return sentences(more, Message("nginx has no free worker connection."), drops)
    taken = plural(
        processes,
        "nginx has no free worker connection ({n} worker process with {connections}).",
        "nginx has no free worker connection ({n} worker processes with {connections} each).",
        connections=connections,
    )
    two = Message("A proxied request needs two connections.") if status.proxies else None
    load = measured.load
    in_flight = 0 if load is None else max(load.in_flight or 0, load.concurrency or 0)
    more = Message(
        "Raise worker_connections from {connections} to {wanted}, and worker_rlimit_nofile above that.",
        connections=connections,
        wanted=max(2 * connections, -(-ROOM * status.per_request * in_flight // processes)),
    )
    return sentences(more, taken, two, drops)


NGINX_CONNECTIONS = Verdict(
    name="nginx-connections",
    letter="X",
    title="nginx connections",
    headline="are the limit",
    sentence="nginx's connections are the limit",
    family=Family.ANSWERS,
    explains=("errors",),
    role=Role.WEB,
    of_host=_assess,
    titles={
        "nginx.dropped_s": "connections dropped",
        "nginx.full_pct": "connections in use",
        "nginx.used": "connections in use",
    },
)


_sum = partial(summed, NAME, NginxStatus)


def _dropped(host: HostView) -> float | None:
    return sum_known(map(dropped, host.servers(NAME, NginxStatus)))


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    servers = [each.reading for each in host.servers(NAME, NginxStatus)]
    status = max(servers, key=lambda each: each.full or 0.0, default=None)
    if status is None or status.capacity is None:
        return {}
    used = status.per_request * served(measured, status.writing, alone=alone)
    return {NGINX_CONNECTIONS.name: Use(used, status.capacity)}


def _seen(servers: tuple[NginxStatus, ...]) -> str:
    return "; ".join(
        f"worker_connections unknown ({each.url})"
        if each.capacity is None
        else f"worker_processes {each.worker_processes}, worker_connections {each.worker_connections} ({each.url})"
        for each in servers
    )


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  nginx    active {active}{limit}  waiting {waiting}  {rate} requests/s  dropped {dropped}/s",
            active=mean_figure(each["active"]),
            limit=_limit(each),
            waiting=mean_figure(each["waiting"]),
            rate=mean_figure(each["requests_s"]),
            dropped=figure(_lost(each)),
        )
        for each in host[NAME]
    ]


def _lost(server: Json) -> float | None:
    accepts, handled = server["accepts_s"], server["handled_s"]
    return None if accepts is None or handled is None else max(0.0, accepts["mean"] - handled["mean"])


def _limit(server: Json) -> str:
    processes, connections = server["worker_processes"], server["worker_connections"]
    return "" if processes is None or connections is None else tr(" of {number}", number=processes * connections)


def _brief(servers: Sequence[ServerRates[NginxStatus]]) -> str:
    return "".join(tr(" nginx {active} conn", active=each.reading.active) for each in servers)


def _settings(servers: Iterable[NginxStatus]) -> Iterator[tuple[str, str]]:
    for each in servers:
        where = f"nginx {plain(each.url)}"
        if each.worker_processes is not None:
            yield f"{where} worker_processes", str(each.worker_processes)
        if each.worker_connections is not None:
            yield f"{where} worker_connections", str(each.worker_connections)


NGINX = Kind(
    *SERVER,
    title="nginx",
    record=NginxStatus,
    metrics=(
        Metric("nginx.active", "nginx connections", "", "neither", _sum("active")),
        Metric("nginx.waiting", "nginx keep-alive", "", "neither", _sum("waiting")),
        Metric("nginx.requests_s", "nginx requests", "/s", "higher", _sum("requests")),
        Metric("nginx.dropped_s", "nginx connections dropped", "/s", "lower", _dropped),
    ),
    verdicts=(NGINX_CONNECTIONS,),
    demands=_demands,
    rows=_rows,
    brief=_brief,
    settings=_settings,
    seen=_seen,
)
