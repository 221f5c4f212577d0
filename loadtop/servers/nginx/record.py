"""One answer of nginx's stub_status, with the limits from its configuration."""

from dataclasses import dataclass

from loadtop.model.server import Role, ServerReading, counter, gauge, label, limit

NAME = "nginx"
GROUP = "nginx"
SERVER = (NAME, GROUP, Role.WEB)


@dataclass(frozen=True, slots=True)
class NginxStatus(ServerReading):
    """``active`` is client connections: those whose request is being read, answered (``writing``), and those that
    ``waiting`` keep alive. The status request itself is in ``active`` and ``writing``. nginx closes a connection that
    it accepted when its worker has none left: then ``handled`` falls behind ``accepts``. ``proxies``: it passes
    requests on, for which a worker needs a second connection. The limits are ``None`` where the configuration cannot be
    read. ``at`` is when the page came, on the uptime clock of its host."""

    url: str = label()
    active: int = gauge()
    reading: int = gauge()
    writing: int = gauge()
    waiting: int = gauge()
    accepts: int = counter("accepts_s")
    handled: int = counter("handled_s")
    requests: int = counter("requests_s")
    worker_processes: int | None = limit(default=None)
    worker_connections: int | None = limit(default=None)
    proxies: bool = label(default=False)
    at: float | None = None

    @property
    def key(self) -> str:
        return self.url

    @property
    def capacity(self) -> int | None:
        """What all workers may hold, with connections to other servers (ngx_core_module: worker_connections)."""
        if self.worker_processes is None or self.worker_connections is None:
            return None
        return self.worker_processes * self.worker_connections

    @property
    def per_request(self) -> int:
        """How many connections a request takes."""
        return 2 if self.proxies else 1

    @property
    def used(self) -> int:
        """The connections that requests take now: kept-alive ones are closed when a new one needs their place."""
        return (self.reading + self.writing) * self.per_request

    @property
    def full(self) -> float | None:
        """Percent of the connections in use; ``None`` where the limit is not known."""
        return 100.0 * self.used / self.capacity if self.capacity else None
