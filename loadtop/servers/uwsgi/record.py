"""What the stats server of uWSGI says, with the kernel's accept queue."""

from dataclasses import dataclass

from loadtop.model.server import Role, WorkerLimit, counter, gauge, label
from loadtop.servers.worker_processes import SETTING, WorkerProcesses

NAME = "uwsgi"
GROUP = "uwsgi"
SERVER = (NAME, GROUP, Role.APPLICATION)


@dataclass(frozen=True, slots=True)
class UwsgiStatus(WorkerProcesses):
    """``idle`` threads are free, ``cheap`` ones those of workers that do not run now. ``url`` is the address of the
    stats server, ``address`` the first socket of the workers. ``at`` is when the answer came, on the uptime clock of
    its host."""

    url: str = label(default="")
    version: str = label(default="")
    idle: int | None = gauge(default=None)
    cheap: int | None = gauge(default=None)
    requests: int | None = counter("requests_s", default=None)
    exceptions: int | None = counter("exceptions_s", default=None)
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
