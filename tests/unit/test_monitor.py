"""Samples into frames, on a clock of our own."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals.totals import Totals
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.diagnosis.finding import Diagnosis, Finding
from loadtop.i18n import verbatim
from loadtop.model import HostSample, LoadSample, LoadState, Profile
from loadtop.pipeline.feed import Command, Mark, SetConcurrency, StopLoad, TakeProfile
from loadtop.pipeline.monitor import Clock, Monitor
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measured
from tests.unit.conftest import Load, Machine


class FakeClock(Clock):
    """Time passes only in sleep."""

    def __init__(self) -> None:
        self.now = 50.0
        self.lag = 0.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1_700_000_000.0 + self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + self.lag
        await asyncio.sleep(0)


class FakeHost:
    def __init__(self, clock: FakeClock) -> None:
        machine = Machine()
        self.name, self.role = machine.name, machine.role
        self._machine, self._clock = machine, clock
        self._sample: HostSample | None = None
        self._second = -1
        self.frozen = False
        self.closed = False

    async def start(self, interval_s: float) -> None:
        assert interval_s == 1.0

    def latest(self) -> tuple[HostSample | None, str]:
        second = int(self._clock.now)
        if second != self._second and not self.frozen:
            self._second, self._sample = second, self._machine.sample()
        return self._sample, "no answer" if self.frozen else ""

    async def refresh(self, *, later: bool = False) -> None:  # noqa: ARG002 - part of the protocol
        self._second = -1

    async def profile(self, pids: Sequence[int]) -> Profile:
        return Profile(self.name, "perf", (("httpd;work", 1 + len(pids)),))

    async def close(self) -> None:
        self.closed = True


class FakeLoad:
    def __init__(self, frames: int) -> None:
        self._load, self._left = Load(), frames
        self._ended = asyncio.Event()
        self.commands: list[Command] = []
        self.closed = False
        self.taken = 0

    async def start(self) -> None: ...

    async def wait(self) -> None:
        await self._ended.wait()

    def take(self) -> LoadSample | None:
        self.taken += 1
        self._left -= 1
        if self._left <= 0:
            self._ended.set()
        return self._load.sample(state=LoadState.DONE if self._left <= 0 else LoadState.RUNNING)

    def command(self, command: Command) -> None:
        self.commands.append(command)
        if command == StopLoad():
            self._left = 0
            self._ended.set()

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Stage:
    """A test of so many frames of one host and one load, and what was shown of it."""

    def __init__(self, frames: int) -> None:
        self.clock = FakeClock()
        self.host, self.load = FakeHost(self.clock), FakeLoad(frames)
        self.shown: list[Snapshot] = []

    def monitor(self, *, until_load_ends: bool = True, **settings: Any) -> Monitor:
        return Monitor("u", self.load, [self.host], until_load_ends=until_load_ends, clock=self.clock, **settings)

    @property
    def times(self) -> list[float]:
        return [round(snapshot.at, 6) for snapshot in self.shown]


async def test_frames_come_once_an_interval_until_the_load_ends() -> None:
    play = Stage(5)
    await play.monitor().run(play.shown.append)
    assert play.times[:4] == [0.0, 1.15, 2.15, 3.15]
    assert [snapshot.measured.frame.number for snapshot in play.shown] == list(range(1, len(play.shown) + 1))
    assert play.shown[-1].measured.load is not None
    assert play.shown[-1].measured.load.state is LoadState.DONE
    assert play.shown[1].measured.hosts[0].rates is not None
    assert play.host.closed
    assert play.load.closed


async def test_a_host_is_profiled_on_request() -> None:
    play, totals = Stage(5), Totals("u")
    monitor = play.monitor(sinks=[totals.add])

    def show(snapshot: Snapshot) -> None:
        play.shown.append(snapshot)
        if len(play.shown) == 2:
            monitor.command(TakeProfile("nowhere"))
            monitor.command(TakeProfile("web1"))

    await monitor.run(show)
    found = [each for snapshot in play.shown for each in snapshot.measured.frame.profiles]
    assert [each.host for each in found] == ["web1"]
    assert totals.result().profiles == tuple(found)


async def test_a_profiler_that_breaks_does_not_end_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    async def profile(*_: object) -> Profile:
        raise BlockingIOError("no process left")

    monkeypatch.setattr(FakeHost, "profile", profile)
    play = Stage(5)
    monitor = play.monitor()
    monitor.command(TakeProfile("web1"))
    await monitor.run(play.shown.append)
    (found,) = [each for snapshot in play.shown for each in snapshot.measured.frame.profiles]
    assert (found.host, str(found.problem)) == ("web1", "an error in loadtop: BlockingIOError('no process left')")


@pytest.mark.parametrize("profiles", [True, False])
async def test_a_host_is_profiled_once_while_its_cpu_is_the_limit(
    profiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(diagnoser: Diagnoser, measured: Measured) -> Diagnosis:  # noqa: ARG001 - in place of a method
        limit = Finding("cpu", "web1", 1.0, 1.0, 1.0, (), verbatim("Add CPUs."))
        return Diagnosis(limit, (limit,))

    monkeypatch.setattr(Diagnoser, "diagnose", full)
    play, totals = Stage(5), Totals("u")
    await play.monitor(profiles=profiles, sinks=[totals.add]).run(play.shown.append)
    result = totals.result()
    evidence = [each["metric"] for each in result.summary["verdict"]["evidence"]]
    assert (len(result.profiles), evidence) == ((1, ["function work (httpd)"]) if profiles else (0, []))


async def test_what_ended_between_two_frames_gets_frames_at_once() -> None:
    class Quick(FakeLoad):
        def take(self) -> LoadSample | None:
            sample = super().take()
            return sample and replace(sample, more=self._left in (4, 3))

    play, summary = Stage(6), Totals("u")
    play.load = Quick(6)
    await play.monitor(sinks=[summary.add]).run(play.shown.append)
    assert play.times[:5] == [0.0, 1.15, 1.15, 1.15, 2.15]
    assert summary.as_json()["hosts"][0]["stale"] == 0, "nobody waited for a sample between them"


async def test_ticks_that_were_missed_are_dropped_and_the_rest_keep_their_place() -> None:
    play = Stage(4)
    play.clock.lag = 2.5
    await play.monitor().run(play.shown.append)
    assert play.times[:4] == [0.0, 3.65, 6.65, 9.65]


async def test_a_host_whose_samples_stop_is_stale_and_says_why() -> None:
    play = Stage(6)

    def show(snapshot: Snapshot) -> None:
        play.shown.append(snapshot)
        play.host.frozen = len(play.shown) >= 3

    await play.monitor().run(show)
    view = play.shown[5].measured.hosts[0]
    assert (view.rates, view.state.fresh, view.state.problem) == (None, False, "no answer")
    assert round(view.stale_s, 6) == 3.0


async def test_commands_go_to_the_load_and_marks_into_the_next_frame() -> None:
    play = Stage(4)
    monitor = play.monitor()

    def show(snapshot: Snapshot) -> None:
        play.shown.append(snapshot)
        if len(play.shown) == 2:
            monitor.command(SetConcurrency(20))
            monitor.command(Mark("restarted"))

    await monitor.run(show)
    assert play.load.commands == [SetConcurrency(20)]
    assert [snapshot.measured.frame.marks for snapshot in play.shown[:4]] == [(), (), ("restarted",), ()]


async def test_a_flood_of_marks_is_cut_short() -> None:
    play = Stage(4)
    monitor = play.monitor()
    for number in range(1000):
        monitor.command(Mark(f"{number} " * 1000))
    await monitor.run(play.shown.append)
    marks = [mark for snapshot in play.shown for mark in snapshot.measured.frame.marks]
    assert len(marks) == 100
    assert {len(mark) for mark in marks} == {400}


async def test_sinks_get_every_moment_before_it_is_shown() -> None:
    order: list[str] = []
    sink: Callable[[Snapshot], None] = lambda _: order.append("sink")  # noqa: E731 - the shortest sink
    await Stage(2).monitor(sinks=[sink]).run(lambda _: order.append("show"))
    assert order[:4] == ["sink", "show", "sink", "show"]


@pytest.mark.parametrize("until_load_ends", [True, False])
async def test_a_cancelled_test_stops_the_load_and_lets_the_machines_go(until_load_ends: bool) -> None:
    play, sunk = Stage(10**9), list[Snapshot]()
    monitor = play.monitor(until_load_ends=until_load_ends, sinks=[sunk.append])
    task = asyncio.ensure_future(monitor.run(lambda _: None))
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert play.load.commands == [StopLoad()]
    assert sunk[-1].measured.load is not None
    assert sunk[-1].measured.load.state.ended
    assert play.host.closed
    assert play.load.closed


class FailingHost(FakeHost):
    """A machine at which this program fails."""

    async def refresh(self, *, later: bool = False) -> None:
        raise ZeroDivisionError(f"a mistake here {later}")


async def test_an_error_at_a_machine_is_its_problem_and_the_test_continues(clock: FakeClock) -> None:
    hosts, snapshots = [FailingHost(clock), FakeHost(clock)], list[Snapshot]()
    await Monitor("u", FakeLoad(3), hosts, until_load_ends=True, clock=clock).run(snapshots.append)
    first = snapshots[0].measured.hosts
    assert "a mistake here" in str(first[0].state.problem)
    assert [view.state.problem for view in snapshots[1].measured.hosts] == ["", ""]
    assert len(snapshots) >= 3


class SlowHost(FakeHost):
    """A machine that does not answer."""

    begun = given_up = 0

    async def refresh(self, *, later: bool = False) -> None:  # noqa: ARG002 - part of the protocol
        self.begun += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up += 1


async def test_who_insists_on_the_end_leaves_nothing_open(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    host, source = SlowHost(clock), FakeLoad(10**9)
    monkeypatch.setattr("loadtop.pipeline.monitor.PATIENCE_S", 0.0)
    task = asyncio.ensure_future(Monitor("u", source, [host], clock=clock).run(lambda _: None))
    for _ in range(20):
        await asyncio.sleep(0)
    assert source.taken
    monkeypatch.setattr("loadtop.pipeline.monitor.PATIENCE_S", 60.0)
    task.cancel()
    for _ in range(20):
        await asyncio.sleep(0)
    assert host.begun == 2  # the last figures of the machine are waited for
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert host.given_up == 2
    assert host.closed
    assert source.closed


async def test_watching_continues_after_the_load_has_ended() -> None:
    play, enough = Stage(3), asyncio.Event()

    def show(snapshot: Snapshot) -> None:
        play.shown.append(snapshot)
        if len(play.shown) == 8:
            enough.set()

    task = asyncio.ensure_future(play.monitor(until_load_ends=False).run(show))
    await enough.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert play.shown[7].measured.load is not None
    assert play.shown[7].measured.load.state is LoadState.DONE
