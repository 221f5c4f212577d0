"""The worker processes of a load by Locust, by name, as its master tells of them."""

from collections.abc import Iterable
from dataclasses import replace

from loadtop.engines.locust.api import Worker
from loadtop.model import MISSING, EngineWorker, GeneratorSample

UNKNOWN = "unknown"
"""The state of all while the master does not answer."""

_AT_WORK = ("spawning", "running")


class Crew:
    """Remembers every worker there was, in the order in which they came: one that the master forgets is missing.

    A worker is called by its generator and a number, ``g1-2``; Locust's own names are as long as a line.
    """

    def __init__(self) -> None:
        self._known: dict[str, EngineWorker] = {}
        self._cpu_s: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._known)

    @property
    def workers(self) -> tuple[EngineWorker, ...]:
        """All of them."""
        return tuple(self._known.values())

    @property
    def missing(self) -> list[EngineWorker]:
        """Those that Locust hears of no more."""
        return [worker for worker in self._known.values() if worker.missing]

    @property
    def full(self) -> EngineWorker | None:
        """One whose core is full."""
        return next((worker for worker in self._known.values() if worker.full), None)

    @property
    def usage(self) -> GeneratorSample | None:
        """Their processor time, as far as it is known."""
        return GeneratorSample(tuple(self._cpu_s.values()), None, None, None) if self._cpu_s else None

    def look(self, workers: Iterable[Worker], seconds: float) -> None:
        """Take what the master says now, so many seconds after it was asked before."""
        there = {worker.id: worker for worker in workers}
        for each, worker in there.items():
            before = self._known.get(each) or EngineWorker(self._new_name(worker.generator), worker.generator, UNKNOWN)
            self._known[each] = self._seen(worker, before, seconds)
        for each in self._known.keys() - there.keys():
            self._known[each] = EngineWorker(self._known[each].name, self._known[each].host, MISSING)

    def lose_sight(self) -> None:
        """The master does not answer: what they do is not known."""
        for each, worker in self._known.items():
            if not worker.missing:
                self._known[each] = EngineWorker(worker.name, worker.host, UNKNOWN)

    def _new_name(self, generator: str) -> str:
        return f"{generator}-{1 + sum(worker.host == generator for worker in self._known.values())}"

    def _seen(self, worker: Worker, before: EngineWorker, seconds: float) -> EngineWorker:
        if worker.state == MISSING:
            return EngineWorker(before.name, before.host, MISSING)
        if not worker.memory:  # at its beginning; one that was stopped begins anew for its master
            return replace(before, state=worker.state, users=worker.users)
        # The first share of a core that psutil gives is 0, whatever it was.
        known = worker.cpu > 0 or worker.id in self._cpu_s
        if known:
            used = worker.cpu / 100.0 * seconds if worker.state in _AT_WORK else 0.0
            self._cpu_s[worker.id] = self._cpu_s.get(worker.id, 0.0) + used
        cpu_pct, memory_kb = worker.cpu if known else None, round(worker.memory / 1024)
        return EngineWorker(before.name, before.host, worker.state, worker.users, cpu_pct, memory_kb)
