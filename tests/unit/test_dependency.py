"""Services and file locks that requests wait for, on composed frames: which of them is the limit, and which is not."""

from dataclasses import replace
from math import log
from typing import Any

import pytest

from loadtop.diagnosis.dependency import Dependencies
from loadtop.diagnosis.finding import Dependency
from loadtop.model import SERVICE, FileLock, Latencies, Peer, Peers, Role
from loadtop.model.histogram import distribution
from loadtop.model.server import Blocker
from loadtop.rates.records import CpuShares, PeerRates
from loadtop.servers.mysql.record import MysqlStatus
from tests.unit.course import FULL, Course, counted, named
from tests.unit.interval import SAMPLE, group, host, measured

READINGS = 5  # of the connections in each interval
DATABASE = "10.0.0.5:3306"


def asks(open_questions: float, *, age_ms: int = 20, address: str = DATABASE, depth: int = 1) -> Any:
    """Peers with so many pending requests on average."""

    def sample(number: int) -> Peers:
        n = number + 1
        questions = round(READINGS * open_questions) * n
        peer = Peer(address, "mysql", depth, 8 * READINGS * n, questions, age_ms * questions, 100 * n)
        return Peers(READINGS * n, (peer,))

    return counted(sample)


def served(rps: float, *milliseconds: float, c: int = 12, **changes: Any) -> dict[str, Any]:
    latencies = Latencies(distribution([round(1000 * each) for each in milliseconds]))
    return {"rps": rps, "latencies": latencies, "concurrency": c, "in_flight": c, "connections": c, **changes}


def begin(course: Course, load: dict[str, Any], **settings: Any) -> None:
    """The first two intervals: peers and load have rates from the second on."""
    course.go(load=load, changes={"peers": Peers(0)}, **settings)
    course.go(load=load, changes={"peers": asks(11.0)}, **settings)


SERIAL_FIRST = served(50, *[20.0 * n for n in range(1, 13)])
"""The service takes 20 ms for each question, one after the other: the first finds it free."""

SERIAL = served(50, *[240.0] * 50)
PARALLEL = served(50, *[238.0, 240.0, 242.0] * 17)


def test_a_service_that_serves_one_after_the_other_is_the_dependency(course: Course) -> None:
    begin(course, SERIAL_FIRST)
    diagnosis = course.go_on(3, board=None, load=SERIAL, changes={"peers": asks(11.0)})
    assert named(diagnosis) == "dependency"
    assert diagnosis.verdict.dependency == Dependency(DATABASE, "mysql")
    assert diagnosis.verdict.evidence[0].value == pytest.approx(100 * 11 / 12)
    assert "mysql at 10.0.0.5:3306: 11.0 of 12 requests wait for it, 220 ms each" in str(diagnosis.verdict.advice)


def test_sessions_that_wait_for_a_row_are_served_in_no_order(course: Course) -> None:
    """Their times are those of a random choice among those that wait: exponential, with a mean of 12 times 20 ms."""
    unordered = served(50, *[240.0 * log(50 / (n + 0.5)) for n in range(50)])
    begin(course, SERIAL_FIRST)
    diagnosis = course.go_on(3, board=None, load=unordered, changes={"peers": asks(11.0)})
    assert named(diagnosis) == "dependency"


def test_one_that_serves_all_at_once_is_none(course: Course) -> None:
    begin(course, PARALLEL)
    assert named(course.go_on(6, load=PARALLEL, changes={"peers": asks(11.9)})) == "none"


def test_idle_connections_are_no_dependency(course: Course) -> None:
    begin(course, SERIAL_FIRST)
    assert named(course.go_on(6, board=None, load=SERIAL, changes={"peers": asks(0.0)})) == "waiting"


@pytest.mark.parametrize(("first", "steady", "limit"), [
    (SERIAL_FIRST, SERIAL, "dependency"),
    (PARALLEL, PARALLEL, "apache-workers"),
])  # fmt: skip
def test_a_full_pool_before_a_service_is_that_service_only_where_it_gets_slower(
    course: Course, first: dict[str, Any], steady: dict[str, Any], limit: str
) -> None:
    begin(course, first, board="W" * 10)
    assert named(course.go_on(5, board="W" * 10, load=steady, changes={"peers": asks(10.0)})) == limit


