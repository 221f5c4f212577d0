"""When a load gets one more worker, and when the workers have heard of it."""

import asyncio
import time

import pytest

from loadtop.generator.aggregation import Report
from loadtop.generator.limits import BUSY_CORE_SHARE, MIN_IDLE_CORES, WINDOW_S, ScalingPolicy, idle_cores, usable_cores
from loadtop.generator.pool import WorkerProcess
from loadtop.model import GeneratorSample, LoadSample, LoadState


def asked(policy: ScalingPolicy, shares: list[float], *, seconds: float = WINDOW_S, start: float = 100.0) -> list[bool]:
    """What it says while workers take these shares of a core, asked four times in the given time."""
    answers: list[bool] = []
    for quarter in range(5):
        passed = seconds * quarter / 4
        answers.append(policy.wants_worker([(start + passed, share * passed) for share in shares]))
    return answers


@pytest.mark.parametrize(
    ("most", "idle", "shares", "seconds", "wanted"),
    [
        (4, 2.0, [BUSY_CORE_SHARE], WINDOW_S, True),
        (4, 2.0, [0.1, BUSY_CORE_SHARE + 0.1, 0.1], WINDOW_S, True),
        (4, 2.0, [BUSY_CORE_SHARE - 0.05], WINDOW_S, False),
        (4, MIN_IDLE_CORES - 0.1, [1.0], WINDOW_S, False),
        (2, 2.0, [1.0, 1.0], WINDOW_S, False),
        (4, 2.0, [1.0], WINDOW_S * 0.9, False),
    ],
    ids=[
        "a full worker",
        "the busiest counts",
        "one with room",
        "a full machine",
        "no more than cores",
        "a short time",
    ],
)
def test_a_full_worker_on_a_machine_with_idle_cores_gets_help(
    most: int, idle: float, shares: list[float], seconds: float, wanted: bool
) -> None:
    answers = asked(ScalingPolicy(most, lambda: idle), shares, seconds=seconds)
    assert answers == [False] * 4 + [wanted]


def test_after_a_new_worker_it_looks_again_from_the_beginning() -> None:
    policy = ScalingPolicy(4, lambda: 2.0)
    assert asked(policy, [1.0])[-1]
    assert asked(policy, [1.0, 1.0], start=101.0) == [False] * 4 + [True]


def test_this_machine_has_cores_and_some_are_idle_or_not() -> None:
    assert usable_cores() >= 1
    assert idle_cores() >= 0.0


async def test_a_report_made_before_a_command_was_executed_does_not_answer_it() -> None:
    worker = WorkerProcess(0, print, asyncio.Event())
    worker.send("set_concurrency", 8)
    worker.send("set_rate", 100.0)

    def report(commands: int) -> None:
        load = LoadSample(at=time.monotonic(), engine="builtin", state=LoadState.RUNNING, model="closed", elapsed_s=1.0)
        worker.add(Report(load, GeneratorSample((0.0,), 0.0), commands=commands))

    report(1)
    early = asyncio.ensure_future(worker.wait_until_executed())
    await asyncio.sleep(0)
    assert not early.done()
    early.cancel()
    report(2)
    late = asyncio.ensure_future(worker.wait_until_executed())
    await asyncio.sleep(0)
    assert late.done()
