"""The reading of a pool of worker processes, whatever its kind."""

from loadtop.model.server import Gauge, Label, Limit, ServerReading

SETTING = "--workers"


class WorkerProcesses(ServerReading, frozen=True):
    """A pool of ``workers`` processes with ``threads`` threads each; a thread serves one request at a time.

    ``address`` is where the pool listens, ``active`` how many threads serve a request, ``listen_queue`` the kernel's
    accept queue there."""

    address: Label[str] = ""
    workers: Limit[int | None] = None
    threads: Limit[int | None] = None
    active: Gauge[int | None] = None
    listen_queue: Gauge[int | None] = None

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
