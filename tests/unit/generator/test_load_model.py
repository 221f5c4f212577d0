"""The open model, where arrivals come faster than they can be sent."""

from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest

from loadtop.generator import load_model
from loadtop.generator.load_model import MAX_BURST, OpenModel, TargetMix
from loadtop.generator.results import Counters


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes 0.1 ms, as on a machine without time."""
    monkeypatch.setattr(load_model, "perf_counter_ns", (100_000 * number for number in count(1)).__next__)


def overloaded(connections: Any, left: int) -> OpenModel:
    mix = TargetMix([(Mock(), 1.0)])
    return OpenModel(connections, mix, left, rate=100_000.0, offset=0.0, caught_up=Mock())


@pytest.mark.usefixtures("slow_clock")
def test_answers_have_their_turn_also_where_arrivals_never_catch_up() -> None:
    connections = Mock(results=Mock(counters=Counters()))
    model = overloaded(connections, left=1000)
    back_at = model.send_due()
    assert connections.send.call_count == MAX_BURST
    assert back_at is not None
    assert model.overdue(back_at) > MAX_BURST


@pytest.mark.usefixtures("slow_clock")
def test_the_first_arrival_is_overdue_when_its_time_has_come() -> None:
    model = overloaded(Mock(), left=1000)  # due after 0.1 ms, and every 0.01 ms from then on
    assert [model.overdue(at) for at in (99_999, 100_000, 109_999, 110_000)] == [0, 1, 1, 2]


@pytest.mark.usefixtures("slow_clock")
def test_what_is_left_ends_it() -> None:
    connections = Mock(results=Mock(counters=Counters()))
    model = overloaded(connections, left=MAX_BURST + 10)
    while model.send_due() is not None:
        pass
    assert connections.send.call_count == MAX_BURST + 10
