"""The workers of another engine over a whole test, as that engine tells of them."""

from collections.abc import Sequence
from typing import Any

from loadtop.model import EngineWorker
from loadtop.summary.statistic import Statistic
from loadtop.words import plain, tr

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


def worker_rows(workers: Sequence[Json]) -> list[str]:
    """A row of the text report for each."""
    from loadtop.summary.text import figure

    def shown(statistic: Json | None, name: str = "mean", scale: float = 1.0) -> str:
        return figure(None if statistic is None else round(statistic[name] / scale, 1))

    cells = max((len(plain(worker["name"])) for worker in workers), default=0)
    return [
        tr(
            "  worker   {name}  {state}  users {users}  cpu {cpu} % of a core (at most {most})  {size} MB",
            name=plain(worker["name"]).ljust(cells),
            state=plain(worker["state"]).ljust(8),
            users=shown(worker["users"], "max"),
            cpu=shown(worker["cpu_pct"]),
            most=shown(worker["cpu_pct"], "max"),
            size=shown(worker["memory_kb"], "max", 1024.0),
        )
        for worker in workers
    ]
