"""When a step is steady: noise is, a drift is not, and a start that drifts is left out."""

from loadtop.analysis.tune.step import steady_window


def seconds(*requests: int) -> list[tuple[int, float]]:
    return [(count, 1.0) for count in requests]


def test_too_few_intervals_say_nothing() -> None:
    assert steady_window(seconds(100, 100, 100, 100), 4) is None


def test_noise_is_steady() -> None:
    found = steady_window(seconds(60, 100, 104, 98, 101, 99), 4)
    assert found is not None
    assert (found.first, found.steady) == (1, True)


def test_a_drift_is_not_steady() -> None:
    found = steady_window(seconds(10, 100, 200, 300, 400, 500, 600), 4)
    assert found is not None
    assert not found.steady


def test_the_start_of_a_step_that_settles_is_left_out() -> None:
    found = steady_window(seconds(500, 900, 700, 400, 200, 200, 201, 199, 200, 200), 4)
    assert found is not None
    assert found.steady
    assert found.first >= 3


def test_connections_answered_together_are_steady() -> None:
    """A page that sleeps for a second: all connections end in one interval, none in the other."""
    found = steady_window(seconds(0, 20, 20, 0, 40, 20, 0, 20, 40), 20)
    assert found is not None
    assert found.steady


def test_few_requests_per_connection_are_not_enough() -> None:
    found = steady_window(seconds(1, 1, 1, 1, 1, 1), 50)
    assert found is not None
    assert not found.steady
