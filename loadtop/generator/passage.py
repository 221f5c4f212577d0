"""From one step to the next: each worker goes over by itself, and the whole when the last of them has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from loadtop.generator.report import Report
from loadtop.model import Latencies


class Heard(Protocol):
    """What a worker told: its newest report, and what nobody took yet."""

    report: Report | None
    latencies: list[Latencies]
    loop_delay_s: float
    problem: str


@dataclass(slots=True)
class StepEnd:
    """What a worker had told when one of its steps was over."""

    report: Report | None
    latencies: list[Latencies]
    loop_delay_s: float = 0.0
    problem: str = ""


class StepEnds:
    """The steps that a worker left and nobody took yet, by number (from 1)."""

    def __init__(self) -> None:
        self._ends: dict[int, StepEnd] = {}

    def note(self, end: StepEnd, step: int) -> None:
        """The worker is in another step now."""
        self._ends[step] = end

    def at(self, step: int) -> StepEnd | None:
        """How the worker left ``step``, or the last one before it."""
        return self._ends.get(max((known for known in self._ends if known <= step), default=0))

    def take(self, step: int) -> StepEnd | None:
        """The same, with the latencies that nobody took yet; only the report is kept, for steps that it leaves out."""
        newest = self.at(step)
        if newest is None:
            return None
        left = [self._ends.pop(known) for known in sorted(self._ends) if known <= step]
        self._ends[step] = StepEnd(newest.report, [])
        return StepEnd(newest.report, [part for end in left for part in end.latencies], newest.loop_delay_s)


class Stepping(Heard, Protocol):
    """A worker that goes from step to step."""

    ends: StepEnds

    @property
    def ended(self) -> bool: ...

    @property
    def failed(self) -> bool: ...


class Passage:
    """Says what to add up for a sample, so that each step has one taken at its very end."""

    def __init__(self) -> None:
        self._step = 1

    def parts(self, workers: Sequence[Stepping]) -> tuple[Sequence[Heard], bool]:
        """What of each worker to add up now, and whether there is more to take at once."""
        behind = min((worker.report.step for worker in workers if worker.report is not None), default=0)
        over = all(worker.ended for worker in workers) or any(worker.failed for worker in workers)
        if behind > self._step:
            ends = [worker.ends.take(self._step) for worker in workers]
            self._step += 1
            return [end for end in ends if end is not None], over or behind > self._step
        if not over:
            return [self._standing(worker) for worker in workers], False
        for worker in workers:
            left = None if worker.report is None else worker.ends.take(worker.report.step)
            worker.latencies[:0] = [] if left is None else left.latencies
        return workers, False

    def _standing(self, worker: Stepping) -> Heard:
        """The worker, or how it left the step that others are in still: counters must not run back."""
        ahead = worker.report is not None and worker.report.step > self._step
        return (worker.ends.at(self._step) if ahead else None) or worker
