"""Whether a service takes longer the more connections the load has: in the JSON and in the report."""

import pytest

from loadtop.analysis.totals.host import PeerTotals
from loadtop.rates.records import PeerRates
from tests.unit.interval import host


def peer(questions: float, exchanges: float | None) -> PeerRates:
    return PeerRates("10.0.0.5:3306", "mysql", 1, 5, 20.0, questions, 100.0, exchanges)


def totals(*intervals: tuple[int | None, float, float | None]) -> PeerTotals:
    """Of each interval: connections of the load, pending requests, and exchanges per second."""
    found = PeerTotals()
    for connections, questions, exchanges in intervals:
        found.add(host(peers=(peer(questions, exchanges),)), connections)
    return found


def test_the_fewest_and_the_most_connections_are_compared() -> None:
    (found,) = totals(*[(2, 1.0, 100.0)] * 2, *[(4, 3.0, 100.0)] * 2, (8, 6.0, 90.0), (8, 6.0, 110.0)).as_json()
    assert found["growth"] == {"from": 2, "to": 8, "factor": 6.0}


@pytest.mark.parametrize(
    "intervals",
    [
        [(2, 1.0, 100.0)] * 4,
        [(None, 1.0, 100.0)] * 4,
        [(2, 1.0, 100.0), *[(8, 6.0, 100.0)] * 2],  # one interval is no level
        [*[(2, 0.0, 100.0)] * 2, *[(8, 6.0, 100.0)] * 2],
        [*[(2, 1.0, None)] * 2, *[(8, 6.0, 100.0)] * 2],
        [*[(6, 1.0, 100.0)] * 2, *[(8, 6.0, 100.0)] * 2],  # too close to each other
        [],
    ],
)
def test_without_clearly_fewer_connections_nothing_is_said(
    intervals: list[tuple[int | None, float, float | None]],
) -> None:
    assert [each["growth"] for each in totals(*intervals).as_json()] in ([None], [])
