"""Which step comes next: doubling up to where more connections give no more, then finer around the knee, then again at
the knee to confirm it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from loadtop.analysis.tune.knee import KNEE_SHARE, WORSE_SHARE, Knee, Point, find_knee, points
from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.finding import Bottleneck

FLAT = 1.05
"""Times the best throughput so far that a doubling must give to count as a gain; our own."""

FLAT_STEPS = 2
"""Doublings in a row without a gain after which the climb ends."""


class Phase(StrEnum):
    """What a step is for."""

    CLIMB = "climb"
    REFINE = "refine"
    CONFIRM = "confirm"


@dataclass(slots=True)
class Climb:
    """Decides from the results so far. ``first`` to ``most`` connections, at most ``finer`` steps around the knee and
    ``confirming`` at it. ``reason`` says why the climb ended."""

    first: int = 1
    most: int = 256
    finer: int = 5
    confirming: int = 2
    phase: Phase = Phase.CLIMB
    reason: str = ""
    _refined: int = field(default=0, init=False)
    _confirmed: list[int] = field(default_factory=list[int], init=False)

    def next(self, results: Sequence[StepResult]) -> int | None:
        """The connections of the next step; ``None`` when all is known."""
        if not results:
            return self.first
        if self.phase is Phase.CLIMB:
            self.reason = self._enough(results)
            if not self.reason:
                return min(self.most, results[-1].concurrency * 2)
            self.phase = Phase.REFINE
        knee = find_knee(results)
        if knee is None:
            return None
        if self.phase is Phase.REFINE:
            finer = self._between(points(results), knee) if self._refined < self.finer else None
            if finer is not None:
                self._refined += 1
                return finer
            self.phase = Phase.CONFIRM
        if knee.concurrency in self._confirmed or len(self._confirmed) >= self.confirming:
            return None
        self._confirmed.append(knee.concurrency)
        return knee.concurrency

    def _enough(self, results: Sequence[StepResult]) -> str:
        """Why to climb no further; empty where there is more to find."""
        last = results[-1]
        if last.fails:
            return f"requests fail at {last.concurrency} connections"
        if last.bottleneck is Bottleneck.GENERATOR:
            return "the load generator is full"
        before = [result.rps for result in results[:-1]]
        if before and last.swaps:
            return f"memory is swapped at {last.concurrency} connections"
        if before and last.rps < 0.8 * max(before):
            return f"throughput falls at {last.concurrency} connections"
        gains = [
            result.rps > FLAT * max(each.rps for each in results[:index])
            for index, result in enumerate(results)
            if index > 0
        ]
        if len(gains) >= FLAT_STEPS and not any(gains[-FLAT_STEPS:]):
            return "more connections give no more"
        return f"{self.most} connections are the most allowed" if last.concurrency >= self.most else ""

    def _between(self, known: Sequence[Point], knee: Knee) -> int | None:
        """The step that tells most: first where it gets worse (that is where a limit belongs), then where the knee
        begins. ``None`` where neighbours are close enough."""
        best = max(point.rps for point in known if point.good)
        if knee.worse_from is not None:
            fine = [p.concurrency for p in known if p.concurrency < knee.worse_from and p.good]
            cliff = not next(p for p in known if p.concurrency == knee.worse_from).good
            gap = _middle(max(fine), knee.worse_from, 12 if cliff else 4)
            if gap is not None:
                return gap
        above = [p for p in known if p.good and p.concurrency > knee.until]
        if above and knee.until == knee.concurrency and above[0].rps >= WORSE_SHARE * best:
            gap = _middle(knee.concurrency, above[0].concurrency, 4)
            if gap is not None:
                return gap
        below = [p.concurrency for p in known if p.concurrency < knee.concurrency and p.rps < KNEE_SHARE * best]
        return _middle(max(below), knee.concurrency, 4) if below else None


def _middle(low: int, high: int, fineness: int) -> int | None:
    """The middle of a gap that is wider than a ``fineness``-th of its lower end."""
    return (low + high) // 2 if high - low > max(1, low // fineness) else None
