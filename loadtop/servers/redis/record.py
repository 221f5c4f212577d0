"""What one INFO of a Redis server says."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtop.model.server import ServerReading, ServiceState, counter, gauge, label, limit

NAME = "redis"
GROUP = "redis"


@dataclass(frozen=True, slots=True)
class RedisStatus(ServerReading):
    """``clients`` are connections, the one that asks among them, ``blocked`` those that wait for data (BLPOP and the
    like). ``slowlog`` is the length of the log of slow commands. ``cpu`` is CPU time of the thread that executes
    commands, in hundredths of a second: its rate is the percentage of a core. ``refuses``: it has too many clients to
    take one more, and says nothing else. ``at`` is when the answer came, on the uptime clock of its host."""

    address: str = label()
    version: str = label(default="")
    clients: int | None = gauge(default=None)
    blocked: int | None = gauge(default=None)
    max_clients: int | None = limit(default=None)
    slowlog: int | None = gauge(default=None)
    commands: int | None = counter("commands_s", default=None)
    rejected: int | None = counter("rejected_s", default=None)
    cpu: float | None = counter("cpu_pct", default=None)
    refuses: bool = label(default=False)
    port: int | None = None
    uptime_s: int | None = None
    at: float | None = None

    @property
    def key(self) -> str:
        return self.address

    @property
    def full(self) -> float | None:
        """Percent of ``maxclients`` in use; ``None`` where the limit is not known."""
        if self.refuses:
            return 100.0
        return None if self.clients is None or not self.max_clients else 100.0 * self.clients / self.max_clients

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        return ServiceState(
            kind=NAME,
            address=self.address,
            port=self.port,
            connected=self.clients,
            connection_limit=self.max_clients,
            thread_pct=per_second.get("cpu"),
            refuses=self.refuses or bool(per_second.get("rejected")),
        )
