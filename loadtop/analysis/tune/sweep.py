"""A sweep as it is watched, live or in a recording: the moments of each step, and the results of those that ended."""

from loadtop.analysis.tune.step import Beat, StepResult, measure
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot


class Sweep:
    """Takes every moment once, in order. Only the step that runs is kept in full.

    A step begins where the sample's ``step`` changes. ``results`` are those of steps that ended.
    """

    def __init__(self, most_beats: int | None = None) -> None:
        """``most_beats`` bounds what is kept of the step that runs to its newest intervals."""
        self._most_beats = most_beats
        self.results: list[StepResult] = []
        self.beats: list[Beat] = []
        self._before: LoadSample | None = None

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        load = snapshot.measured.load
        if load is None or load.state in (LoadState.STARTING, LoadState.WARMUP):
            return
        before, self._before = self._before, load
        if before is None or before.state.ended:
            return
        beat = Beat.between(before, load, snapshot)
        if beat is None:
            return
        if load.step != before.step or load.concurrency != before.concurrency:
            self.end_step()
        if load.state.ended:
            self.end_step()
        else:
            self.beats.append(beat)
            if self._most_beats is not None and len(self.beats) > self._most_beats:
                del self.beats[0]

    def end_step(self) -> None:
        """Book the step that ran, if it was long enough to tell anything."""
        result = measure(self.beats, aftermath=self.aftermath)
        if result is not None:
            self.results.append(result)
        self.beats = []

    @property
    def running(self) -> StepResult | None:
        """The step that runs, as far as it is measured."""
        return measure(self.beats, aftermath=self.aftermath)

    @property
    def aftermath(self) -> bool:
        """Whether the step before the one that runs swapped."""
        return bool(self.results) and self.results[-1].swaps
