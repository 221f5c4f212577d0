"""php-fpm as a kind of server."""

from collections.abc import Callable

from loadtop.diagnosis.forecast import Use, served
from loadtop.model import Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Kind, StatusOption
from loadtop.servers.php_fpm.checks import CHECKS
from loadtop.servers.php_fpm.record import GROUP, NAME, FpmPool
from loadtop.servers.php_fpm.report import REPORT
from loadtop.servers.php_fpm.verdict import FPM_WORKERS
from loadtop.servers.php_fpm.workers import WORKERS


def _sum(read: Callable[[ServerRates[FpmPool]], float | None]) -> Callable[[HostView], float | None]:
    return lambda host: None if host.rates is None else sum_known(map(read, host.rates.of_kind(NAME, FpmPool)))


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    pools = () if host.rates is None else host.rates.of_kind(NAME, FpmPool)
    pool = pools[0].reading if pools else None
    if pool is None or pool.active is None or pool.most_children is None:
        return {}
    return {FPM_WORKERS.name: Use(served(measured, pool.active, alone=alone), pool.most_children)}


PHP_FPM = Kind(
    name=NAME,
    group=GROUP,
    role=Role.APPLICATION,
    title="php-fpm",
    record=FpmPool,
    option=StatusOption(
        "status page of a php-fpm pool",
        "http://HOST/status, fcgi://HOST:PORT/status or unix:/run/php/fpm.sock;/status",
        r"https?://.+|(?:fcgi|tcp)://[^/]+:\d+(?:/.*)?|(?:unix|fcgi):(?://)?/(?!/).+",
    ),
    metrics=(
        Metric("fpm.active", "busy php-fpm children", "", 0, "neither", _sum(lambda pool: pool.reading.active)),
        Metric("fpm.listen_queue", "php-fpm queue", "", 0, "lower", _sum(lambda pool: pool.reading.listen_queue)),
        Metric("fpm.requests_s", "php-fpm requests", "/s", 1, "higher", _sum(lambda pool: pool.per_second["accepted"])),
    ),
    verdicts=(FPM_WORKERS,),
    demands=_demands,
    report=REPORT,
    checks=CHECKS,
    workers=WORKERS,
)
