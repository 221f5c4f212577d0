"""The selector under load: timers are kept however much there is to handle."""

import os
import select
import socket
from collections.abc import Generator
from time import perf_counter_ns
from typing import ClassVar

import pytest

from loadtop.generator import event_loop as module
from loadtop.generator.event_loop import EpollSelector, TimerFd


class BusySocket:
    """A socket that is always readable; counts its events."""

    def __init__(self, selector: EpollSelector, at_most: int = 10_000) -> None:
        self.events = 0
        self._at_most = at_most
        self._ends = socket.socketpair()
        selector.handlers[self._ends[0].fileno()] = self.handle
        selector.watch(self._ends[0].fileno(), select.EPOLLIN)
        self._ends[1].send(b"!")

    def handle(self, event: int) -> None:
        assert event == select.EPOLLIN
        self.events += 1
        assert self.events <= self._at_most, "the time has passed, and it went unnoticed"

    def close(self) -> None:
        for end in self._ends:
            end.close()


class SoonTimer:
    """Instead of a timer of the kernel: its time comes when it is set."""

    made: ClassVar["list[SoonTimer]"] = []

    def __init__(self) -> None:
        self.number = os.eventfd(0)
        self.times: list[int] = []
        self.made.append(self)

    def set(self, at: int) -> None:
        self.times.append(at)
        os.eventfd_write(self.number, 1)

    def close(self) -> None:
        os.close(self.number)


class NoTimer(SoonTimer):
    def __init__(self) -> None:
        raise OSError("no timerfd")


@pytest.fixture
def selector(monkeypatch: pytest.MonkeyPatch) -> Generator[EpollSelector]:
    monkeypatch.setattr(SoonTimer, "made", [])
    monkeypatch.setattr(module, "TimerFd", SoonTimer)
    made = EpollSelector()
    yield made
    made.close()


@pytest.fixture
def busy(selector: EpollSelector) -> Generator[BusySocket]:
    made = BusySocket(selector)
    yield made
    made.close()


def test_a_long_time_is_left_to_a_timer_of_the_kernel(selector: EpollSelector, busy: BusySocket) -> None:
    before = perf_counter_ns()
    for count in (1, 2, 3):
        assert selector.select(3600) == []
        assert len(SoonTimer.made[0].times) == count
    assert len(SoonTimer.made) == 1
    assert busy.events > 3
    for at in SoonTimer.made[0].times:
        assert before + 3600e9 - 1e3 <= at <= perf_counter_ns() + 3600e9


@pytest.mark.parametrize(("timer", "timeout"), [(SoonTimer, 0.004), (NoTimer, 3600.0)])
def test_without_a_timer_the_clock_is_read_after_each_round(
    monkeypatch: pytest.MonkeyPatch, selector: EpollSelector, busy: BusySocket, timer: type[SoonTimer], timeout: float
) -> None:
    monkeypatch.setattr(module, "TimerFd", timer)
    rounds = iter(timeout * part / 5 for part in range(10))
    monkeypatch.setattr(module, "monotonic", lambda: next(rounds))
    assert selector.select(timeout) == []
    assert busy.events == 5
    assert SoonTimer.made == []


def test_an_order_to_the_loop_ends_the_wait(selector: EpollSelector) -> None:
    class Caller(BusySocket):
        def handle(self, event: int) -> None:
            super().handle(event)
            selector.loop_pending = self.events == 3

    caller = Caller(selector)
    assert selector.select(None) == []
    assert caller.events == 3
    caller.close()


def test_the_timer_of_an_earlier_wait_does_no_harm(selector: EpollSelector, busy: BusySocket) -> None:
    selector.select(3600)
    SoonTimer.made[0].set(1)
    assert selector.select(3600) == []
    assert busy.events >= 2


def test_a_timer_of_the_kernel_is_readable_when_its_time_has_come() -> None:
    timer = TimerFd()
    poll = select.poll()
    poll.register(timer.number, select.POLLIN)
    timer.set(perf_counter_ns() + 10**12)
    assert not poll.poll(0)
    timer.set(0)
    assert poll.poll(1000)
    timer.close()
    timer.close()
