"""The servers under test as a sweep sees them in one interval: worker slots, and the memory of their processes."""

from dataclasses import dataclass
from statistics import median

from loadtop.model import Process
from loadtop.rates.measured import HostView
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import GROUP as HTTPD
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import GROUP as FPM
from loadtop.servers.php_fpm.record import FpmPool


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool of workers: Apache's (``name`` is empty) or one of php-fpm's.

    ``busy`` leaves out the slot that answers the status page; ``busy_most`` is the most of any interval. ``started``
    are slots whose process or thread is there. ``manager`` is the MPM, or how php-fpm starts children. Memory is that
    of all its processes in kB: RSS, and what the pages that they share add to it (``None`` where PSS cannot be read).
    """

    group: str
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
    """The pools of the machine in its newest interval: php-fpm's first, which Apache waits for."""
    rates = host.rates
    if rates is None:
        return ()
    processes = [row.process for row in rates.processes or ()]
    children = [process for process in processes if process.group == FPM]
    httpd = [process for process in processes if process.group == HTTPD]
    found = [_fpm(each.reading, children, len(PHP_FPM.rates(rates))) for each in PHP_FPM.rates(rates)]
    return (
        *(pool for pool in found if pool is not None),
        *(_apache(page.reading, httpd) for page in APACHE.rates(rates)),
    )


def _fpm(pool: FpmPool, children: list[Process], pools: int) -> Pool | None:
    """A pool of php-fpm; ``None`` where its page gives no figures. One that is asked and silent is full."""
    silent = pool.silent_s is not None and pool.max_children is not None
    total = pool.max_children if silent and pool.total is None else pool.total
    active = pool.max_children if silent and pool.active is None else pool.active
    if total is None or active is None:
        return None
    # Processes do not tell their pool: only where there is one is their memory its own.
    rss, shared = _memory(children) if pools == 1 else (None, None)
    busy = active if silent else max(0, active - 1)
    return Pool(FPM, pool.pool, pool.manager, pool.max_children, total, busy, busy, None, total, rss, shared)


def _apache(page: ApacheStatus, httpd: list[Process]) -> Pool:
    busy = max(0, page.busy + page.graceful - 1)
    return Pool(
        HTTPD,
        "",
        page.mpm,
        page.capacity,
        page.capacity - page.open,
        busy,
        busy,
        page.threads_per_child,
        page.processes or max(1, len(httpd) - 1),
        *_memory(httpd),
    )


def _memory(processes: list[Process]) -> tuple[int | None, float | None]:
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
    return rss, sum(min(usual, _shared(process, usual)) for process in processes)


def _shared(process: Process, usual: float) -> float:
    return usual if process.pss_kb is None else max(0.0, process.rss_kb - process.pss_kb)