def test_a_pool_whose_pages_differ_is_the_pool(course: Course) -> None:
    """Half of the pages do not ask the service, so the least time of a request says nothing about it."""
    mixed = served(100, *[2.0, 240.0] * 50)
    begin(course, mixed, board="W" * 10)
    assert named(course.go_on(5, board="W" * 10, load=mixed, changes={"peers": asks(9.0)})) == "apache-workers"


def test_a_pool_of_which_a_quarter_of_the_pages_is_cached_is_the_pool(course: Course) -> None:
    cached = served(100, *[2.0] * 25, *[150.0 + 4 * n for n in range(75)])
    begin(course, cached, board="W" * 10)
    assert named(course.go_on(5, board="W" * 10, load=cached, changes={"peers": asks(9.0)})) == "apache-workers"


@pytest.mark.parametrize(("fewer", "limit"), [(2.0, "dependency"), (9.0, "apache-workers")])
def test_steps_show_whether_the_service_gets_slower(course: Course, fewer: float, limit: str) -> None:
    """At c=2 it had 2 pending requests and the same throughput, or as many questions as a pool of 10 may ask."""
    few = served(50, *[20.0 * fewer] * 50, c=2)
    begin(course, few)
    course.go_on(3, load=few, changes={"peers": asks(fewer)}, board="W" * 10)
    mixed = served(50, *[100.0, 400.0] * 25)
    assert named(course.go_on(5, board="W" * 10, load=mixed, changes={"peers": asks(10.0)})) == limit


def test_questions_older_than_any_request_are_those_of_something_else(course: Course) -> None:
    begin(course, SERIAL_FIRST)
    old = {"peers": asks(11.0, age_ms=60_000)}
    assert named(course.go_on(6, board=None, load=SERIAL, changes=old)) == "waiting"


@pytest.mark.parametrize(("lock_waits", "limit"), [(9, "dependency"), (2, "apache-workers")])
def test_a_database_that_says_that_sessions_wait_for_locks_is_the_dependency(
    course: Course, lock_waits: int, limit: str
) -> None:
    """Although its times alone do not show it."""
    blocker = Blocker(session=57, blocked=lock_waits, waited_ms=640, statement="UPDATE", mode="X", table="shop.stock")
    says = MysqlStatus(DATABASE, running=10, lock_waits=lock_waits, port=3306, blocker=blocker)
    begin(course, PARALLEL, board="W" * 10)
    changes = {"peers": asks(10.0), "mysql": (says,)}
    diagnosis = course.go_on(5, board="W" * 10, load=PARALLEL, changes=changes)
    assert named(diagnosis) == limit
    if limit == "dependency":
        blocked = next(each for each in diagnosis.verdict.evidence if each.metric == "dependency.blocked")
        assert (blocked.value, blocked.threshold) == (9, 5.0)
        advice = "session 57 (UPDATE): 9 wait for its lock, for up to 0.6 s: shop.stock (X)."
        assert advice in str(diagnosis.verdict.advice)


def test_full_processors_explain_why_a_service_is_slow(course: Course) -> None:
    begin(course, SERIAL_FIRST, **FULL)
    assert named(course.go_on(5, load=SERIAL, changes={"peers": asks(11.0)}, **FULL)) == "cpu"


def locked(waiting: int, kind: str = "flock", path: str | None = None) -> dict[str, Any]:
    return {"locks": (FileLock(kind, "fe:00", 9977858, 26171, "php-fpm8.2", waiting, path),)}


def test_processes_that_wait_for_one_file_are_the_lock(course: Course) -> None:
    course.go_on(2, load=SERIAL, changes=locked(11))
    diagnosis = course.go_on(3, load=SERIAL, changes=locked(11))
    assert named(diagnosis) == "lock"
    assert diagnosis.verdict.lock == FileLock("flock", "fe:00", 9977858, 26171, "php-fpm8.2", 11)
    assert "device fe:00 inode 9977858, held by php-fpm8.2 (pid 26171)" in str(diagnosis.verdict.advice)


def test_locks_of_which_each_has_too_few_leave_waiting(course: Course) -> None:
    locks = {"locks": tuple(FileLock("flock", "fe:00", inode, 26171, "apache2", 4, None) for inode in (1, 2, 3))}
    course.go_on(2, load=SERIAL_FIRST, changes=locked(0))
    assert named(course.go_on(5, load=SERIAL, changes=locks)) == "waiting"


