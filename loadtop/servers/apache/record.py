"""One answer of Apache's mod_status."""

from typing import Annotated

from loadtop.model.server import Gauge, Label, Limit, Role, ServerReading, WorkerLimit, counter

NAME = "apache"
GROUP = "httpd"
SERVER = (NAME, GROUP, Role.WEB)


class ApacheStatus(ServerReading, frozen=True):
    """The letters of the scoreboard are the truth about worker slots: its length is the capacity. ``accesses``,
    ``kbytes`` and ``duration_ms`` need ExtendedStatus; connection counts exist with asynchronous MPMs only. ``fetch_s``
    is how long the page took: it needs a free worker too. ``at`` is when it came, on the uptime clock of its host. The
    limits come from the configuration."""

    url: Label[str]
    mpm: Label[str]
    version: Label[str]
    scoreboard: Label[str]
    uptime_s: int | None = None
    accesses: Annotated[int | None, counter("requests_s")] = None
    kbytes: Annotated[int | None, counter("kb_s")] = None
    duration_ms: Annotated[int | None, counter("duration_ms_s")] = None
    processes: Gauge[int | None] = None
    stopping: Gauge[int | None] = None
    connections: Gauge[int | None] = None
    connections_writing: Gauge[int | None] = None
    connections_keepalive: Gauge[int | None] = None
    connections_closing: Gauge[int | None] = None
    fetch_s: Gauge[float | None] = None
    at: float | None = None
    max_request_workers: Limit[int | None] = None
    threads_per_child: Limit[int | None] = None
    server_limit: Limit[int | None] = None
    listen_backlog: Limit[int | None] = None

    @property
    def key(self) -> str:
        return self.url

    @property
    def capacity(self) -> int:
        return len(self.scoreboard)

    @property
    def slots(self) -> int:
        return self.capacity

    @property
    def worker_limit(self) -> WorkerLimit:
        return WorkerLimit("MaxRequestWorkers", GROUP, self.capacity)

    @property
    def busy(self) -> int:
        """Slots that serve or hold a connection: R, W, K, D, C and L."""
        return sum(map(self.scoreboard.count, "RWKDCL"))

    @property
    def idle(self) -> int:
        """Slots that wait for a connection."""
        return self.scoreboard.count("_")

    @property
    def open(self) -> int:
        """Slots without a process or thread."""
        return self.scoreboard.count(".")

    @property
    def keepalive(self) -> int:
        """Slots that only hold a kept-alive connection."""
        return self.scoreboard.count("K")

    @property
    def closing(self) -> int:
        """Slots that close a connection: a column of exports."""
        return self.scoreboard.count("C")

    @property
    def graceful(self) -> int:
        """Slots of processes that finish their last request."""
        return self.scoreboard.count("G")

    @property
    def full(self) -> float:
        """Percent of the slots that serve, hold or finish a connection."""
        return 100.0 * (self.busy + self.graceful) / self.capacity if self.capacity else 0.0
