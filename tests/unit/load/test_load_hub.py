"""The selector under load: timers are kept however much there is to handle."""

import os
import select
import socket
from collections.abc import Generator
from time import perf_counter_ns
from typing import ClassVar

import pytest

from loadtop.generator import hub as module
from loadtop.generator.hub import Hub
from loadtop.generator.timerfd import TimerFd


class Chatter:
    """A socket that always has something to say; counts how often it was heard."""

    def __init__(self, hub: Hub, at_most: int = 10_000) -> None:
        self.heard = 0
        self._at_most = at_most
        self._ends = socket.socketpair()
        hub.handlers[self._ends[0].fileno()] = self
        hub.watch(self._ends[0].fileno(), select.EPOLLIN)
        self._ends[1].send(b"!")

    def handle(self, event: int) -> None:
        assert event == select.EPOLLIN
        self.heard += 1
        assert self.heard <= self._at_most, "the time has passed, and nobody noticed"

    def close(self) -> None:
        for end in self._ends:
            end.close()


class SoonTimer:
    """In place of a timer of the kernel: its time comes when it is set."""

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
def hub(monkeypatch: pytest.MonkeyPatch) -> Generator[Hub]:
    monkeypatch.setattr(SoonTimer, "made", [])
    monkeypatch.setattr(module, "TimerFd", SoonTimer)
    made = Hub()
    yield made
    made.close()


@pytest.fixture
def chatter(hub: Hub) -> Generator[Chatter]:
    made = Chatter(hub)
    yield made
    made.close()


def test_a_long_time_is_left_to_a_timer_of_the_kernel(hub: Hub, chatter: Chatter) -> None:
    before = perf_counter_ns()
    for count in (1, 2, 3):
        assert hub.select(3600) == []
        assert len(SoonTimer.made[0].times) == count
    assert len(SoonTimer.made) == 1
    assert chatter.heard > 3
    for at in SoonTimer.made[0].times:
        assert before + 3600e9 - 1e3 <= at <= perf_counter_ns() + 3600e9


@pytest.mark.parametrize(("timer", "timeout"), [(SoonTimer, 0.004), (NoTimer, 3600.0)])
def test_without_a_timer_the_clock_is_read_after_each_round(
    monkeypatch: pytest.MonkeyPatch, hub: Hub, chatter: Chatter, timer: type[SoonTimer], timeout: float
) -> None:
    monkeypatch.setattr(module, "TimerFd", timer)
    rounds = iter(timeout * part / 5 for part in range(10))
    monkeypatch.setattr(module, "monotonic", lambda: next(rounds))
    assert hub.select(timeout) == []
    assert chatter.heard == 5
    assert SoonTimer.made == []


def test_what_the_loop_is_asked_for_ends_the_wait(hub: Hub) -> None:
    class Asker(Chatter):
        def handle(self, event: int) -> None:
            super().handle(event)
            hub.asked = self.heard == 3

    asker = Asker(hub)
    assert hub.select(None) == []
    assert asker.heard == 3
    asker.close()


def test_the_timer_of_an_earlier_wait_does_no_harm(hub: Hub, chatter: Chatter) -> None:
    hub.select(3600)
    SoonTimer.made[0].set(1)
    assert hub.select(3600) == []
    assert chatter.heard >= 2


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
