"""One answer of nginx's stub_status, with the limits from its configuration."""

from typing import Annotated

from loadtop.model.server import Gauge, Label, Limit, Role, ServerReading, counter

NAME = "nginx"
GROUP = "nginx"
SERVER = (NAME, GROUP, Role.WEB, "limit_req")


class NginxStatus(ServerReading, frozen=True):
    """``active`` is client connections: those whose request is being read, answered (``writing``), and those that
    ``waiting`` keep alive. The status request itself is in ``active`` and ``writing``. nginx closes a connection that
    it accepted when its worker has none left: then ``handled`` falls behind ``accepts``. ``proxies``: it passes
    requests on, for which a worker needs a second connection. The limits are ``None`` where the configuration cannot be
    read. ``at`` is when the page came, on the uptime clock of its host."""

    url: Label[str]
    active: Gauge[int]
    reading: Gauge[int]
    writing: Gauge[int]
    waiting: Gauge[int]
    accepts: Annotated[int, counter("accepts_s")]
    handled: Annotated[int, counter("handled_s")]
    requests: Annotated[int, counter("requests_s")]
    worker_processes: Limit[int | None] = None
    worker_connections: Limit[int | None] = None
    proxies: Label[bool] = False
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
