"""Steps the concurrency of a live load: which step comes next, and when the running one is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from loadtop.analysis.tune.knee import KNEE_SHARE, WORSE_SHARE, Knee, Point, find_knee, points
from loadtop.analysis.tune.step import StepResult, Sweep, window
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.commands import Command, SetConcurrency, StopLoad
from loadtop.pipeline.monitor import LoadSource
from loadtop.pipeline.snapshot import Snapshot


class SteppedLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource` that passes another one on and counts its changes as steps.

    The end of a sweep is not known beforehand, so its samples promise none.
    """

    def __init__(self, load: LoadSource) -> None:
        self._load = load
        self._step = 1
        self._concurrency: int | None = None

    async def start(self) -> None:
        """Begin."""
        await self._load.start()

    async def wait(self) -> None:
        """Return when the load has ended."""
        await self._load.wait()

    def take(self) -> LoadSample | None:
        """The newest sample, with the number of its step."""
        sample = self._load.take()
        if sample is None:
            return None
        if self._concurrency is not None and sample.concurrency != self._concurrency and not sample.state.ended:
            self._step += 1
        self._concurrency = sample.concurrency
        return replace(sample, step=self._step, steps=self._step, target_s=None, target_requests=None)

    def command(self, command: Command) -> None:
        """Pass it on."""
        self._load.command(command)

    async def close(self) -> None:
        """Stop the load."""
        await self._load.close()


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
        if last.bottleneck == "generator":
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds that a sweep may take: a step at least, and at most before it is taken as it is; all together."""

    step_s: float = 5.0
    most_step_s: float = 20.0
    total_s: float = 300.0


class Pilot:
    """Takes every moment, and commands the load. ``ended`` is called with each result; ``told`` says why it is over."""

    def __init__(
        self,
        climb: Climb,
        bounds: Bounds,
        command: Callable[[Command], None],
        ended: Callable[[StepResult], None],
    ) -> None:
        self.sweep = Sweep()
        self.climb = climb
        self.over = ""
        self._bounds = bounds
        self._command = command
        self._ended = ended
        self._wanted = climb.first
        self._known = 0

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment; where its step is over, go on to the next."""
        self.sweep.add(snapshot)
        load = snapshot.measured.load
        if load is None or self.over or load.state is not LoadState.RUNNING or not self.sweep.beats:
            self._tell()
            return
        if self._step_is_over(snapshot):
            self.sweep.end_step()
            self._tell()
            self._go_on(snapshot)

    def _tell(self) -> None:
        for result in self.sweep.results[self._known :]:
            self._ended(result)
        self._known = len(self.sweep.results)

    def _step_is_over(self, snapshot: Snapshot) -> bool:
        load = snapshot.measured.load
        beats = self.sweep.beats
        spent = snapshot.at - beats[0].snapshot.at
        if load is None or load.concurrency != self._wanted:
            # Somebody turned the load by hand, or it cannot follow: it is taken as it is, but not waited for.
            return spent >= self._bounds.most_step_s or snapshot.at >= self._bounds.total_s
        if spent < self._bounds.step_s and snapshot.at < self._bounds.total_s:
            return False
        found = window(beats, aftermath=self.sweep.aftermath)
        counted = 0.0 if found is None else snapshot.at - beats[found.first - 1].snapshot.at
        steady = found is not None and found.steady and counted >= min(self._bounds.step_s, spent) * 0.8
        return steady or spent >= self._bounds.most_step_s or snapshot.at >= self._bounds.total_s

    def _go_on(self, snapshot: Snapshot) -> None:
        wanted = self.climb.next(self.sweep.results)
        if wanted is None:
            self._stop("")
        elif snapshot.at >= self._bounds.total_s:
            self._stop(f"the time is over ({self._bounds.total_s:.0f} s; --time gives more)")
        else:
            if wanted == self._wanted:
                # The same once more: nothing changes in the load, so the step is begun here.
                self.sweep.beats = []
            self._wanted = wanted
            self._command(SetConcurrency(wanted))

    def _stop(self, why: str) -> None:
        self.over = why or "done"
        self._command(StopLoad())
