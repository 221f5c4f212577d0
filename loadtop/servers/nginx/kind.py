"""nginx as a kind of server: a web server, or a proxy before others."""

from collections.abc import Callable

from loadtop.diagnosis.forecast import Use, served
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.checks import Checks
from loadtop.servers.kind import Kind, StatusOption
from loadtop.servers.nginx.record import GROUP, NAME, NginxStatus
from loadtop.servers.nginx.report import REPORT
from loadtop.servers.nginx.verdict import NGINX_CONNECTIONS, dropped


def _sum(read: Callable[[ServerRates[NginxStatus]], float | None]) -> Callable[[HostView], float | None]:
    """The sum over all servers of a host."""
    return lambda host: None if host.rates is None else sum_known(map(read, host.rates.of_kind(NAME, NginxStatus)))


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    servers = () if host.rates is None else host.rates.of_kind(NAME, NginxStatus)
    status = servers[0].reading if servers else None
    if status is None or status.capacity is None:
        return {}
    each = 2 if status.proxies else 1
    return {NGINX_CONNECTIONS.name: Use(each * served(measured, status.writing, alone=alone), status.capacity)}


def _seen(servers: tuple[NginxStatus, ...]) -> str:
    return "; ".join(f"{_limit(each)} ({each.url})" for each in servers)


def _limit(server: NginxStatus) -> str:
    if server.worker_processes is None or server.worker_connections is None:
        return "worker_connections unknown"
    return f"worker_processes {server.worker_processes}, worker_connections {server.worker_connections}"


NGINX = Kind(
    name=NAME,
    group=GROUP,
    role=Role.WEB,
    title="nginx",
    record=NginxStatus,
    option=StatusOption(
        "stub_status page of nginx",
        "http://HOST:PORT/nginx_status",
        r"https?://.+",
    ),
    metrics=(
        Metric("nginx.active", "nginx connections", "", 0, "neither", _sum(lambda each: each.reading.active)),
        Metric("nginx.waiting", "nginx keep-alive", "", 0, "neither", _sum(lambda each: each.reading.waiting)),
        Metric("nginx.requests_s", "nginx requests", "/s", 1, "higher", _sum(lambda each: each.per_second["requests"])),
        Metric("nginx.dropped_s", "nginx connections dropped", "/s", 1, "lower", _sum(dropped)),
    ),
    verdicts=(NGINX_CONNECTIONS,),
    demands=_demands,
    report=REPORT,
    checks=Checks(_seen),
)
