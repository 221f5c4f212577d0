"""What one reading of the global status of MySQL or MariaDB says."""

from collections.abc import Mapping
from typing import Annotated

from loadtop.model.server import Gauge, Limit, Role, ServiceReading, ServiceState, counter

NAME = "mysql"
GROUP = "mysql"
SERVER = (NAME, GROUP, Role.DATABASE)

FIX = """\
GRANT PROCESS ON *.* TO 'USER'@'localhost';
GRANT SELECT ON performance_schema.* TO 'USER'@'localhost';   (MySQL only)"""
"""What an account needs to see who blocks whom. USER is the user who watches."""


class MysqlStatus(ServiceReading, frozen=True):
    """``connected`` sessions are open, the one that asks among them; ``running`` are the others that execute a
    statement. ``lock_waits`` wait for a row lock of InnoDB; ``lock_ms`` is how long all have waited for row locks.
    ``slow_queries`` took longer than long_query_time. ``refused`` connections found no place. ``blockers_hidden``: the
    account may not see who blocks whom."""

    running: Gauge[int | None] = None
    connected: Gauge[int | None] = None
    max_connections: Limit[int | None] = None
    lock_waits: Gauge[int | None] = None
    questions: Annotated[int | None, counter("queries_s")] = None
    slow_queries: Annotated[int | None, counter("slow_queries_s")] = None
    lock_ms: Annotated[int | None, counter("lock_ms_s")] = None
    refused: Annotated[int | None, counter("refused_s")] = None
    blockers_hidden: bool = False

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return self.state(NAME, per_second.get("refused"), running=self.running, lock_waits=self.lock_waits)
