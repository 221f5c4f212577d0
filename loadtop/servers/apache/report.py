"""Apache in the JSON summary, the reports and the line per interval."""

from collections.abc import Callable, Iterator, Sequence

from loadtop.i18n import Translatable, plain, tr
from loadtop.i18n.numbers import mean_figure
from loadtop.rates.records import HostRates, ServerRates
from loadtop.servers.apache.record import NAME, ApacheStatus
from loadtop.servers.report import ChartLine, Json, Report, ReportColumn, ServerChart


def _single(page: ApacheStatus) -> Json:
    return {
        "mpm": page.mpm,
        "capacity": page.capacity,
        "max_request_workers": page.max_request_workers,
        "server_limit": page.server_limit,
        "threads_per_child": page.threads_per_child,
        "listen_backlog": page.listen_backlog,
    }


def _rows(host: Json) -> list[str]:
    httpd, apache = host["httpd"], host[NAME]
    rows: list[str] = []
    if httpd["processes"] is not None:
        each = httpd["pss_kb_mean"] or httpd["rss_kb_mean"]
        basis = "PSS" if httpd["pss_kb_mean"] else "RSS"
        size = "" if each is None else tr("  {size} MB each ({basis})", size=f"{each / 1024:.1f}", basis=basis)
        rows.append(
            tr(
                "  httpd    processes {number}  running {running}  cpu {cpu} % of a core{size}",
                number=mean_figure(httpd["processes"]),
                running=mean_figure(httpd["running"]),
                cpu=mean_figure(httpd["cpu_pct"]),
                size=size,
            )
        )
    if apache is not None:
        rows.append(
            tr(
                "  apache   {mpm}  busy {busy} of {all} slots  {rate} requests/s",
                mpm=plain(apache["mpm"]),
                busy=mean_figure(apache["busy"]),
                all=apache["capacity"],
                rate=mean_figure(apache["requests_s"]),
            )
        )
    return rows


def _brief(pages: Sequence[ServerRates[ApacheStatus]]) -> str:
    return "".join(tr(" busy {busy}/{all}", busy=page.reading.busy, all=page.reading.capacity) for page in pages)


SLOTS: Translatable = "worker slots"


def _settings(pages: Sequence[ApacheStatus]) -> Iterator[tuple[str, str]]:
    for page in pages:
        where = f" {plain(page.url)}" if len(pages) > 1 else ""
        yield f"Apache{where}", plain(page.version)
        yield f"MPM{where}", plain(page.mpm)
        yield f"{SLOTS}{where}", str(page.capacity)
        for name, value in (
            ("MaxRequestWorkers", page.max_request_workers),
            ("ThreadsPerChild", page.threads_per_child),
        ):
            if value is not None:
                yield f"{name}{where}", str(value)


def _slots(read: Callable[[ApacheStatus], int]) -> Callable[[HostRates], float | None]:

    def value(rates: HostRates) -> float | None:
        pages = rates.of_kind(NAME, ApacheStatus)
        return float(sum(read(page.reading) for page in pages)) if pages else None

    return value


REPORT = Report(
    rows=_rows,
    brief=_brief,
    settings=_settings,
    single=_single,
    columns=(
        ReportColumn("httpd", lambda host: (host["httpd"]["processes"], None)),
        ReportColumn(
            "busy workers",
            lambda host: (None, None) if host[NAME] is None else (host[NAME]["busy"], host[NAME]["capacity"]),
        ),
    ),
    charts=(
        ServerChart(
            "Apache workers",
            "slots",
            (
                ChartLine("apache.all_busy", "busy", "b", _slots(lambda page: page.busy)),
                ChartLine("apache.all_keepalive", "of these keep-alive", "e", _slots(lambda page: page.keepalive)),
                ChartLine("apache.all_slots", "slots", "d", _slots(lambda page: page.capacity), dashed=True),
            ),
        ),
    ),
)
