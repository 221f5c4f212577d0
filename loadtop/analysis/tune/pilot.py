"""Turns the concurrency during a live sweep: waits until a step is steady, then asks for the next one."""

from collections.abc import Callable
from dataclasses import dataclass

from loadtop.analysis.tune.climb import Climb
from loadtop.analysis.tune.step import StepResult, window
from loadtop.analysis.tune.sweep import Sweep
from loadtop.model import LoadState
from loadtop.pipeline.commands import Command, SetConcurrency, StopLoad
from loadtop.pipeline.snapshot import Snapshot


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
