"""When a step is steady: noise is, a drift is not, and a start that drifts is left out."""

import pytest

from loadtop.analysis.tune.step import steady_window
from tests.unit.known import known


@pytest.mark.parametrize(
    ("requests", "connections", "steady", "first"),
    [
        ((60, 100, 104, 98, 101, 99), 4, True, {1}),
        ((10, 100, 200, 300, 400, 500, 600), 4, False, range(9)),
        ((500, 900, 700, 400, 200, 200, 201, 199, 200, 200), 4, True, range(3, 9)),
        # A page that sleeps for a second: all connections end in one interval, none in the other.
        ((0, 20, 20, 0, 40, 20, 0, 20, 40), 20, True, range(9)),
        ((1, 1, 1, 1, 1, 1), 50, False, range(9)),
    ],
    ids=["noise", "a drift", "a start that settles", "answered together", "few requests per connection"],
)
def test_a_steady_window(requests: tuple[int, ...], connections: int, steady: bool, first: set[int]) -> None:
    found = known(steady_window([(count, 1.0) for count in requests], connections))
    assert found.steady is steady
    assert found.first in first


def test_too_few_intervals_say_nothing() -> None:
    assert steady_window([(100, 1.0)] * 4, 4) is None
