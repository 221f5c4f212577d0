"""The reading of a pool of worker processes, whatever its kind."""

from dataclasses import dataclass

from loadtop.model.server import ServerReading, gauge, label, limit

SETTING = "--workers"


@dataclass(frozen=True, slots=True)
class WorkerProcesses(ServerReading):
    """A pool of ``workers`` processes with ``threads`` threads each; a thread serves one request at a time.

    ``address`` is where the pool listens, ``active`` how many threads serve a request, ``listen_queue`` the kernel's
    accept queue there."""

    address: str = label(default="")
    workers: int | None = limit(default=None)
    threads: int | None = limit(default=None)
    active: int | None = gauge(default=None)
    listen_queue: int | None = gauge(default=None)

    @property
    def key(self) -> str:
        return self.address

    @property
    def slots(self) -> int | None:
        return None if self.workers is None or self.threads is None else self.workers * self.threads

    @property
    def started(self) -> int | None:
        """The slots of workers that run; the others start on demand."""
        return self.slots

    @property
    def queued(self) -> int | None:
        return self.listen_queue

    @property
    def full(self) -> float | None:
        """Percent of the slots that are busy; ``None`` where either number is not known."""
        return 100.0 * self.active / self.slots if self.active is not None and self.slots else None
