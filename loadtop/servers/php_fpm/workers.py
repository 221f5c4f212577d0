"""php-fpm's children for ``tune``: how they are measured, and the directive that limits them."""

from collections.abc import Iterator, Sequence

from loadtop.model import Process
from loadtop.rates.records import ServerRates
from loadtop.servers.php_fpm.record import NAME, FpmPool
from loadtop.servers.php_fpm.verdict import FPM_WORKERS
from loadtop.servers.workers import WorkerPool, Workers, pool_memory


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


WORKERS = Workers(
    setting="pm.max_children",
    verdict=FPM_WORKERS.name,
    pools=_pools,
    allowed=lambda _, workers: workers,
    configuration=_configuration,
    takes_page=False,
    enable="Enable pm.status_path and give its page with --fpm URL.",
    apply="Reload php-fpm for it to take effect.",
)
