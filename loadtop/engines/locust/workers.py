"""The worker processes of a load by Locust, as its master reports them."""

from collections.abc import Iterable
from dataclasses import replace

from loadtop.engines.locust.web_api import Worker
from loadtop.model import MISSING, EngineWorker, GeneratorSample

UNKNOWN = "unknown"
"""The state of all workers while the master does not answer."""

_BUSY = ("spawning", "running")


class Workers:
    """Remembers every worker in the order of appearance; one that the master forgets is missing.

    A worker is named after its machine, with a number: ``g1-2``. Locust's own names are as long as a line.
    """

    def __init__(self) -> None:
        self._known: dict[str, EngineWorker] = {}
        self._cpu_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def all(self) -> tuple[EngineWorker, ...]:
        return tuple(self._known.values())

    @property
    def missing(self) -> list[EngineWorker]:
        return [worker for worker in self._known.values() if worker.missing]

    @property
    def full(self) -> EngineWorker | None:
        """The first worker whose core is full."""
        return next((worker for worker in self._known.values() if worker.full), None)

    @property
    def cpu_time(self) -> GeneratorSample | None:
        """Their CPU time, as far as it is known."""
        return GeneratorSample(tuple(self._cpu_s.values()), None, None, None) if self._cpu_s else None

    def update(self, workers: Iterable[Worker], seconds: float) -> None:
        """Take what the master reports, so many seconds after its last report."""
        reported = {worker.id: worker for worker in workers}
        for key, worker in reported.items():
            before = self._known.get(key) or EngineWorker(self._new_name(worker.machine), worker.machine, UNKNOWN)
            self._known[key] = self._updated(worker, before, seconds)
        for key in self._known.keys() - reported.keys():
            self._known[key] = EngineWorker(self._known[key].name, self._known[key].host, MISSING)

    def set_unknown(self) -> None:
        """The master does not answer."""
        for key, worker in self._known.items():
            if not worker.missing:
                self._known[key] = EngineWorker(worker.name, worker.host, UNKNOWN)

    def _new_name(self, machine: str) -> str:
        return f"{machine}-{1 + sum(worker.host == machine for worker in self._known.values())}"

    def _updated(self, worker: Worker, before: EngineWorker, seconds: float) -> EngineWorker:
        if worker.state == MISSING:
            return EngineWorker(before.name, before.host, MISSING)
        if not worker.memory:  # it has just started; after a stop, it starts anew for its master
            return replace(before, state=worker.state, users=worker.users)
        # psutil's first share of a core is always 0.
        known = worker.cpu > 0 or worker.id in self._cpu_s
        if known:
            used = worker.cpu / 100.0 * seconds if worker.state in _BUSY else 0.0
            self._cpu_s[worker.id] = self._cpu_s.get(worker.id, 0.0) + used
        cpu_pct, memory_kb = worker.cpu if known else None, round(worker.memory / 1024)
        return EngineWorker(before.name, before.host, worker.state, worker.users, cpu_pct, memory_kb)
