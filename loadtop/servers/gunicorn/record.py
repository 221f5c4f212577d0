"""What the processes of a gunicorn, its command line and the kernel say of it: it has no status page."""

from loadtop.model.server import Gauge, Label, Role, WorkerLimit
from loadtop.servers.worker_processes import SETTING, WorkerProcesses

NAME = "gunicorn"
GROUP = "gunicorn"
SERVER = (NAME, GROUP, Role.APPLICATION)


class GunicornPool(WorkerProcesses, frozen=True):
    """``workers`` are its processes without the master. ``threads`` is ``None`` for asynchronous workers, and where
    ``worker_class`` is not known (empty). ``connections`` are those that its workers have accepted: each has a request,
    except connections that are kept alive. ``at`` is when they were counted, on the uptime clock of its host."""

    worker_class: Label[str] = ""
    connections: Gauge[int | None] = None
    at: float | None = None

    @property
    def queued(self) -> int | None:
        """Also connections that were accepted although every thread is busy."""
        if self.listen_queue is None or self.connections is None:
            return self.listen_queue
        return self.listen_queue + max(0, self.connections - (self.slots or self.connections))

    @property
    def worker_limit(self) -> WorkerLimit:
        return WorkerLimit(SETTING, GROUP, self.workers)
