"""Apache's worker slots for ``tune``: how they are measured, and the directives that limit them."""

from collections.abc import Iterator, Sequence

from loadtop.model import Process
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.record import NAME, ApacheStatus
from loadtop.servers.apache.verdict import APACHE_WORKERS
from loadtop.servers.workers import WorkerPool, Workers, pool_memory

DEFAULT_THREADS = 25
"""ThreadsPerChild where the server does not tell it: Apache's own default."""


def _pools(pages: Sequence[ServerRates[ApacheStatus]], processes: Sequence[Process]) -> Iterator[WorkerPool]:
    for page in (each.reading for each in pages):
        busy = max(0, page.busy + page.graceful - 1)
        yield WorkerPool(
            NAME,
            "",
            page.mpm,
            page.capacity,
            page.capacity - page.open,
            busy,
            busy,
            page.threads_per_child,
            page.processes or max(1, len(processes) - 1),
            *pool_memory(processes),
        )


def _threaded(pool: WorkerPool, workers: int) -> tuple[int, int]:
    """ThreadsPerChild and ServerLimit for at most ``workers``: whole processes, as Apache rounds down itself."""
    threads = pool.threads_per_child or DEFAULT_THREADS
    if workers < threads:
        return workers, 1
    return threads, workers // threads


def _allowed(pool: WorkerPool, workers: int) -> int:
    if pool.manager == "prefork":
        return workers
    threads, servers = _threaded(pool, workers)
    return threads * servers


def _configuration(pool: WorkerPool, workers: int) -> str:
    directives = {"ServerLimit": workers, "MaxRequestWorkers": workers}
    mpm = "prefork"
    if pool.manager != "prefork":
        threads, servers = _threaded(pool, workers)
        directives = {"ServerLimit": servers, "ThreadsPerChild": threads, "MaxRequestWorkers": threads * servers}
        mpm = pool.manager if pool.manager in ("event", "worker") else "event"
    lines = [f"    {name:<19} {value}" for name, value in directives.items()]
    return "\n".join([f"<IfModule mpm_{mpm}_module>", *lines, "</IfModule>"])


WORKERS = Workers(
    setting="MaxRequestWorkers",
    verdict=APACHE_WORKERS.name,
    pools=_pools,
    allowed=_allowed,
    configuration=_configuration,
    takes_page=True,
    enable="Enable mod_status and give its page with --apache URL.",
    apply="ServerLimit needs a restart, not a reload.",
)
