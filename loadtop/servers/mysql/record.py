"""What one reading of the global status of MySQL or MariaDB says."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtop.model.server import Blocker, ServerReading, ServiceState, counter, gauge, label, limit

NAME = "mysql"
GROUP = "mysql"

FIX = """\
GRANT PROCESS ON *.* TO 'USER'@'localhost';
GRANT SELECT ON performance_schema.* TO 'USER'@'localhost';   (MySQL only)"""
"""What an account needs to see who blocks whom. USER is the user who watches."""


@dataclass(frozen=True, slots=True)
class MysqlStatus(ServerReading):
    """``connected`` sessions are open, the one that asks among them; ``running`` are the others that execute a
    statement. ``lock_waits`` wait for a row lock of InnoDB; ``lock_ms`` is how long all have waited for row locks.
    ``slow_queries`` took longer than long_query_time. ``refused`` connections found no place; ``refuses``: so did the
    one that asks, and nothing else is known. ``blocker`` is the session that blocks most of those that wait;
    ``blockers_hidden``: the account may not see it. ``at`` is when the answer came, on the uptime clock of its
    host."""

    address: str = label()
    version: str = label(default="")
    running: int | None = gauge(default=None)
    connected: int | None = gauge(default=None)
    max_connections: int | None = limit(default=None)
    lock_waits: int | None = gauge(default=None)
    questions: int | None = counter("queries_s", default=None)
    slow_queries: int | None = counter("slow_queries_s", default=None)
    lock_ms: int | None = counter("lock_ms_s", default=None)
    refused: int | None = counter("refused_s", default=None)
    refuses: bool = label(default=False)
    port: int | None = None
    uptime_s: int | None = None
    at: float | None = None
    blocker: Blocker | None = None
    blockers_hidden: bool = False

    @property
    def key(self) -> str:
        return self.address

    @property
    def full(self) -> float | None:
        """Percent of ``max_connections`` in use; ``None`` where the limit is not known."""
        if self.refuses:
            return 100.0
        if self.connected is None or not self.max_connections:
            return None
        return 100.0 * self.connected / self.max_connections

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return ServiceState(
            kind=NAME,
            address=self.address,
            port=self.port,
            connected=self.connected,
            connection_limit=self.max_connections,
            running=self.running,
            lock_waits=self.lock_waits,
            refuses=self.refuses or bool(per_second.get("refused")),
            blocker=self.blocker,
        )
