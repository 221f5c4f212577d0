"""The workers of another engine over a whole test, as that engine tells of them."""

from typing import Any

from loadtop.analysis.totals.statistic import Statistic
from loadtop.model import EngineWorker

Json = dict[str, Any]


class WorkerSummary:
    """One worker: its state at the end, and figures of the intervals in which load ran."""

    def __init__(self, worker: EngineWorker) -> None:
        self._last = worker
        self._users = Statistic()
        self._cpu_pct = Statistic()
        self._memory_kb = Statistic()

    def add(self, worker: EngineWorker, *, running: bool) -> None:
        """Count one interval; one in which no load ran any more has a state only."""
        self._last = worker
        if running:
            self._users.add(worker.users)
            self._cpu_pct.add(worker.cpu_pct)
            self._memory_kb.add(worker.memory_kb)

    def as_json(self) -> Json:
        """Its entry in ``load.workers`` of the JSON summary."""
        return {
            "name": self._last.name,
            "host": self._last.host,
            "state": self._last.state,
            "users": self._users.as_json(),
            "cpu_pct": self._cpu_pct.as_json(),
            "memory_kb": self._memory_kb.as_json(),
        }
