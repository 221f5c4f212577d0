"""What one reading of the statistics of PostgreSQL says."""

from collections.abc import Mapping
from typing import Annotated

from loadtop.model.server import Gauge, Label, Limit, Role, ServiceReading, ServiceState, counter

NAME = "postgresql"
GROUP = "postgresql"
SERVER = (NAME, GROUP, Role.DATABASE)

FIX = """\
CREATE ROLE "USER" LOGIN;
GRANT pg_monitor TO "USER";"""
"""A role that may see the state of all sessions. USER is the user who watches."""


class PostgresqlStatus(ServiceReading, frozen=True):
    """``connected`` sessions are open, the one that asks among them; of the others, ``active`` execute a statement and
    ``idle_in_transaction`` keep a transaction open. Of the active ones, ``lock_waits``, ``lwlock_waits`` and
    ``io_waits`` wait for a lock, for a lock of the server's own memory, and for a file. ``wait_event`` (its type and
    name, ``LWLock:WALWrite``) is the most frequent one, for which ``wait_event_sessions`` wait. ``blockers`` hold what
    others wait for, of the 50 that have waited longest. ``reserved`` connections are for superusers only. Where the
    states of some sessions are ``hidden``, these counts are not known."""

    connected: Gauge[int | None] = None
    active: Gauge[int | None] = None
    idle_in_transaction: Gauge[int | None] = None
    lock_waits: Gauge[int | None] = None
    lwlock_waits: Gauge[int | None] = None
    io_waits: Gauge[int | None] = None
    blockers: Gauge[int | None] = None
    max_connections: Limit[int | None] = None
    reserved: Limit[int | None] = None
    transactions: Annotated[int | None, counter("transactions_s")] = None
    hidden: Label[bool] = False
    wait_event: Label[str] = ""
    wait_event_sessions: Gauge[int | None] = None

    @property
    def usable(self) -> int | None:
        return None if self.max_connections is None else max(0, self.max_connections - (self.reserved or 0))

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:  # noqa: ARG002 - no rate is needed
        return self.state(NAME, running=self.active, lock_waits=self.lock_waits)
