"""php-fpm as a kind of server."""

from collections.abc import Callable, Iterator, Sequence

from loadtop.diagnosis.forecast import Use, served
from loadtop.i18n import Message, Text, figure, grouped, listed, mean_figure, plain, tr
from loadtop.model import Cause, HostSample, Process, Role
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import Metric, sum_known
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Json, Kind, Lack, Report, WorkerPool, Workers, pool_memory
from loadtop.servers.php_fpm.record import GROUP, NAME, FpmPool
from loadtop.servers.php_fpm.verdict import FPM_WORKERS


def _sum(read: Callable[[ServerRates[FpmPool]], float | None]) -> Callable[[HostView], float | None]:
    return lambda host: sum_known(map(read, host.servers(NAME, FpmPool)))


def _demands(measured: Measured, host: HostView, alone: bool) -> dict[str, Use]:
    pools = host.servers(NAME, FpmPool)
    pool = pools[0].reading if pools else None
    if pool is None or pool.active is None or pool.most_children is None:
        return {}
    return {FPM_WORKERS.name: Use(served(measured, pool.active, alone=alone), pool.most_children)}


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


def _seen(pools: tuple[FpmPool, ...]) -> Text:
    return grouped(
        Message(
            "pool {pool}{where}: pm.max_children {most}, queue {queue}",
            pool=pool.pool,
            where=Message(" ({address})", address=pool.address) if pool.address else None,
            most=Message("unknown") if pool.max_children is None else pool.max_children,
            queue=Message("unknown") if pool.listen_queue is None else pool.listen_queue,
        )
        for pool in pools
    )


def _lacks(pools: tuple[FpmPool, ...], _: HostSample) -> Lack:
    unknown = [pool.pool for pool in pools if pool.max_children is None]
    if not unknown:
        return Lack()
    reason = Message("pm.max_children of {names}: its configuration may not be read", names=listed(unknown))
    return Lack(reason, Cause.ROOT)


def _pools(pools: Sequence[ServerRates[FpmPool]], processes: Sequence[Process]) -> Iterator[WorkerPool]:
    """Those whose page gives figures. A pool whose page does not come is full."""
    for pool in (each.reading for each in pools):
        silent = pool.silent_s is not None and pool.max_children is not None
        total = pool.max_children if silent and pool.total is None else pool.total
        active = pool.max_children if silent and pool.active is None else pool.active
        if total is None or active is None:
            continue
        # Processes do not tell their pool: only where there is one is their memory its own.
        rss, shared = pool_memory(processes) if len(pools) == 1 else (None, None)
        busy = active if silent else max(0, active - 1)
        yield WorkerPool(NAME, pool.pool, pool.manager, pool.max_children, total, busy, busy, None, total, rss, shared)


def _configuration(pool: WorkerPool, workers: int) -> str:
    lines = [f"[{pool.name}]", f"pm.max_children = {workers}"]
    if pool.manager == "dynamic":
        lines.append("; pm.start_servers and pm.max_spare_servers must not be larger")
    return "\n".join(lines)


PHP_FPM = Kind(
    name=NAME,
    group=GROUP,
    role=Role.APPLICATION,
    title="php-fpm",
    record=FpmPool,
    metrics=(
        Metric("fpm.active", "busy php-fpm children", "", 0, "neither", _sum(lambda pool: pool.reading.active)),
        Metric("fpm.listen_queue", "php-fpm queue", "", 0, "lower", _sum(lambda pool: pool.reading.listen_queue)),
        Metric("fpm.requests_s", "php-fpm requests", "/s", 1, "higher", _sum(lambda pool: pool.per_second["accepted"])),
    ),
    verdicts=(FPM_WORKERS,),
    demands=_demands,
    report=Report(rows=_rows, brief=_brief, settings=_settings),
    seen=_seen,
    lacks=_lacks,
    workers=Workers(
        setting="pm.max_children",
        verdict=FPM_WORKERS.name,
        pools=_pools,
        allowed=lambda _, workers: workers,
        configuration=_configuration,
        takes_page=False,
        enable="Enable pm.status_path and give its page with --fpm URL.",
        apply="Reload php-fpm for it to take effect.",
    ),
)
