"""What a test does when something of loadtop itself breaks, or when loadtop was suspended."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, RestartLoad, StopLoad
from loadtop.pipeline.monitor import Clock, Monitor
from loadtop.pipeline.snapshot import Snapshot
from tests.loads.running import until


class Breaking:
    """A load that would run for ever, and of which a part breaks."""

    def __init__(self, load: Any, part: Coroutine[Any, Any, None]) -> None:
        self._load, self._part = load, part
        self.commands: list[Command] = []
        self.closed = False

    async def start(self) -> None:
        background(self._part, "a part")

    async def wait(self) -> None:
        await asyncio.Event().wait()

    def take(self) -> LoadSample | None:
        sample: LoadSample = self._load.sample()
        return sample

    def command(self, command: Command) -> None:
        self.commands.append(command)

    async def close(self) -> None:
        self.closed = True


class Suspended(Clock):
    """A clock that goes on by itself during the pauses whose lengths are given, more than was asked for."""

    def __init__(self, *lags_s: float) -> None:
        self.now = 50.0
        self._lags = list(lags_s)

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + (self._lags.pop(0) if self._lags else 0.0)
        await asyncio.sleep(0)


def failed(snapshot: Snapshot) -> bool:
    return snapshot.load is not None and snapshot.load.state is LoadState.FAILED


async def break_off() -> None:
    raise KeyError("no such worker")


async def test_a_broken_task_ends_the_load_as_failed(load: Any, caplog: pytest.LogCaptureFixture) -> None:
    source, snapshots = Breaking(load, break_off()), list[Snapshot]()
    monitor = Monitor("u", source, [], interval_s=0.05, until_load_ends=True)
    with caplog.at_level(logging.ERROR):
        await asyncio.wait_for(monitor.run(snapshots.append), 10)
    last = snapshots[-1].load
    assert last is not None
    assert last.state is LoadState.FAILED
    assert "KeyError: 'no such worker' (test_monitor_trouble.py:" in str(last.message)
    assert "break_off" in caplog.text, "the traceback is not lost"
    assert source.commands == [StopLoad()]
    assert source.closed


async def test_watching_goes_on_and_a_restart_begins_anew(load: Any) -> None:
    source, snapshots = Breaking(load, break_off()), list[Snapshot]()
    monitor = Monitor("u", source, [], interval_s=0.02)
    task = asyncio.ensure_future(monitor.run(snapshots.append))
    await until(lambda: bool(snapshots) and failed(snapshots[-1]))
    monitor.command(RestartLoad())
    await until(lambda: not failed(snapshots[-1]))
    task.cancel()
    await asyncio.wait({task})


async def test_the_handler_of_the_loop_is_put_back(load: Any) -> None:
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    await asyncio.wait_for(Monitor("u", Breaking(load, break_off()), [], until_load_ends=True).run(lambda _: None), 10)
    assert loop.get_exception_handler() is before


async def test_a_suspension_is_marked() -> None:
    snapshots = list[Snapshot]()
    monitor = Monitor("u", None, [], clock=Suspended(0.0, 42.0, 0.1))
    task = asyncio.ensure_future(monitor.run(snapshots.append))
    await until(lambda: len(snapshots) >= 6)
    task.cancel()
    await asyncio.wait({task})
    assert [snapshot.measured.frame.marks for snapshot in snapshots[:5]] == [
        (),
        (),
        ("loadtop was suspended for 42 s",),
        (),
        (),
    ]
