"""One line of HAProxy's statistics."""

from dataclasses import dataclass

from loadtop.model.server import Role, ServerReading, counter, gauge, label, limit

NAME = "haproxy"
GROUP = "haproxy"
SERVER = (NAME, GROUP, Role.PROXY)

FRONTEND, BACKEND = "FRONTEND", "BACKEND"


@dataclass(frozen=True, slots=True)
class HaproxyProxy(ServerReading):
    """``server`` is FRONTEND, BACKEND or a server's name; ``session_limit`` is ``maxconn`` (of a backend: fullconn).
    Times are means of the last 1,024 requests in ms. ``at`` is when it came, on the uptime clock of its host."""

    proxy: str = label()
    server: str = label()
    status: str = label()
    queue: int | None = gauge()
    sessions: int = gauge()
    session_limit: int | None = limit()
    sessions_total: int = counter("sessions_s")
    bytes_in: int = counter("in_bytes_s")
    bytes_out: int = counter("out_bytes_s")
    connect_errors: int | None = counter("connect_errors_s", default=None)
    response_errors: int | None = counter("response_errors_s", default=None)
    retries: int | None = counter("retries_s", default=None)
    queue_ms: int | None = gauge(default=None)
    response_ms: int | None = gauge(default=None)
    queue_limit: int | None = limit(default=None)
    requests_total: int | None = counter("requests_s", default=None)
    http_5xx: int | None = counter("http_5xx_s", default=None)
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
