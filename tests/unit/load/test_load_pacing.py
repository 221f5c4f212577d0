"""The open model, where arrivals come faster than they can be sent."""

from itertools import count
from typing import Any
from unittest.mock import Mock

import pytest

from loadtop.generator import pacing
from loadtop.generator.pacing import MOST_AT_ONCE, OpenPacing, Picker
from loadtop.generator.tally import Tally


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock takes 0.1 ms, as on a machine without time."""
    monkeypatch.setattr(pacing, "perf_counter_ns", (100_000 * number for number in count(1)).__next__)


def overloaded(crowd: Any, left: int) -> OpenPacing:
    picker = Picker([(Mock(), 1.0)])
    return OpenPacing(crowd, picker, left, rate=100_000.0, offset=0.0, tally=Tally(), caught_up=Mock())


@pytest.mark.usefixtures("slow_clock")
def test_answers_have_their_turn_also_where_arrivals_never_catch_up() -> None:
    crowd = Mock()
    pace = overloaded(crowd, left=1000)
    back_at = pace.advance()
    assert crowd.begin.call_count == MOST_AT_ONCE
    assert back_at is not None
    assert pace.overdue(back_at) > MOST_AT_ONCE


@pytest.mark.usefixtures("slow_clock")
def test_what_is_left_ends_it() -> None:
    crowd = Mock()
    pace = overloaded(crowd, left=MOST_AT_ONCE + 10)
    while pace.advance() is not None:
        pass
    assert crowd.begin.call_count == MOST_AT_ONCE + 10
