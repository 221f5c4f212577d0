"""What one INFO of a Redis server says."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from loadtop.model.server import Gauge, Limit, Role, ServiceReading, ServiceState, counter

NAME = "redis"
GROUP = "redis"
SERVER = (NAME, GROUP, Role.CACHE)


class RedisStatus(ServiceReading, frozen=True):
    """``clients`` are connections, the one that asks among them, ``blocked`` those that wait for data (BLPOP and the
    like). ``slowlog`` is the length of the log of slow commands. ``cpu`` is CPU time of the thread that executes
    commands, in hundredths of a second: its rate is the percentage of a core."""

    setting: ClassVar[str] = "maxclients"
    counted: ClassVar[str] = "clients"
    limited: ClassVar[str] = "max_clients"

    clients: Gauge[int | None] = None
    blocked: Gauge[int | None] = None
    max_clients: Limit[int | None] = None
    slowlog: Gauge[int | None] = None
    commands: Annotated[int | None, counter("commands_s")] = None
    rejected: Annotated[int | None, counter("rejected_s")] = None
    cpu: Annotated[float | None, counter("cpu_pct")] = None

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return self.state(NAME, per_second.get("rejected"), thread_pct=per_second.get("cpu"))
