"""One pool of php-fpm, from its status page and its configuration."""

from typing import Annotated

from loadtop.model.server import Gauge, Label, Limit, Role, ServerReading, WorkerLimit, counter

NAME = "fpm"
GROUP = "php-fpm"
SERVER = (NAME, GROUP, Role.APPLICATION)


class FpmPool(ServerReading, frozen=True):
    """``active`` contains the child that serves the status page. ``listen_queue`` is the page's own figure, or the
    kernel's for a unix socket (the page always says 0 there) and where no page came; it contains a waiting status
    request. Without a page only the queue and the configured limits are known. ``address`` is where the pool listens.
    ``silent_s`` is how long an unanswered page has been waited for; ``at`` is when the page came, on the uptime clock
    of its host."""

    pool: Label[str]
    manager: Label[str]
    accepted: Annotated[int | None, counter("requests_s")]
    listen_queue: Gauge[int | None]
    listen_queue_limit: Limit[int | None]
    idle: Gauge[int | None]
    active: Gauge[int | None]
    total: Gauge[int | None]
    max_children_reached: Annotated[int | None, counter("max_children_reached_s")]
    slow_requests: Annotated[int | None, counter("slow_requests_s")] = None
    max_children: Limit[int | None] = None
    address: Label[str] = ""
    uptime_s: int | None = None
    fetch_s: Gauge[float | None] = None
    at: float | None = None
    silent_s: Gauge[float | None] = None

    @property
    def key(self) -> str:
        return self.pool

    @property
    def most_children(self) -> int | None:
        """The most children: configured, or those that run now."""
        return self.max_children or self.total or None

    @property
    def configured_children(self) -> int | None:
        """The value of pm.max_children; a static pool runs so many."""
        return self.max_children or (self.total if self.manager == "static" else None) or None

    @property
    def slots(self) -> int | None:
        return self.most_children

    @property
    def queued(self) -> int | None:
        return self.listen_queue

    @property
    def worker_limit(self) -> WorkerLimit:
        return WorkerLimit("pm.max_children", GROUP, self.configured_children)

    @property
    def full(self) -> float | None:
        """Percent of the children that are busy; ``None`` where either number is not known."""
        return None if self.active is None or self.most_children is None else 100.0 * self.active / self.most_children
