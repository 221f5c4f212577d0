"""Runs that follow each other as one load."""

import asyncio

import pytest

from loadtop.generator.restart import RestartableLoad, added
from loadtop.model import LoadSample, LoadState, StatedTimes
from loadtop.pipeline.feed import Command, RestartLoad, SetConcurrency, StopLoad


class Run:
    """A run that takes its time to stop."""

    def __init__(self) -> None:
        self.commands: list[Command] = []
        self.started = False
        self.ended = asyncio.Event()

    async def start(self) -> None:
        self.started = True

    async def wait(self) -> None:
        await self.ended.wait()

    def take(self) -> LoadSample | None:
        return LoadSample(1.0, "builtin", LoadState.STOPPED, "closed", 2.0, requests=10)

    def command(self, command: Command) -> None:
        self.commands.append(command)

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("commands", "runs", "passed_on"),
    [
        ([SetConcurrency(3)], 2, [SetConcurrency(3)]),
        ([SetConcurrency(3), StopLoad()], 1, []),
        ([StopLoad(), SetConcurrency(3), RestartLoad()], 2, []),
    ],
)
async def test_commands_during_a_restart_are_for_the_next_run(
    commands: list[Command], runs: int, passed_on: list[Command]
) -> None:
    made: list[Run] = []

    def make() -> Run:
        made.append(Run())
        if len(made) > 1:
            made[-1].ended.set()
        return made[-1]

    load = RestartableLoad(make)
    await load.start()
    load.command(RestartLoad())
    await asyncio.sleep(0)  # it waits for the end of the first run
    for command in commands:
        load.command(command)
    made[0].ended.set()
    await load.wait()
    assert made[0].commands == [StopLoad()]
    assert (len(made), made[-1].started) == (runs, True)
    assert (made[-1].commands if runs == 2 else []) == passed_on
    last = [load.take(), load.take()][-1]
    assert last is not None
    assert last.requests == 10 * runs
    await load.close()


def test_what_an_engine_states_of_one_run_is_not_said_of_all() -> None:
    def run(requests: int, rps: float, mean_ms: float) -> LoadSample:
        stated = (StatedTimes("total", mean_ms=mean_ms),)
        return LoadSample(
            10.0, "locust", LoadState.DONE, "closed", 10.0, requests=requests, stated_rps=rps, stated=stated
        )

    both = added(run(1000, 100.0, 5.0), run(10, 1.0, 900.0))
    assert (both.requests, both.elapsed_s) == (1010, 20.0)
    assert (both.stated_rps, both.stated) == (None, ())
