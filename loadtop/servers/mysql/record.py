"""What one reading of the global status of MySQL or MariaDB says."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtop.model.server import Role, ServiceReading, ServiceState, counter, gauge, limit

NAME = "mysql"
GROUP = "mysql"
SERVER = (NAME, GROUP, Role.DATABASE)

FIX = """\
GRANT PROCESS ON *.* TO 'USER'@'localhost';
GRANT SELECT ON performance_schema.* TO 'USER'@'localhost';   (MySQL only)"""
"""What an account needs to see who blocks whom. USER is the user who watches."""


@dataclass(frozen=True, slots=True)
class MysqlStatus(ServiceReading):
    """``connected`` sessions are open, the one that asks among them; ``running`` are the others that execute a
    statement. ``lock_waits`` wait for a row lock of InnoDB; ``lock_ms`` is how long all have waited for row locks.
    ``slow_queries`` took longer than long_query_time. ``refused`` connections found no place. ``blockers_hidden``: the
    account may not see who blocks whom."""

    running: int | None = gauge(default=None)
    connected: int | None = gauge(default=None)
    max_connections: int | None = limit(default=None)
    lock_waits: int | None = gauge(default=None)
    questions: int | None = counter("queries_s", default=None)
    slow_queries: int | None = counter("slow_queries_s", default=None)
    lock_ms: int | None = counter("lock_ms_s", default=None)
    refused: int | None = counter("refused_s", default=None)
    blockers_hidden: bool = False

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return self.state(NAME, per_second.get("refused"), running=self.running, lock_waits=self.lock_waits)
