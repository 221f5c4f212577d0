"""Which steps are taken on generated servers, and what is found on them."""

from collections.abc import Callable

import pytest

from loadtop.analysis.tune.controller import StepSearch
from loadtop.analysis.tune.knee import find_knee
from loadtop.analysis.tune.step import StepResult
from tests.unit.analysis.tune.conftest import a_result
from tests.unit.known import known

Server = Callable[[int], StepResult]


def searched(server: Server, found: StepSearch | None = None) -> tuple[list[StepResult], StepSearch]:
    """All steps on a server; it must come to an end by itself."""
    found, results = found or StepSearch(first=1, most=256, finer=5), list[StepResult]()
    while (wanted := found.next(results)) is not None:
        results.append(server(wanted))
        assert len(results) < 40
    return results, found


def test_a_plateau_is_found_and_its_knee_confirmed() -> None:
    results, search = searched(lambda n: a_result(n, 100.0 * min(n, 6)))
    steps = [result.concurrency for result in results]
    assert steps[:5] == [1, 2, 4, 8, 16]
    assert 6 in steps
    assert steps[-1] == 6
    knee = known(find_knee(results))
    assert (knee.concurrency, knee.rps, knee.confirmed, knee.worse_from) == (6, 600.0, True, None)
    assert knee.until >= 16
    assert str(search.reason) == "more connections do not raise throughput"


def test_a_cliff_is_closed_in_on() -> None:
    """Swapping from 14 connections on: the step before it must be found."""

    def server(n: int) -> StepResult:
        return a_result(n, 10.0 * n) if n < 14 else a_result(n, 20.0, swap_kb_s=50_000.0, bottleneck="swap")

    results, search = searched(server)
    assert max(result.concurrency for result in results) == 16
    knee = known(find_knee(results))
    assert (knee.concurrency, knee.until, knee.worse_from) == (13, 13, 14)
    assert str(search.reason) == "the server swaps at 16 connections"


def test_a_fall_of_throughput_ends_the_search() -> None:
    _, search = searched(lambda n: a_result(n, 100.0 if n < 4 else 79.0))
    assert str(search.reason) == "throughput at 4 connections is far below its best"


def test_failing_ends_the_search() -> None:
    results, search = searched(lambda n: a_result(n, 10.0 * n, failed=90 * n if n > 20 else 0))
    assert max(result.concurrency for result in results) == 32
    assert str(search.reason) == "requests fail at 32 connections"
    knee = known(find_knee(results))
    assert 16 <= knee.concurrency <= 20


def test_a_server_that_only_fails_has_no_knee() -> None:
    results, _ = searched(lambda n: a_result(n, 100.0, failed=1000))
    assert len(results) == 1
    assert find_knee(results) is None


def test_the_bounds_are_kept() -> None:
    results, search = searched(lambda n: a_result(n, 10.0 * n), StepSearch(first=3, most=20, finer=0))
    assert [result.concurrency for result in results] == [3, 6, 12, 20, 20]
    assert str(search.reason) == "the maximum of 20 connections was reached (raise it with -c)"
    knee = known(find_knee(results))
    assert not knee.bounded


def test_a_full_generator_ends_the_search() -> None:
    results, search = searched(lambda n: a_result(n, 100.0 * n, bottleneck="generator" if n > 3 else "none"))
    assert max(result.concurrency for result in results) == 4
    assert str(search.reason) == "the load generator is at its limit"


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 9, 21, 50, 100])
def test_the_knee_of_a_queue_is_near_its_capacity(capacity: int) -> None:
    results, _ = searched(lambda n: a_result(n, 10.0 * min(n, capacity)))
    knee = known(find_knee(results))
    assert 0.97 * capacity <= knee.concurrency <= 1.26 * capacity
    assert knee.rps >= 0.97 * 10 * capacity


@pytest.mark.parametrize(("again", "knee"), [(101.0, 16), (94.0, 4)])
def test_the_knee_is_lower_where_the_best_throughput_is_uncertain(again: float, knee: int) -> None:
    steps = [a_result(n, rps) for n, rps in ((1, 30.0), (4, 92.8), (8, 93.0), (16, 101.0), (16, again))]
    assert known(find_knee(steps)).concurrency == knee


def test_a_knee_that_does_not_repeat_is_not_confirmed() -> None:
    first = [a_result(n, x) for n, x in ((1, 10.0), (2, 20.0), (4, 40.0), (8, 41.0), (16, 40.0))]
    assert find_knee([*first, a_result(4, 33.0)]) is not None
    again = known(find_knee([*first, a_result(8, 30.0), a_result(16, 30.0), a_result(4, 33.0)]))
    assert again.concurrency == 4
    assert again.confirmed is False


def test_what_swaps_below_a_calm_step_is_left_over() -> None:
    results = [a_result(n, 10.0 * n) for n in (1, 2, 4, 6)]
    swapping = a_result(8, 20.0, swap_kb_s=9_000.0, bottleneck="swap")
    knee = known(find_knee([*results, swapping, a_result(5, 50.0, swap_kb_s=300.0, bottleneck="swap")]))
    assert (knee.concurrency, knee.worse_from) == (6, 8)


def test_a_peak_beyond_the_measured_range_is_marked() -> None:
    knee = known(find_knee([a_result(n, 100.0 * n / (1 + 0.0001 * n * (n - 1))) for n in (1, 2, 4, 8, 16)]))
    assert knee.usl is not None
    assert knee.usl.peak == pytest.approx(100, rel=0.05)
    assert not knee.peak_is_measured


def test_traffic_without_stalls_is_not_the_servers() -> None:
    assert not a_result(8, 80.0, swap_kb_s=9_000.0, bottleneck="cpu").swaps
