"""Requests that wait for something nobody watches, told from pages that differ; and the next limit."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from loadtop.diagnosis.finding import Diagnosis, Forecast
from loadtop.diagnosis.forecast import LEAST_INTERVALS
from loadtop.model import CgroupLimits, Distribution, Latencies, Network
from loadtop.model.histogram import EMPTY, bucket_of
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.course import Course, counted


def latencies(milliseconds: Sequence[float]) -> Latencies:
    values = [round(1000 * value) for value in milliseconds]
    counts: dict[int, int] = {}
    for value in values:
        counts[bucket_of(value)] = counts.get(bucket_of(value), 0) + 1
    total = Distribution(
        len(values), sum(values), sum(v * v for v in values), min(values), max(values),
        tuple(sorted(counts)), tuple(counts[bucket] for bucket in sorted(counts)),
    )  # fmt: skip
    return Latencies(total, EMPTY, EMPTY, EMPTY)


def served(rps: float, *milliseconds: float, c: int = 20, **changes: Any) -> dict[str, Any]:
    return {
        "rps": rps, "latencies": latencies(milliseconds), "concurrency": c, "in_flight": c, "connections": c, **changes
    }  # fmt: skip


def named(diagnosis: Diagnosis) -> str:
    return diagnosis.verdict.bottleneck


BEGINNING = [20.0 * n for n in range(1, 21)]
"""Twenty requests for a lock that each hold for 20 ms: the first finds it free."""


def test_requests_that_all_wait_for_a_lock_are_waiting(course: Course) -> None:
    course.go_on(2, board=None)
    course.go(board=None, load=served(50, *BEGINNING, *[400.0] * 30))
    diagnosis = course.go_on(2, board=None, load=served(50, *[400.0] * 50))
    assert named(diagnosis) == "waiting"
    share, low, flying = diagnosis.verdict.evidence
    assert share.value == pytest.approx(95.0)
    assert low.value == pytest.approx(400.0, rel=0.02)
    assert flying.value == pytest.approx(20.0)
    assert flying.threshold == 1
    assert "Of 20 requests in flight 1.0 are being served" in str(diagnosis.verdict.advice)


def test_pages_that_merely_take_long_are_headroom(course: Course) -> None:
    assert named(course.go_on(8, load=served(100, *[200.0] * 100))) == "none"


def test_pages_of_which_some_are_slow_are_headroom(course: Course) -> None:
    mixed = [2.0] * 50 + [500.0] * 50
    assert named(course.go_on(8, load=served(80, *mixed))) == "none"


def test_a_lock_that_every_seventh_finds_free_is_waiting(course: Course) -> None:
    unfair = [20.0] * 14 + [20.0 * n for n in range(2, 20)] * 5
    diagnosis = course.go_on(4, board=None, load=served(100, *unfair))
    assert named(diagnosis) == "waiting"
    assert diagnosis.verdict.evidence[1].metric == "load.p20_ms"


def test_pages_of_which_every_seventh_is_fast_are_headroom(course: Course) -> None:
    mixed = [2.0] * 14 + [200.0, 205.0, 210.0] * 29
    assert named(course.go_on(8, load=served(100, *mixed))) == "none"


def test_waits_beside_a_cpu_that_is_nearly_full_say_nothing(course: Course) -> None:
    course.go(busy=(85.0, 85.0), load=served(50, *BEGINNING))
    assert named(course.go_on(6, busy=(85.0, 85.0), load=served(50, *[400.0] * 50))) == "none"


def test_waits_for_a_full_pool_are_the_pool(course: Course) -> None:
    course.go(board="W" * 10, load=served(50, *BEGINNING))
    diagnosis = course.go_on(4, board="W" * 10, load=served(50, *[400.0] * 50))
    assert named(diagnosis) == "apache-workers"


def test_throughput_that_no_longer_grows_is_said_with_the_connections_that_sufficed(course: Course) -> None:
    course.go_on(4, load=served(50, *[20.0] * 50, c=1))
    diagnosis = course.go_on(4, load=served(51, *[200.0] * 50, c=10))
    assert named(diagnosis) == "waiting"
    assert "no growth over c=1" in {item.source.removeprefix("loadtop: ") for item in diagnosis.verdict.evidence}


def test_errors_that_come_back_at_once_are_no_measure_of_a_good_answer(course: Course) -> None:
    course.go(load=served(50, 0.5, 200.0, non_2xx=1))
    steady = [named(course.go(load=served(100, *[200.0] * 100, non_2xx=n))) for n in range(2, 8)]
    assert set(steady) == {"none"}


def test_without_the_servers_machine_the_advice_is_to_watch_it(
    another_machine: Callable[..., Any], load: Any, frame_of: Any
) -> None:
    course = Course(another_machine("here", "generator"), load, frame_of)
    course.go(load=served(50, *BEGINNING))
    course.go(load=served(50, *BEGINNING))
    assert "add it with --host" in str(course.go_on(3, load=served(50, *[400.0] * 50)).verdict.advice)


def foreseen(course: Course, times: int = LEAST_INTERVALS + 1, **settings: Any) -> Forecast | None:
    return course.go_on(times, **settings).forecast


def test_the_cpu_is_forecast_from_what_each_request_takes(course: Course) -> None:
    found = foreseen(course, busy=(30.0, 30.0), load=served(120, *[5.0] * 50, c=2))
    assert found is not None
    assert (found.resource, found.host) == ("cpu", "web1")
    assert found.rps == pytest.approx(400.0, rel=0.01)
    assert found.low < found.rps < found.high


def test_what_a_stranger_takes_of_the_cpu_is_not_there_for_requests(course: Course) -> None:
    found = foreseen(course, busy=(60.0, 60.0), processes={"backup": 90.0}, load=served(120, *[5.0] * 50, c=2))
    assert found is not None
    assert found.rps == pytest.approx(440.0, rel=0.02)  # 0.3 of 1.1 cores


def test_an_interval_in_which_somebody_else_was_busy_bends_no_forecast(course: Course) -> None:
    course.go_on(6, busy=(30.0, 30.0), load=served(120, *[5.0] * 50, c=2))
    course.go(busy=(85.0, 85.0), load=served(120, *[5.0] * 50, c=2))
    found = foreseen(course, 3, busy=(30.0, 30.0), load=served(120, *[5.0] * 50, c=2))
    assert found is not None
    assert found.rps == pytest.approx(400.0, rel=0.01)


def test_what_comes_and_goes_beside_the_load_is_not_taken_for_its_own(course: Course) -> None:
    load = served(120, *[5.0] * 50, c=2)
    for share in (30.0, 50.0, 30.0, 62.0, 31.0, 58.0, 30.0, 45.0, 30.0, 66.0, 31.0):
        found = course.go(busy=(share, share), load=load).forecast
    assert found is not None
    assert found.resource == "cpu"
    assert found.rps == pytest.approx(400.0, rel=0.1)
    assert found.low < 395.0 < found.high


def test_worker_slots_are_forecast_by_littles_law(course: Course) -> None:
    found = foreseen(course, board="WWWW" + "_" * 8, load=served(15, *[200.0] * 15, c=3))
    assert found is not None
    assert found.resource == "apache-workers"
    assert found.rps == pytest.approx(60.0, rel=0.01)


def test_php_fpm_children_are_forecast_without_the_status_pages_own(course: Course) -> None:
    pool = FpmPool("www", "static", 0, 0, 511, 3, 3, 6, 0, None, 6)
    found = foreseen(course, board=None, changes={"fpm": (pool,)}, load=served(10, *[200.0] * 10, c=2))
    assert found is not None
    assert found.resource == "fpm-workers"
    assert found.rps == pytest.approx(30.0, rel=0.01)


def test_the_line_is_forecast_where_its_speed_is_known(course: Course) -> None:
    network = {"networks": counted(lambda n: (Network("eth0", 0, 4_000_000 * n, 0, 0, link_mbit=100),))}
    found = foreseen(course, busy=(3.0, 3.0), changes=network, load=served(100, *[5.0] * 50, c=2))
    assert found is not None
    assert found.resource == "network"
    assert found.rps == pytest.approx(312.0, rel=0.01)


def test_a_quota_is_forecast_before_the_machine(course: Course) -> None:
    group = CgroupLimits("/web", 2, 50_000, 100_000, 0, 0, 0)
    found = foreseen(
        course, busy=(10.0, 10.0), processes={"apache2": 20.0}, changes={"cgroup": group}, load=served(40, *[5.0], c=2)
    )
    assert found is not None
    assert found.resource == "throttled"
    assert found.rps == pytest.approx(100.0, rel=0.02)


def test_nothing_is_foretold_too_early_too_far_or_of_failures(course: Course) -> None:
    assert foreseen(course, LEAST_INTERVALS, busy=(30.0, 30.0), load=served(100, *[5.0] * 50)) is None
    assert foreseen(course, 60, busy=(4.0, 4.0), cpu=2.0, load=served(100, *[5.0] * 50)) is None
    failing = served(100, *[5.0] * 50, non_2xx=counted(lambda number: 50 * number))
    assert foreseen(course, busy=(30.0, 30.0), load=failing) is None


def test_nothing_is_foretold_while_a_limit_holds(course: Course) -> None:
    busy: dict[str, Any] = {"busy": (100.0, 98.0), "running": 9, "cpu_stall": 60.0}
    assert foreseen(course, 12, **busy) is None


def test_one_answer_that_came_early_is_no_measure_of_what_a_request_takes(course: Course) -> None:
    course.go_on(2, load=served(200, 0.8, *[100.0] * 199))
    assert named(course.go_on(8, load=served(200, *[100.0] * 200))) == "none"
