"""Whether requests spend more time with a service the more connections the load has."""

from typing import Any

import pytest

from loadtop.analysis.totals.host import Level, PeerTotals
from loadtop.rates.records import PeerRates
from tests.unit.interval import host


def totals(*intervals: tuple[int | None, float, float]) -> list[Any]:
    """``growth`` after intervals: connections of the load, pending requests, and requests per second."""
    found = PeerTotals()
    for connections, questions, rps in intervals:
        peer = PeerRates("10.0.0.5:3306", "mysql", 1, 5, 20.0, questions, 100.0, None)
        found.add(host(peers=(peer,)), None if connections is None else Level(connections, rps))
    return [each["growth"] for each in found.as_json()]


def test_the_fewest_and_the_most_connections_are_compared() -> None:
    found = totals(*[(2, 1.0, 100.0)] * 2, *[(4, 3.0, 100.0)] * 2, (8, 6.0, 90.0), (8, 6.0, 110.0))
    assert found == [{"from": 2, "to": 8, "factor": 6.0}]


@pytest.mark.parametrize(
    "intervals",
    [
        [(2, 1.0, 100.0)] * 4,
        [(None, 1.0, 100.0)] * 4,
        [(2, 1.0, 100.0), *[(8, 6.0, 100.0)] * 2],  # one interval is no level
        [*[(2, 0.0, 100.0)] * 2, *[(8, 6.0, 100.0)] * 2],
        [*[(6, 1.0, 100.0)] * 2, *[(8, 6.0, 100.0)] * 2],  # too close to each other
    ],
)
def test_without_clearly_fewer_connections_nothing_is_said(intervals: list[tuple[int | None, float, float]]) -> None:
    assert totals(*intervals) == [None]
