"""nginx in the reports and the line per interval."""

from collections.abc import Iterable, Iterator, Sequence

from loadtop.i18n import plain, tr
from loadtop.i18n.numbers import mean_figure
from loadtop.rates.records import ServerRates
from loadtop.servers.nginx.record import NAME, NginxStatus
from loadtop.servers.report import Json, Report


def _rows(host: Json) -> list[str]:
    """A row per server."""
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


REPORT: Report[NginxStatus] = Report(rows=_rows, brief=_brief, settings=_settings)
