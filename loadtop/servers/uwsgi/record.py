"""What the stats server of uWSGI says, with the kernel's accept queue."""

from typing import Annotated

from loadtop.model.server import Gauge, Label, Role, WorkerLimit, counter
from loadtop.servers.worker_processes import SETTING, WorkerProcesses

NAME = "uwsgi"
GROUP = "uwsgi"
SERVER = (NAME, GROUP, Role.APPLICATION)


class UwsgiStatus(WorkerProcesses, frozen=True):
    """``idle`` threads are free, ``cheap`` ones those of workers that do not run now. ``url`` is the address of the
    stats server, ``address`` the first socket of the workers. ``at`` is when the answer came, on the uptime clock of
    its host."""

    url: Label[str] = ""
    version: Label[str] = ""
    idle: Gauge[int | None] = None
    cheap: Gauge[int | None] = None
    requests: Annotated[int | None, counter("requests_s")] = None
    exceptions: Annotated[int | None, counter("exceptions_s")] = None
    sockets: tuple[str, ...] = ()
    at: float | None = None

    @property
    def key(self) -> str:
        return self.url

    @property
    def started(self) -> int | None:
        return None if self.slots is None else self.slots - (self.cheap or 0)

    @property
    def worker_limit(self) -> WorkerLimit:
        return WorkerLimit(SETTING, GROUP, self.workers)
