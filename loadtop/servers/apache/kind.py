"""Apache as a kind of server."""

from collections.abc import Callable

from loadtop.diagnosis.forecast import Use, served
from loadtop.diagnosis.memory import MEMORY, worker_room
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric
from loadtop.rates.records import GroupRates, ServerRates
from loadtop.servers.apache.checks import CHECKS
from loadtop.servers.apache.record import GROUP, NAME, ApacheStatus
from loadtop.servers.apache.report import REPORT
from loadtop.servers.apache.verdict import APACHE_WORKERS
from loadtop.servers.apache.workers import WORKERS
from loadtop.servers.kind import Kind, StatusOption

KEEPALIVE_SHARE = 0.1
"""Slots that only hold idle connections follow their number, not requests: with more of them no forecast is made; our
own."""


def mean_duration_ms(rates: ServerRates[ApacheStatus]) -> float | None:
    """The mean time per request in the interval; ``None`` without ExtendedStatus or requests."""
    duration, accesses = rates.per_second["duration_ms"], rates.per_second["accesses"]
    return duration / accesses if duration is not None and accesses else None


def _processes(read: Callable[[GroupRates], float | None]) -> Callable[[HostView], float | None]:
    def value(host: HostView) -> float | None:
        group = None if host.rates is None else host.rates.group(GROUP)
        return None if group is None else read(group)

    return value


def _first(read: Callable[[ServerRates[ApacheStatus]], float | None]) -> Callable[[HostView], float | None]:

    def value(host: HostView) -> float | None:
        pages = () if host.rates is None else host.rates.of_kind(NAME, ApacheStatus)
        return read(pages[0]) if pages else None

    return value


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    pages = () if host.rates is None else host.rates.of_kind(NAME, ApacheStatus)
    page = pages[0].reading if pages else None
    if page is None or page.keepalive > KEEPALIVE_SHARE * page.capacity:
        return {}
    slots = Use(served(measured, page.busy, alone=alone), page.capacity)
    room = worker_room(host, GROUP) if page.mpm == "prefork" else None
    if room is None or room.workers >= page.capacity:
        return {APACHE_WORKERS.name: slots}
    return {APACHE_WORKERS.name: slots, MEMORY.name: Use(slots.used, room.workers)}


APACHE = Kind(
    name=NAME,
    group=GROUP,
    role=Role.WEB,
    title="Apache",
    record=ApacheStatus,
    option=StatusOption("mod_status page, fetched from its host", "http://HOST/server-status", r"https?://.+"),
    metrics=(
        Metric("httpd.processes", "httpd processes", "", 0, "neither", _processes(lambda group: group.processes)),
        Metric("httpd.running", "httpd running", "", 0, "neither", _processes(lambda group: group.running)),
        Metric("httpd.threads", "httpd threads", "", 0, "neither", _processes(lambda group: group.threads)),
        Metric("httpd.cpu_pct", "httpd CPU", "% of a core", 0, "neither", _processes(lambda group: group.cpu)),
        Metric("apache.busy", "busy workers", "slots", 0, "neither", _first(lambda page: page.reading.busy)),
        Metric("apache.idle", "idle workers", "slots", 0, "neither", _first(lambda page: page.reading.idle)),
        Metric("apache.keepalive", "keep-alive", "slots", 0, "lower", _first(lambda page: page.reading.keepalive)),
        Metric(
            "apache.requests_s", "Apache requests", "/s", 1, "higher", _first(lambda page: page.per_second["accesses"])
        ),
    ),
    verdicts=(APACHE_WORKERS,),
    demands=_demands,
    report=REPORT,
    checks=CHECKS,
    workers=WORKERS,
)
