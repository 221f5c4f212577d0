"""nginx as a kind of server: a web server, or a proxy before others."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from loadtop.diagnosis.forecast import Use, served
from loadtop.i18n import mean_figure, plain, tr
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, Report
from loadtop.servers.nginx.record import GROUP, NAME, NginxStatus
from loadtop.servers.nginx.verdict import NGINX_CONNECTIONS, dropped


def _sum(read: Callable[[ServerRates[NginxStatus]], float | None]) -> Callable[[HostView], float | None]:
    return lambda host: sum_known(map(read, host.servers(NAME, NginxStatus)))


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    servers = host.servers(NAME, NginxStatus)
    status = servers[0].reading if servers else None
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
            dropped=mean_figure(host["totals"][NAME]["dropped_s"]),
        )
        for each in host[NAME]
    ]


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
    name=NAME,
    group=GROUP,
    role=Role.WEB,
    title="nginx",
    record=NginxStatus,
    metrics=(
        Metric("nginx.active", "nginx connections", "", 0, "neither", _sum(lambda each: each.reading.active)),
        Metric("nginx.waiting", "nginx keep-alive", "", 0, "neither", _sum(lambda each: each.reading.waiting)),
        Metric("nginx.requests_s", "nginx requests", "/s", 1, "higher", _sum(lambda each: each.per_second["requests"])),
        Metric("nginx.dropped_s", "nginx connections dropped", "/s", 1, "lower", _sum(dropped)),
    ),
    verdicts=(NGINX_CONNECTIONS,),
    demands=_demands,
    report=Report(rows=_rows, brief=_brief, settings=_settings),
    seen=_seen,
)
