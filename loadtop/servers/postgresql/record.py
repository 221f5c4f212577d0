"""What one reading of the statistics of PostgreSQL says."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtop.model.server import Role, ServiceReading, ServiceState, counter, gauge, label, limit

NAME = "postgresql"
GROUP = "postgresql"
SERVER = (NAME, GROUP, Role.DATABASE)

FIX = """\
CREATE ROLE "USER" LOGIN;
GRANT pg_monitor TO "USER";"""
"""A role that may see the state of all sessions. USER is the user who watches."""


@dataclass(frozen=True, slots=True)
class PostgresqlStatus(ServiceReading):
    """``connected`` sessions are open, the one that asks among them; of the others, ``active`` execute a statement and
    ``idle_in_transaction`` keep a transaction open. Of the active ones, ``lock_waits``, ``lwlock_waits`` and
    ``io_waits`` wait for a lock, for a lock of the server's own memory, and for a file. ``blockers`` hold what others
    wait for, of the 50 that have waited longest. ``reserved`` connections are for superusers only. Where the states of
    some sessions are ``hidden``, these counts are not known."""

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

    @property
    def usable(self) -> int | None:
        return None if self.max_connections is None else max(0, self.max_connections - (self.reserved or 0))

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:  # noqa: ARG002 - no rate is needed
        return self.state(NAME, running=self.active, lock_waits=self.lock_waits)
