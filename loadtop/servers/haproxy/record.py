"""One line of HAProxy's statistics."""

from typing import Annotated

from loadtop.model.server import Gauge, Label, Limit, Role, ServerReading, counter

NAME = "haproxy"
GROUP = "haproxy"
SERVER = (NAME, GROUP, Role.PROXY)

FRONTEND, BACKEND = "FRONTEND", "BACKEND"


class HaproxyProxy(ServerReading, frozen=True):
    """``server`` is FRONTEND, BACKEND or a server's name; ``session_limit`` is ``maxconn`` (of a backend: fullconn).
    Times are means of the last 1,024 requests in ms. ``at`` is when it came, on the uptime clock of its host."""

    proxy: Label[str]
    server: Label[str]
    status: Label[str]
    queue: Gauge[int | None]
    sessions: Gauge[int]
    session_limit: Limit[int | None]
    sessions_total: Annotated[int, counter("sessions_s")]
    bytes_in: Annotated[int, counter("in_bytes_s")]
    bytes_out: Annotated[int, counter("out_bytes_s")]
    connect_errors: Annotated[int | None, counter("connect_errors_s")] = None
    response_errors: Annotated[int | None, counter("response_errors_s")] = None
    retries: Annotated[int | None, counter("retries_s")] = None
    queue_ms: Gauge[int | None] = None
    response_ms: Gauge[int | None] = None
    queue_limit: Limit[int | None] = None
    requests_total: Annotated[int | None, counter("requests_s")] = None
    http_5xx: Annotated[int | None, counter("http_5xx_s")] = None
    at: float | None = None

    @property
    def key(self) -> str:
        return f"{self.proxy}/{self.server}"

    @property
    def is_frontend(self) -> bool:
        return self.server == FRONTEND

    @property
    def is_backend(self) -> bool:
        return self.server == BACKEND

    @property
    def is_server(self) -> bool:
        """Whether this is a server of a backend, not a sum over several."""
        return self.server not in (FRONTEND, BACKEND)

    @property
    def queued(self) -> int | None:
        return None if self.is_frontend else self.queue

    @property
    def is_up(self) -> bool:
        return not self.status.startswith(("DOWN", "MAINT"))

    @property
    def full(self) -> float | None:
        """Percent of ``maxconn`` in use; ``None`` where there is no limit."""
        return 100.0 * self.sessions / self.session_limit if self.session_limit else None
