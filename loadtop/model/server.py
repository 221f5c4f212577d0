"""Status pages of the servers under test, as they give them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApacheStatus:
    """One answer of mod_status. The scoreboard's letters are the truth about slots: its length is the capacity.

    ``accesses``, ``kbytes`` and ``duration_ms`` count since restart and need ExtendedStatus. Connection counts exist
    with asynchronous MPMs only. ``fetch_s`` is how long the page itself took: it needs a free worker too. ``at`` is
    when it came, on the uptime clock of its host's samples: rates of its counters are over the difference of that.
    """

    url: str
    mpm: str
    version: str
    scoreboard: str
    uptime_s: int | None = None
    accesses: int | None = None
    kbytes: int | None = None
    duration_ms: int | None = None
    processes: int | None = None
    stopping: int | None = None
    connections: int | None = None
    connections_writing: int | None = None
    connections_keepalive: int | None = None
    connections_closing: int | None = None
    fetch_s: float | None = None
    at: float | None = None
    max_request_workers: int | None = None
    threads_per_child: int | None = None


@dataclass(frozen=True, slots=True)
class FpmPool:
    """One pool of php-fpm's status page; ``accepted``, ``max_children_reached`` and ``slow_requests`` are counters.

    ``max_children`` comes from the pool's configuration where it is readable.
    """

    pool: str
    manager: str
    accepted: int
    listen_queue: int | None
    listen_queue_limit: int | None
    idle: int
    active: int
    total: int
    max_children_reached: int
    slow_requests: int | None = None
    max_children: int | None = None


@dataclass(frozen=True, slots=True)
class HaproxyProxy:
    """One line of HAProxy's statistics: ``server`` is FRONTEND, BACKEND or a server's name. Times are means in ms."""

    proxy: str
    server: str
    status: str
    queue: int | None
    sessions: int
    session_limit: int | None
    sessions_total: int
    bytes_in: int
    bytes_out: int
    connect_errors: int | None = None
    response_errors: int | None = None
    retries: int | None = None
    queue_ms: int | None = None
    response_ms: int | None = None