def test_a_lock_of_a_php_session_is_reported_by_its_path(course: Course) -> None:
    locks = locked(11, path="/var/lib/php/sessions/sess_1a2b")
    assert "Call session_write_close()" in str(course.go_on(5, load=SERIAL, changes=locks).verdict.advice)


def test_a_few_that_wait_for_a_file_are_no_limit(course: Course) -> None:
    assert named(course.go_on(5, load=PARALLEL, changes=locked(5))) == "none"


def test_idle_workers_that_wait_for_the_mutex_of_apache_are_no_limit(course: Course) -> None:
    board = "W" * 3 + "_" * 7
    load = served(50, *[40.0] * 50, c=3)
    assert named(course.go_on(5, load=load, board=board, changes=locked(6, kind="posix"))) == "none"


@pytest.mark.parametrize(("waits_pct", "over"), [(10.0, True), (90.0, True), (150.0, False), (None, False)])
def test_strangers_that_fill_the_cpu_matter_only_where_the_server_waits_for_it(
    waits_pct: float | None, over: bool
) -> None:
    """At 50 requests/s of 240 ms, 100 % of a core are 20 ms of each: a fifth of the time is 48 ms."""
    peer = PeerRates("127.0.0.1:9001", None, 1, 5, 12.0, 11.0, 100.0, 50.0, watched=True)
    service = group(100.0, name=SERVICE, role=Role.APPLICATION, wait=waits_pct)
    full = host(cpu=CpuShares(99.0, 0, 0, 1.0, 0, 0, 0, 0), peers=(peer,), groups=(service,))
    dependencies = Dependencies()
    first = Latencies(distribution([20_000 * n for n in range(1, 13)]))
    steady = Latencies(distribution([240_000] * 50))
    dependencies.assess(measured(full, load={"latencies": first}, rps=50.0))
    found = dependencies.assess(measured(full, load={"latencies": steady}, rps=50.0))
    assert found["web1"].over is over


@pytest.mark.parametrize(("cpu_pct", "watched", "over"), [(5.0, True, True), (None, True, False), (None, False, True)])
def test_a_service_whose_cpu_is_not_measured_yet_is_no_limit(cpu_pct: float | None, watched: bool, over: bool) -> None:
    peer = PeerRates("127.0.0.1:9001", None, 1, 5, 12.0, 11.0, 100.0, 50.0, watched=watched)
    service = replace(group(name=SERVICE, role=Role.APPLICATION), cpu=cpu_pct)
    here = host(peers=(peer,), groups=(service,))
    dependencies = Dependencies()
    for latencies in ([20_000 * n for n in range(1, 13)], [240_000] * 50):
        load = {"latencies": Latencies(distribution(latencies))}
        found = dependencies.assess(measured(here, load=load, rps=50.0))
    assert found["web1"].over is over


@pytest.mark.parametrize(
    ("address", "database_pct", "over"),
    [
        ("127.0.0.1:3306", 10.0, True),
        ("[::1]:3306", 10.0, True),
        ("10.0.0.7:3306", 10.0, True),
        ("/run/mysqld/mysqld.sock", 10.0, True),
        ("127.0.0.1:3306", 220.0, False),
        ("10.0.0.5:3306", 10.0, False),  # another machine, whose processor may be full
    ],
)
def test_strangers_do_not_slow_a_database_down_that_computes_little(
    address: str, database_pct: float, over: bool
) -> None:
    peer = PeerRates(address, "mysql", 1, 5, 12.0, 11.0, 100.0, 50.0)
    server = group(10.0, wait=10.0)
    database = group(database_pct, name="mysql", role=Role.DATABASE, wait=10.0)
    facts = replace(SAMPLE.facts, addresses=("10.0.0.7",))
    full = host({"facts": facts}, cpu=CpuShares(99.0, 0, 0, 1.0, 0, 0, 0, 0), peers=(peer,), groups=(server, database))
    dependencies = Dependencies()
    first = Latencies(distribution([20_000 * n for n in range(1, 13)]))
    dependencies.assess(measured(full, load={"latencies": first}, rps=50.0))
    steady = Latencies(distribution([240_000] * 50))
    assert dependencies.assess(measured(full, load={"latencies": steady}, rps=50.0))["web1"].over is over
