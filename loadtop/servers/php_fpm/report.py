"""php-fpm in the reports and the line per interval."""

from collections.abc import Iterator, Sequence

from loadtop.i18n import plain, tr
from loadtop.i18n.numbers import figure, mean_figure
from loadtop.rates.records import ServerRates
from loadtop.servers.php_fpm.record import NAME, FpmPool
from loadtop.servers.report import Json, Report


def _rows(host: Json) -> list[str]:
    return [
        tr(
            "  php-fpm  {pool}  active {active} of {all} children  queue {queue}  {rate} requests/s",
            pool=plain(pool["pool"]),
            active=mean_figure(pool["active"]),
            all=tr("an unknown number of") if pool["max_children"] is None else pool["max_children"],
            queue=mean_figure(pool["listen_queue"]),
            rate=mean_figure(pool["requests_s"]),
        )
        for pool in host[NAME]
    ]


def _brief(pools: Sequence[ServerRates[FpmPool]]) -> str:
    words = ""
    for pool in (each.reading for each in pools):
        most = "" if pool.max_children is None else f"/{pool.max_children}"
        queue = tr(" queue {number}", number=pool.listen_queue) if pool.listen_queue else ""
        active = tr("silent") if pool.active is None and pool.silent_s else figure(pool.active)
        words += f" {plain(pool.pool)} {active}{most}{queue}"
    return words


def _settings(pools: Sequence[FpmPool]) -> Iterator[tuple[str, str]]:
    for pool in pools:
        yield f"php-fpm {plain(pool.pool)} manager", plain(pool.manager)
        if pool.max_children is not None:
            yield f"php-fpm {plain(pool.pool)} max_children", str(pool.max_children)


REPORT = Report(rows=_rows, brief=_brief, settings=_settings)
