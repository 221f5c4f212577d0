"""A paused load sends nothing, and continues with what was left."""

from typing import Any
from unittest.mock import Mock

import pytest

from loadtop.generator import load_model
from loadtop.generator.load_model import ClosedModel, OpenModel, TargetMix
from loadtop.generator.results import Counters

SECOND = 1_000_000_000


class Clock:
    now = 100 * SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(load_model, "perf_counter_ns", clock)
    return clock


def connections() -> Any:
    return Mock(results=Mock(counters=Counters(), request_log=None), take_free=Mock(side_effect=[Mock(), Mock(), None]))


def test_the_closed_model_continues_with_the_remaining_requests() -> None:
    slots = connections()
    model = ClosedModel(slots, TargetMix([(Mock(), 1.0)]), 10)
    model.pause()
    model.send_due()
    model.next_request(Mock(surplus=False), 0)
    assert slots.send.call_count == 0
    assert slots.set_idle.call_count == 1
    model.resume(SECOND)
    model.send_due()
    assert (slots.send.call_count, model.left) == (2, 8)


def test_arrivals_of_a_pause_are_neither_sent_later_nor_late(clock: Clock) -> None:
    slots = connections()
    model = OpenModel(slots, TargetMix([(Mock(), 1.0)]), 1000, rate=10.0, offset=1.0, caught_up=Mock())
    model.pause()
    clock.now += 60 * SECOND
    assert model.send_due() is None
    assert model.overdue(clock.now) == 0
    model.resume(60 * SECOND)
    assert model.send_due() == pytest.approx(clock.now + SECOND // 10)
    assert model.overdue(clock.now) == 0
    assert slots.results.counters.late == 0
