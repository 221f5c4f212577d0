"""Requests that wait for something no one watches, told from pages that differ; and the next limit."""

from typing import Any

import pytest

from loadtop.diagnosis.finding import Forecast
from loadtop.diagnosis.forecast import LEAST_INTERVALS
from loadtop.model import CgroupLimits, Cpu, CpuTimes, Failures, Network
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.conftest import Machine
from tests.unit.course import FULL, Course, counted, named, served
from tests.unit.known import known

BEGINNING = [20.0 * n for n in range(1, 21)]
"""Twenty requests for a lock that each hold for 20 ms: the first finds it free."""


def test_requests_that_all_wait_for_a_lock_are_waiting(course: Course) -> None:
    some = counted(lambda n: Failures(receive=5 * n))  # one request in ten: whatever else is full comes first
    course.go_on(2, board=None)
    course.go(board=None, load=served(50, *BEGINNING, *[400.0] * 30))
    diagnosis = course.go_on(4, board=None, load=served(50, *[400.0] * 50, failures=some))
    assert [named(diagnosis), *(each.bottleneck for each in diagnosis.findings)] == ["waiting", "waiting", "errors"]
    share, low, flying = diagnosis.verdict.evidence
    assert share.value == pytest.approx(95.0)
    assert low.value == pytest.approx(400.0, rel=0.02)
    assert flying.value == pytest.approx(20.0)
    assert flying.threshold == 1
    assert "Of 20 requests in flight, 1.0 are being served" in str(diagnosis.verdict.advice)


@pytest.mark.parametrize(
    "pages",
    [[200.0] * 100, [2.0] * 50 + [500.0] * 50, [2.0] * 14 + [200.0, 205.0, 210.0] * 29],
    ids=["all take long", "some are slow", "every seventh is fast"],
)
def test_pages_that_differ_or_take_long_are_headroom(course: Course, pages: list[float]) -> None:
    assert named(course.go_on(8, load=served(100, *pages))) == "none"


def test_a_lock_that_every_seventh_finds_free_is_waiting(course: Course) -> None:
    unfair = [20.0] * 14 + [20.0 * n for n in range(2, 20)] * 5
    diagnosis = course.go_on(4, board=None, load=served(100, *unfair))
    assert named(diagnosis) == "waiting"
    assert diagnosis.verdict.evidence[1].metric == "load.p20_ms"


def test_waits_beside_a_cpu_that_is_nearly_full_say_nothing(course: Course) -> None:
    course.go(busy=(85.0, 85.0), load=served(50, *BEGINNING))
    assert named(course.go_on(6, busy=(85.0, 85.0), load=served(50, *[400.0] * 50))) == "none"


def test_waits_for_a_full_pool_are_the_pool(course: Course) -> None:
    course.go(board="W" * 10, load=served(50, *BEGINNING))
    diagnosis = course.go_on(4, board="W" * 10, load=served(50, *[400.0] * 50))
    assert named(diagnosis) == "apache-workers"


def test_throughput_that_no_longer_grows_is_reported_with_the_connections_that_sufficed(course: Course) -> None:
    course.go_on(4, load=served(50, *[20.0] * 50, c=1))
    diagnosis = course.go_on(4, load=served(51, *[200.0] * 50, c=10))
    assert named(diagnosis) == "waiting"
    assert "no growth from c=1" in {item.source.removeprefix("loadtop: ") for item in diagnosis.verdict.evidence}


def test_immediate_errors_do_not_measure_a_good_response(course: Course) -> None:
    course.go(load=served(50, 0.5, 200.0, non_2xx=1))
    steady = [named(course.go(load=served(100, *[200.0] * 100, non_2xx=n))) for n in range(2, 8)]
    assert set(steady) == {"none"}


def test_without_the_servers_machine_the_advice_is_to_watch_it(load: Any) -> None:
    course = Course(Machine("here", "generator"), load)
    course.go(load=served(50, *BEGINNING))
    course.go(load=served(50, *BEGINNING))
    assert "Add it with --host" in str(course.go_on(3, load=served(50, *[400.0] * 50)).verdict.advice)


