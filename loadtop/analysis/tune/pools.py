"""The worker pools of a machine in one interval: their slots, and the memory of their processes."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from loadtop.model import Process
from loadtop.rates.measured import HostView
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool

DEFAULT_THREADS = 25
"""ThreadsPerChild where the server does not tell it: Apache's own default."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool of workers, of the kind of server ``kind``; ``name`` is empty where the server has one pool only.

    ``busy`` leaves out the slot that answers the status page; ``busy_most`` is the most of any interval. ``started``
    are slots whose process or thread exists. ``manager`` says how workers are started (Apache's MPM, php-fpm's ``pm``).
    Memory is that of all its processes in kB: RSS, and what the pages that they share add to it (``None`` where PSS
    cannot be read).
    """

    kind: str
    name: str
    manager: str
    capacity: int | None
    started: int
    busy: int
    busy_most: int
    threads_per_child: int | None
    processes: int
    rss_kb: int | None
    shared_kb: float | None

    @property
    def memory_kb(self) -> float | None:
        """Proportional memory, followed by RSS between the readings of PSS; plain RSS where there is none."""
        if self.rss_kb is None:
            return None
        return self.rss_kb if self.shared_kb is None else max(0.0, self.rss_kb - self.shared_kb)


def pools(host: HostView) -> tuple[Pool, ...]:
    """The pools of the machine in its newest interval, those that others wait for first."""
    rates = host.rates
    if rates is None:
        return ()
    processes = [row.process for row in rates.processes or ()]
    children = [process for process in processes if process.group == PHP_FPM.group]
    httpd = [process for process in processes if process.group == APACHE.group]
    known = PHP_FPM.rates(rates)
    found = [_fpm(each.reading, children, len(known)) for each in known]
    pages = (_apache(each.reading, httpd) for each in APACHE.rates(rates))
    return (*(pool for pool in found if pool is not None), *pages)


def _fpm(pool: FpmPool, children: list[Process], pools: int) -> Pool | None:
    """A pool of php-fpm; ``None`` where its page gives no figures. One whose page does not come is full."""
    silent = pool.silent_s is not None and pool.max_children is not None
    total = pool.max_children if silent and pool.total is None else pool.total
    active = pool.max_children if silent and pool.active is None else pool.active
    if total is None or active is None:
        return None
    # Processes do not tell their pool: only where there is one is their memory its own.
    rss, shared = pool_memory(children) if pools == 1 else (None, None)
    busy = active if silent else max(0, active - 1)
    return Pool("fpm", pool.pool, pool.manager, pool.max_children, total, busy, busy, None, total, rss, shared)


def _apache(page: ApacheStatus, httpd: list[Process]) -> Pool:
    busy = max(0, page.busy + page.graceful - 1)
    return Pool(
        "apache",
        "",
        page.mpm,
        page.capacity,
        page.capacity - page.open,
        busy,
        busy,
        page.threads_per_child,
        page.processes or max(1, len(httpd) - 1),
        *pool_memory(httpd),
    )


def pool_memory(processes: Sequence[Process]) -> tuple[int | None, float | None]:
    """RSS of these processes together, and by how much it counts shared pages twice.

    PSS is read of few processes at a time, so it is older than RSS. The shared part hardly changes: the median over the
    processes stands for those of which it is not known, and bounds it where a process has grown since.
    """
    if not processes:
        return None, None
    rss = sum(process.rss_kb for process in processes)
    known = [process.rss_kb - process.pss_kb for process in processes if process.pss_kb is not None]
    if 2 * len(known) < len(processes):
        return rss, None
    usual = max(0.0, median(known))
    shares = (usual if p.pss_kb is None else max(0.0, p.rss_kb - p.pss_kb) for p in processes)
    return rss, sum(min(usual, share) for share in shares)


def configuration(pool: Pool, workers: int) -> str:
    """Directives that allow ``workers`` workers, without a line end after the last."""
    if pool.kind == "fpm":
        lines = [f"[{pool.name}]", f"pm.max_children = {workers}"]
        if pool.manager == "dynamic":
            lines.append("; pm.start_servers and pm.max_spare_servers must not be larger")
        return "\n".join(lines)
    if pool.manager == "prefork":
        return "\n".join(
            [
                "<IfModule mpm_prefork_module>",
                f"    ServerLimit         {workers}",
                f"    MaxRequestWorkers   {workers}",
                "</IfModule>",
            ]
        )
    threads, servers = threaded(pool, workers)
    return "\n".join(
        [
            f"<IfModule mpm_{pool.manager if pool.manager in ('event', 'worker') else 'event'}_module>",
            f"    ServerLimit         {servers}",
            f"    ThreadsPerChild     {threads}",
            f"    MaxRequestWorkers   {threads * servers}",
            "</IfModule>",
        ]
    )


def allowed(pool: Pool, workers: int) -> int:
    """How many workers the configuration for ``workers`` allows."""
    if pool.kind == "fpm" or pool.manager == "prefork":
        return workers
    threads, servers = threaded(pool, workers)
    return threads * servers


def threaded(pool: Pool, workers: int) -> tuple[int, int]:
    """ThreadsPerChild and ServerLimit for at most ``workers``: whole processes, as Apache rounds down itself."""
    threads = pool.threads_per_child or DEFAULT_THREADS
    if workers < threads:
        return workers, 1
    return threads, workers // threads
