"""When requests that take too long are given up, on a made-up clock."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from loadtop.generator import connections
from loadtop.generator.connection import CLOSING, WAITING, Connection
from loadtop.generator.connections import Connections, RequestTimeouts

MS = 1_000_000


class Timer:
    def __init__(self, at: int, callback: Callable[[], None]) -> None:
        self.at = at
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Clock:
    """An event loop of timers alone: time passes where it is told to. Sweeping takes ``cost`` ns of it."""

    def __init__(self) -> None:
        self.now = 10**12
        self.due: list[Timer] = []

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        self.due.append(Timer(self.now + round(seconds * 1e9), callback))
        return self.due[-1]

    def pass_ms(self, span: float) -> None:
        until = self.now + round(span * MS)
        while ready := [each for each in self.due if each.at <= until and not each.cancelled]:
            first = min(ready, key=lambda each: each.at)
            self.due.remove(first)
            self.now = max(self.now, first.at)
            first.callback()
        self.now = until


class Slot:
    """As much of a connection as is looked at."""

    def __init__(self, state: int, began: int) -> None:
        self.state = state
        self.started = self.sent = began
        self.transport: Any = self
        self.ended = 0
        self.clock: Clock | None = None

    def abort(self) -> None:
        assert self.clock is not None
        self.ended = self.ended or self.clock.now


class Slots:
    """Connections of such slots, which finds late ones as the real one does. ``given_up`` is called for each."""

    def __init__(self, clock: Clock, slots: list[Slot], cost: int = 0) -> None:
        self.clock = clock
        self.slots = slots
        self.cost = cost
        self.sweeps = 0
        self.given_up: Callable[[], None] = lambda: None
        for slot in slots:
            slot.clock = clock

    def overdue(self, at: int, timeout_ns: int) -> tuple[list[Connection], int]:
        self.sweeps += 1
        self.clock.now += self.cost
        return Connections.overdue(cast("Connections", self), at, timeout_ns)

    def time_out(self, connection: Any) -> None:
        """Given up; the next request starts at once."""
        connection.ended = connection.ended or self.clock.now
        connection.started = self.clock.now
        self.given_up()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(connections, "perf_counter_ns", lambda: found.now)
    return found


def begin(clock: Clock, slots: Slots, timeout_s: float) -> RequestTimeouts:
    found = RequestTimeouts(cast("asyncio.AbstractEventLoop", clock), cast("Connections", slots), timeout_s)
    found.start()
    return found


@pytest.mark.parametrize("timeout_ms", [1, 7, 20, 130, 2500])
def test_a_request_is_given_up_within_a_millisecond(clock: Clock, timeout_ms: int) -> None:
    slots = [Slot(WAITING, clock.now + round(after * MS)) for after in (0, 0.3, 4.1, 61.7)]
    begin(clock, Slots(clock, slots), timeout_ms / 1000)
    late = [slot.started + timeout_ms * MS for slot in slots]
    clock.pass_ms(timeout_ms + 70)
    assert all(0 <= slot.ended - at <= MS for slot, at in zip(slots, late, strict=True))


def test_looking_takes_a_small_share_of_the_time(clock: Clock) -> None:
    """With many connections whose requests all began at other times, each look finds one."""
    slots = Slots(clock, [Slot(WAITING, clock.now + number * 10_000) for number in range(2000)], cost=MS)
    begin(clock, slots, 0.02)
    clock.pass_ms(1000)
    assert 30 < slots.sweeps <= 50


def test_a_long_timeout_is_seldom_looked_for(clock: Clock) -> None:
    slots = Slots(clock, [Slot(WAITING, clock.now)])
    begin(clock, slots, 30.0)
    clock.pass_ms(29_000)
    assert slots.sweeps <= 30


def test_a_server_that_does_not_close_is_helped_after_a_second(clock: Clock) -> None:
    slow = Slot(CLOSING, clock.now + 300 * MS)
    closes = slow.sent + 1000 * MS
    begin(clock, Slots(clock, [slow]), 30.0)
    clock.pass_ms(2000)
    assert 0 <= slow.ended - closes <= MS


def test_nothing_is_looked_for_once_it_is_stopped(clock: Clock) -> None:
    slots = Slots(clock, [Slot(WAITING, clock.now)])
    found = begin(clock, slots, 0.01)
    slots.given_up = found.stop
    clock.pass_ms(500)
    assert slots.sweeps == 1
