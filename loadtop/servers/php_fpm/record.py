"""One pool of php-fpm, from its status page and its configuration."""

from dataclasses import dataclass

from loadtop.model.server import Role, ServerReading, WorkerLimit, counter, gauge, label, limit

NAME = "fpm"
GROUP = "php-fpm"
SERVER = (NAME, GROUP, Role.APPLICATION)


@dataclass(frozen=True, slots=True)
class FpmPool(ServerReading):
    """``active`` contains the child that serves the status page. ``listen_queue`` is the page's own figure, or the
    kernel's for a unix socket (the page always says 0 there) and where no page came; it contains a waiting status
    request. Without a page only the queue and the configured limits are known. ``address`` is where the pool listens.
    ``silent_s`` is how long an unanswered page has been waited for; ``at`` is when the page came, on the uptime clock
    of its host."""

    pool: str = label()
    manager: str = label()
    accepted: int | None = counter("requests_s")
    listen_queue: int | None = gauge()
    listen_queue_limit: int | None = limit()
    idle: int | None = gauge()
    active: int | None = gauge()
    total: int | None = gauge()
    max_children_reached: int | None = counter("max_children_reached_s")
    slow_requests: int | None = counter("slow_requests_s", default=None)
    max_children: int | None = limit(default=None)
    address: str = label(default="")
    uptime_s: int | None = None
    fetch_s: float | None = gauge(default=None)
    at: float | None = None
    silent_s: float | None = gauge(default=None)

    @property
    def key(self) -> str:
        return self.pool

    @property
    def most_children(self) -> int | None:
        """The most children: configured, or those that run now (a static pool runs all of them)."""
        return self.max_children or self.total or None

    @property
    def slots(self) -> int | None:
        return self.most_children

    @property
    def queued(self) -> int | None:
        return self.listen_queue

    @property
    def worker_limit(self) -> WorkerLimit:
        return WorkerLimit("pm.max_children", GROUP, self.most_children)

    @property
    def full(self) -> float | None:
        """Percent of the children that are busy; ``None`` where either number is not known."""
        return None if self.active is None or self.most_children is None else 100.0 * self.active / self.most_children
