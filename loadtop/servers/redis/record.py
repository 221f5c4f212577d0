"""What one INFO of a Redis server says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from loadtop.model.server import Role, ServiceReading, ServiceState, counter, gauge, limit

NAME = "redis"
GROUP = "redis"
SERVER = (NAME, GROUP, Role.CACHE)


@dataclass(frozen=True, slots=True)
class RedisStatus(ServiceReading):
    """``clients`` are connections, the one that asks among them, ``blocked`` those that wait for data (BLPOP and the
    like). ``slowlog`` is the length of the log of slow commands. ``cpu`` is CPU time of the thread that executes
    commands, in hundredths of a second: its rate is the percentage of a core."""

    setting: ClassVar[str] = "maxclients"
    counted: ClassVar[str] = "clients"
    limited: ClassVar[str] = "max_clients"

    clients: int | None = gauge(default=None)
    blocked: int | None = gauge(default=None)
    max_clients: int | None = limit(default=None)
    slowlog: int | None = gauge(default=None)
    commands: int | None = counter("commands_s", default=None)
    rejected: int | None = counter("rejected_s", default=None)
    cpu: float | None = counter("cpu_pct", default=None)

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return self.state(NAME, per_second.get("rejected"), thread_pct=per_second.get("cpu"))
