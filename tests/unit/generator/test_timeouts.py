"""When requests that take too long are given up, on a generated clock."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, cast

import pytest

from loadtop.generator import connections
from loadtop.generator.connection import CLOSING, WAITING, Connection
from loadtop.generator.connections import Connections

MS = 1_000_000


class Clock:
    """A clock that tests move on, in which one coroutine sleeps. Each sweep takes ``cost`` ns."""

    def __init__(self) -> None:
        self.now = 10**12
        self.due = 0
        self.sleeper: Coroutine[None, None, None] | None = None

    @types.coroutine
    def sleep(self, seconds: float) -> Generator[None]:
        self.due = self.now + round(seconds * 1e9)
        yield

    def start(self, sleeper: Coroutine[None, None, None]) -> None:
        self.sleeper = sleeper
        sleeper.send(None)

    def pass_ms(self, span: float) -> None:
        assert self.sleeper is not None
        until = self.now + round(span * MS)
        while self.due <= until:
            self.now = max(self.now, self.due)
            self.sleeper.send(None)
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
    """Connections of such slots, which finds late ones as the real one does."""

    def __init__(self, clock: Clock, slots: list[Slot], cost: int = 0) -> None:
        self.clock = clock
        self.slots = slots
        self.cost = cost
        self.sweeps = 0
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(connections, "perf_counter_ns", lambda: found.now)
    monkeypatch.setattr(asyncio, "sleep", found.sleep)
    return found


def begin(clock: Clock, slots: Slots, timeout_s: float) -> None:
    clock.start(Connections.give_up_late(cast("Connections", slots), timeout_s))


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
