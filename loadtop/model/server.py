"""Status pages of the servers under test, as they give them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ApacheStatus:
    """One answer of mod_status. The scoreboard's letters are the truth about slots: its length is the capacity.

    ``accesses``, ``kbytes`` and ``duration_ms`` count since restart and need ExtendedStatus. Connection counts exist
    with asynchronous MPMs only. ``fetch_s`` is how long the page itself took: it needs a free worker too. ``at`` is
    when it came, on the uptime clock of its host's samples: rates of its counters are over the difference of that.
    The last four are the configured limits, where its configuration may be read.
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
    server_limit: int | None = None
    listen_backlog: int | None = None


@dataclass(frozen=True, slots=True)
class FpmPool:
    """One pool of php-fpm; ``accepted``, ``max_children_reached`` and ``slow_requests`` are counters since its start.

    ``active`` contains the worker that serves the status page. ``listen_queue`` is that of the page, and the kernel's
    own for a unix socket, of which the page always says 0, or where no page came; a status request that waits is in it.
    A pool whose page is missing or silent has only that and what its configuration says: every figure of the page is
    ``None`` then. ``max_children`` comes from the configuration where that may be read. ``address`` is where the pool
    listens. ``fetch_s`` and ``at`` as for :class:`ApacheStatus`; ``silent_s`` is how long a page that does not come has
    been waited for.
    """

    pool: str
    manager: str
    accepted: int | None
    listen_queue: int | None
    listen_queue_limit: int | None
    idle: int | None
    active: int | None
    total: int | None
    max_children_reached: int | None
    slow_requests: int | None = None
    max_children: int | None = None
    address: str = ""
    uptime_s: int | None = None
    fetch_s: float | None = None
    at: float | None = None
    silent_s: float | None = None


@dataclass(frozen=True, slots=True)
class HaproxyProxy:
    """One line of HAProxy's statistics: ``server`` is FRONTEND, BACKEND or a server's name. Times are means of the last
    1024 requests in ms.

    ``sessions_total``, bytes, errors, retries, ``requests_total`` and ``http_5xx`` count since its start. ``queue`` is
    requests waiting now, ``queue_limit`` the most that may. ``session_limit`` is ``maxconn`` (of a backend: fullconn).
    ``at`` as for :class:`ApacheStatus`.
    """

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
    queue_limit: int | None = None
    requests_total: int | None = None
    http_5xx: int | None = None
    at: float | None = None
