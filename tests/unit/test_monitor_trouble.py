"""What a test does when something of loadtop itself breaks, or when loadtop was suspended."""

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

import pytest

from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, RestartLoad, StopLoad
from loadtop.pipeline.monitor import Monitor
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


async def test_watching_continues_and_a_restart_begins_again(load: Any) -> None:
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


async def test_a_pause_of_the_load_is_marked_however_long_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends before the next frame is due, so that none is late."""
    monkeypatch.setattr("loadtop.pipeline.monitor.PERIOD_S", 0.05)
    monkeypatch.setattr("loadtop.pipeline.monitor.SILENCE_S", 0.7)
    snapshots = list[Snapshot]()

    def show(snapshot: Snapshot) -> None:
        snapshots.append(snapshot)
        if len(snapshots) == 2:
            time.sleep(0.8)  # the event loop hangs

    monitor = Monitor("u", None, [], interval_s=1.0)
    task = asyncio.ensure_future(monitor.run(show))
    await until(lambda: len(snapshots) >= 4)
    task.cancel()
    await asyncio.wait({task})
    marks = [snapshot.measured.frame.marks for snapshot in snapshots]
    assert len(marks[2]) == 1
    assert marks[2][0].startswith("loadtop was suspended for ")
    assert marks[3] == ()