CALM_PAGES = served(120, *[5.0] * 50, c=2)
LINE = {"networks": counted(lambda n: (Network("eth0", 0, 4_000_000 * n, 0, 0, link_mbit=100),))}
SIX_CHILDREN = {"fpm": (FpmPool("www", "static", 0, 0, 511, 3, 3, 6, 0, None, 6),)}
HALF_A_CORE = {"cgroup": CgroupLimits("/web", 2, 50_000, 100_000, 0, 0, 0)}


def a_tenth_stolen(n: int) -> Cpu:
    return Cpu(CpuTimes(60 * n, 0, 0, 120 * n, 0, 0, 0, 20 * n), ())


def foreseen(course: Course, times: int = LEAST_INTERVALS + 1, **settings: Any) -> Forecast | None:
    return course.go_on(times, **settings).forecast


@pytest.mark.parametrize(
    ("settings", "resource", "rps"),
    [
        ({"busy": (30.0, 30.0), "load": CALM_PAGES}, "cpu", 400.0),
        # 0.3 of the 1.1 cores that a stranger leaves
        ({"busy": (60.0, 60.0), "processes": {"backup": 90.0}, "load": CALM_PAGES}, "cpu", 440.0),
        # Without the tenth that is stolen
        ({"changes": {"cpu": counted(a_tenth_stolen)}, "load": CALM_PAGES}, "cpu", 360.0),
        # By Little's law
        ({"board": "WWWW" + "_" * 8, "load": served(15, *[200.0] * 15, c=3)}, "apache-workers", 60.0),
        # Without the status page's own child
        ({"board": None, "changes": SIX_CHILDREN, "load": served(10, *[200.0] * 10, c=2)}, "fpm-workers", 30.0),
        ({"busy": (3.0, 3.0), "changes": LINE, "load": served(100, *[5.0] * 50, c=2)}, "network", 312.0),
        # The quota before the machine
        (
            {
                "busy": (10.0, 10.0), "processes": {"apache2": 20.0}, "changes": HALF_A_CORE,
                "load": served(40, 5.0, c=2),
            },
            "throttled",
            100.0,
        ),
    ],
)  # fmt: skip
def test_the_next_limit_is_predicted(course: Course, settings: dict[str, Any], resource: str, rps: float) -> None:
    found = known(foreseen(course, **settings))
    assert (found.resource, found.host) == (resource, "web1")
    assert found.rps == pytest.approx(rps, rel=0.01)
    assert found.low < found.rps < found.high


def test_an_interval_with_another_busy_program_changes_no_forecast(course: Course) -> None:
    course.go_on(6, busy=(30.0, 30.0), load=CALM_PAGES)
    course.go(busy=(85.0, 85.0), load=CALM_PAGES)
    found = known(foreseen(course, 3, busy=(30.0, 30.0), load=CALM_PAGES))
    assert found.rps == pytest.approx(400.0, rel=0.01)


def test_other_work_beside_the_load_is_not_counted_as_its_own(course: Course) -> None:
    for share in (30.0, 50.0, 30.0, 62.0, 31.0, 58.0, 30.0, 45.0, 30.0, 66.0, 31.0):
        found = course.go(busy=(share, share), load=CALM_PAGES).forecast
    assert found is not None
    assert found.resource == "cpu"
    assert found.rps == pytest.approx(400.0, rel=0.1)
    assert found.low < 395.0 < found.high


def test_no_forecast_too_early_too_far_or_with_failures(course: Course) -> None:
    assert foreseen(course, LEAST_INTERVALS, busy=(30.0, 30.0), load=served(100, *[5.0] * 50)) is None
    assert foreseen(course, 60, busy=(4.0, 4.0), cpu=2.0, load=served(100, *[5.0] * 50)) is None
    failing = served(100, *[5.0] * 50, non_2xx=counted(lambda number: 50 * number))
    assert foreseen(course, busy=(30.0, 30.0), load=failing) is None


def test_no_forecast_while_a_limit_holds(course: Course) -> None:
    assert foreseen(course, 12, **FULL) is None


def test_one_early_response_does_not_measure_a_request(course: Course) -> None:
    course.go_on(2, load=served(200, 0.8, *[100.0] * 199))
    assert named(course.go_on(8, load=served(200, *[100.0] * 200))) == "none"
