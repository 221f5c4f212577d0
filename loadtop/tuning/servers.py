"""The servers under test as a sweep sees them in one interval: worker slots, and the memory of their processes."""

from dataclasses import dataclass
from statistics import median

from loadtop.model import Group, Process
from loadtop.moment import HostView


@dataclass(frozen=True, slots=True)
class Pool:
    """One pool of workers: Apache's (``name`` is empty) or one of php-fpm's.

    ``busy`` leaves out the slot that answers the status page; ``busy_most`` is the most of any interval. ``started``
    are slots whose process or thread is there. ``manager`` is the MPM, or how php-fpm starts children. Memory is that
    of all its processes in kB: RSS, and what the pages that they share add to it (``None`` where PSS cannot be read).
    """

    group: Group
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
    found: list[Pool] = []
    children = [process for process in processes if process.group is Group.FPM]
    for fpm in rates.fpm or ():
        # Processes do not tell their pool; with several pools their memory is shared out by children.
        all_children = sum(each.pool.total for each in rates.fpm or ())
        part = fpm.pool.total / all_children if all_children else 0.0
        rss, shared = _memory(children)
        found.append(
            Pool(
                Group.FPM,
                fpm.pool.pool,
                fpm.pool.manager,
                fpm.pool.max_children,
                fpm.pool.total,
                fpm.pool.active,
                fpm.pool.active,
                None,
                fpm.pool.total,
                None if rss is None else round(rss * part),
                None if shared is None else shared * part,
            )
        )
    for page in rates.apache or ():
        httpd = [process for process in processes if process.group is Group.HTTPD]
        rss, shared = _memory(httpd)
        status = page.status
        busy = max(0, page.busy + page.graceful - 1)
        found.append(
            Pool(
                Group.HTTPD,
                "",
                page.mpm,
                page.capacity,
                page.capacity - page.open,
                busy,
                busy,
                status.threads_per_child,
                status.processes or max(1, len(httpd) - 1),
                rss,
                shared,
            )
        )
    return tuple(found)


def _memory(processes: list[Process]) -> tuple[int | None, float | None]:
    """RSS of these processes together, and by how much it counts shared pages twice.

    PSS is read of few processes at a time, so it is older than RSS; the shared part hardly changes, and its median over
    the processes is right also while one of them grows.
    """
    if not processes:
        return None, None
    rss = sum(process.rss_kb for process in processes)
    known = [process.rss_kb - process.pss_kb for process in processes if process.pss_kb is not None]
    if 2 * len(known) < len(processes):
        return rss, None
    return rss, max(0.0, median(known)) * len(processes)
