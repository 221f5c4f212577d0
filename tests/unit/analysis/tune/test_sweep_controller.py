"""A whole sweep on a generated server, moment by moment: steps follow when they are steady, and it ends by itself."""

import pytest

from loadtop.analysis.tune.controller import StepSearch, SweepController, TimeLimits
from loadtop.analysis.tune.step import StepResult, Sweep
from loadtop.model import LoadState
from loadtop.pipeline.feed import Command, SetConcurrency, StopLoad
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from tests.unit.conftest import Load, Machine
from tests.unit.course import frame_of


class Stage:
    """A server with some slots, each of which serves ten requests a second; and the sweep that finds that out."""

    def __init__(self, slots: int = 4, **bounds: float) -> None:
        self.machine, self.load, self.slots = Machine(), Load(), slots
        self.concurrency, self.step, self.number = 1, 1, 0
        self.commands: list[Command] = []
        self.results: list[StepResult] = []
        self.snapshots: list[Snapshot] = []
        self.pipeline = Pipeline()
        self.sweep = Sweep()
        search = StepSearch(first=1, most=256, finer=5)
        limits = TimeLimits(**{"step_s": 5.0, "most_step_s": 20.0, "total_s": 300.0, **bounds})
        self.controller = SweepController(search, limits, self.sweep, self.obey, self.results.append)
        self.drift = 0.0

    def obey(self, command: Command) -> None:
        self.commands.append(command)
        if isinstance(command, SetConcurrency):
            self.concurrency = command.connections
            self.step += 1

    def run(self, seconds: int = 600) -> None:
        for _ in range(seconds):
            self.number += 1
            busy = min(self.slots, self.concurrency)
            ended = any(isinstance(command, StopLoad) for command in self.commands)
            sample = self.load.sample(
                rps=10.0 * busy * (1 + self.drift * self.number),
                concurrency=self.concurrency,
                step=self.step,
                state=LoadState.STOPPED if ended else LoadState.RUNNING,
            )
            board = "W" * (busy + 1) + "_" * (20 - busy - 1)
            frame = frame_of(self.number, sample, self.machine.state(board=board))
            snapshot = self.pipeline.snapshot(frame)
            self.snapshots.append(snapshot)
            self.sweep.add(snapshot)
            self.controller.add(snapshot)
            if ended:
                return
        pytest.fail("the sweep does not end")


def test_a_sweep_finds_the_slots() -> None:
    play = Stage(slots=4)
    play.run()
    steps = [result.concurrency for result in play.results]
    assert steps[:5] == [1, 2, 4, 8, 16]
    assert steps[-1] == 4
    assert all(result.steady for result in play.results)
    assert play.results[2].rps == pytest.approx(40.0)
    assert play.results[2].busy == 4
    assert play.controller.over
    assert play.number < 100


def test_a_recording_gives_the_same_results() -> None:
    play = Stage(slots=4)
    play.run()
    sweep = Sweep()
    for snapshot in play.snapshots:
        sweep.add(snapshot)
    assert sweep.results == play.results


def test_an_unsteady_step_is_taken_as_it_is_at_last() -> None:
    play = Stage(step_s=5.0, most_step_s=12.0, total_s=40.0)
    play.drift = 0.5
    play.run()
    first = play.results[0]
    assert not first.steady
    assert first.at_s == pytest.approx(13.0, abs=2.0)


def test_the_time_is_kept() -> None:
    play = Stage(slots=1000, total_s=20.0)
    play.run()
    assert play.number <= 23
    assert str(play.controller.reason).startswith("the time limit was reached (20 s")


def test_a_load_turned_by_hand_ends_too() -> None:
    play = Stage(total_s=60.0)
    play.obey(SetConcurrency(7))
    play.run()
    assert any(result.concurrency == 7 for result in play.results)
