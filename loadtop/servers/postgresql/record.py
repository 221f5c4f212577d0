"""What one reading of the statistics of PostgreSQL says."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtop.model.server import Blocker, ServerReading, ServiceState, counter, gauge, label, limit

NAME = "postgresql"
GROUP = "postgresql"

FIX = """\
CREATE ROLE "USER" LOGIN;
GRANT pg_monitor TO "USER";"""
"""A role that may see the state of all sessions. USER is the user who watches."""


@dataclass(frozen=True, slots=True)
class PostgresqlStatus(ServerReading):
    """``connected`` sessions are open, the one that asks among them; of the others, ``active`` execute a statement and
    ``idle_in_transaction`` keep a transaction open. Of the active ones, ``lock_waits``, ``lwlock_waits`` and
    ``io_waits`` wait for a lock, for a lock of the server's own memory, and for a file. ``blockers`` hold what others
    wait for, of the 50 that have waited longest; ``blocker`` blocks most of these. ``reserved`` connections are for
    superusers only. Where the states of some sessions are ``hidden``, these counts are not known. ``refuses``: no
    connection is left, and nothing else is known. ``at`` is when the answer came, on the uptime clock of its host."""

    address: str = label()
    version: str = label(default="")
    connected: int | None = gauge(default=None)
    active: int | None = gauge(default=None)
    idle_in_transaction: int | None = gauge(default=None)
    lock_waits: int | None = gauge(default=None)
    lwlock_waits: int | None = gauge(default=None)
    io_waits: int | None = gauge(default=None)
    blockers: int | None = gauge(default=None)
    max_connections: int | None = limit(default=None)
    reserved: int | None = limit(default=None)
    transactions: int | None = counter("transactions_s", default=None)
    hidden: bool = label(default=False)
    refuses: bool = label(default=False)
    port: int | None = None
    uptime_s: int | None = None
    at: float | None = None
    blocker: Blocker | None = None

    @property
    def key(self) -> str:
        return self.address

    @property
    def usable(self) -> int | None:
        """Connections that ordinary users can have."""
        if self.max_connections is None:
            return None
        return max(0, self.max_connections - (self.reserved or 0))

    @property
    def full(self) -> float | None:
        """Percent of the connections of ordinary users in use; ``None`` where the limit is not known."""
        if self.refuses:
            return 100.0
        return None if self.connected is None or not self.usable else 100.0 * self.connected / self.usable

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:  # noqa: ARG002 - no rate is needed
        return ServiceState(
            kind=NAME,
            address=self.address,
            port=self.port,
            connected=self.connected,
            connection_limit=self.usable,
            running=self.active,
            lock_waits=self.lock_waits,
            refuses=self.refuses,
            blocker=self.blocker,
        )
