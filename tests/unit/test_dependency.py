"""Services and file locks that requests wait for, on composed frames: which of them is the limit, and which is not."""

from functools import partial
from math import log
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.dependency import Dependencies
from loadtop.diagnosis.finding import Dependency
from loadtop.diagnosis.lock import LOCK
from loadtop.diagnosis.verdict import Assessment
from loadtop.model import SERVICE, FileLock, Latencies, LoadState, Peer, Peers, Process, Role
from loadtop.model.histogram import distribution
from loadtop.model.server import Blocker
from loadtop.rates.measured import HostView
from loadtop.rates.records import PeerRates, ProcessRates, ServerRates
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.mysql.record import MysqlStatus
from tests.unit.course import FULL, Course, counted, named
from tests.unit.course import served as served_by
from tests.unit.interval import SAMPLE, advice, busy, group, host, measured, of_host, states, value
from tests.unit.known import known

READINGS = 5  # of the connections in each interval
DATABASE = "10.0.0.5:3306"
served = partial(served_by, c=12)


def asks(open_questions: float, *, age_ms: int = 20, address: str = DATABASE, depth: int = 1) -> Any:
    """Peers with so many pending requests on average."""

    def sample(number: int) -> Peers:
        n = number + 1
        questions = round(READINGS * open_questions) * n
        peer = Peer(address, "mysql", depth, 8 * READINGS * n, questions, age_ms * questions, 100 * n)
        return Peers(READINGS * n, (peer,))

    return counted(sample)


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


def test_a_slow_service_ends_few_requests_in_an_interval(course: Course) -> None:
    """0.3 s for each: the times of two intervals are enough."""
    begin(course, served(3, 300.0, 600.0, 900.0))
    diagnosis = course.go_on(4, board=None, load=served(3, *[3600.0] * 3), changes={"peers": asks(11.0)})
    assert named(diagnosis) == "dependency"


def test_sessions_that_wait_for_a_row_are_served_in_no_order(course: Course) -> None:
    """Their times are those of a random choice among those that wait: exponential, with a mean of 12 times 20 ms."""
    unordered = served(50, *[240.0 * log(50 / (n + 0.5)) for n in range(50)])
    begin(course, SERIAL_FIRST)
    diagnosis = course.go_on(3, board=None, load=unordered, changes={"peers": asks(11.0)})
    assert named(diagnosis) == "dependency"


def test_one_that_serves_all_at_once_is_none(course: Course) -> None:
    begin(course, PARALLEL)
    assert named(course.go_on(6, load=PARALLEL, changes={"peers": asks(11.9)})) == "none"


def test_idle_connections_are_not_a_dependency(course: Course) -> None:
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
    diagnosis = course.go_on(5, board="W" * 10, load=steady, changes={"peers": asks(10.0)})
    assert named(diagnosis) == limit
    hint = "of which it waits 200 ms for mysql at 10.0.0.5:3306"
    assert (hint in str(diagnosis.verdict.advice)) is (limit == "apache-workers")


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


@pytest.mark.parametrize(("lock_waits", "limit"), [(9, "dependency"), (2, "apache-workers")])
def test_a_database_that_says_that_sessions_wait_for_locks_is_the_dependency(
    course: Course, lock_waits: int, limit: str
) -> None:
    """Although its times alone do not show it."""
    blocker = Blocker(
        session=57, blocked=lock_waits, waited_ms=100_000, statement="UPDATE", mode="X", table="shop.stock"
    )
    says = MysqlStatus(DATABASE, running=10, lock_waits=lock_waits, port=3306, blocker=blocker)
    begin(course, PARALLEL, board="W" * 10)
    changes = {"peers": asks(10.0), "mysql": (says,)}
    diagnosis = course.go_on(5, board="W" * 10, load=PARALLEL, changes=changes)
    assert named(diagnosis) == limit
    if limit == "dependency":
        blocked = next(each for each in diagnosis.verdict.evidence if each.metric == "dependency.blocked")
        assert (blocked.value, blocked.threshold) == (9, 5.0)
        advice = "session 57 (UPDATE). Sessions waiting for its lock (shop.stock (X)): 9, for up to 100.0 s."
        assert advice in str(diagnosis.verdict.advice)


def test_full_processors_explain_why_a_service_is_slow(course: Course) -> None:
    begin(course, SERIAL_FIRST, **FULL)
    assert named(course.go_on(5, load=SERIAL, changes={"peers": asks(11.0)}, **FULL)) == "cpu"


def locked(waiting: int, kind: str = "flock", path: str | None = None) -> dict[str, Any]:
    return {"locks": (FileLock(kind, "fe:00", 9977858, 26171, "php-fpm8.2", waiting, path),)}


@pytest.mark.parametrize(
    ("waiting", "in_flight", "over", "held"),
    [(5, 10, False, True), (6, 10, True, True), (5, 20, False, False), (6, 20, False, True), (1, 1, False, True),
     (2, 3, True, True)],
)  # fmt: skip
def test_the_part_of_the_requests_that_waits_for_a_lock(waiting: int, in_flight: int, over: bool, held: bool) -> None:
    found = of_host(LOCK, host(locked(waiting)), load={"in_flight": in_flight})
    assert states(found) == (over, held)


@pytest.mark.parametrize(("waiting", "over"), [(6, False), (7, True)])
def test_idle_workers_may_wait_for_a_lock_of_fcntl(waiting: int, over: bool) -> None:
    page = ApacheStatus("http://x/", "prefork", "Apache", "W" * 4 + "_" * 6)
    view = host(locked(waiting, kind="posix"), servers={"apache": (ServerRates(page, {}),)})
    assert of_host(LOCK, view, load={"in_flight": 10}).over is over


@pytest.mark.parametrize(
    ("changes", "may_be"),
    [({}, True), ({"kind": "posix"}, False), ({"holder": "apache2"}, False), ({"path": "/a"}, False)],
)
def test_a_lock_without_a_path_may_be_that_of_a_php_session(changes: dict[str, Any], may_be: bool) -> None:
    (lock,) = locked(11)["locks"]
    text = advice(of_host(LOCK, host({"locks": (replace(lock, **changes),)})))
    assert ("If this is a PHP session file" in text) is may_be
    assert "Release the lock earlier" in text


@pytest.mark.parametrize(
    ("pid", "cpu", "holder"),
    [(26171, 4.2, "php-fpm8.2 (pid 26171, 4 % of a core)"), (26171, None, "php-fpm8.2 (pid 26171)"),
     (1, 50.0, "php-fpm8.2 (pid 26171)")],
)  # fmt: skip
def test_the_advice_says_how_much_the_holder_of_a_lock_computes(pid: int, cpu: float | None, holder: str) -> None:
    process = ProcessRates(Process(pid, "php-fpm8.2", "php-fpm", "S", 1, 0, 0, 0), cpu)
    assert f"held by {holder}." in advice(of_host(LOCK, host(locked(11), processes=(process,))))


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


SERIAL_MS, SLOW_MS = [20.0 * n for n in range(1, 13)], [240.0] * 50


def asked(
    view: HostView, *intervals: list[float], rps: float = 50.0, load: dict[str, Any] | None = None
) -> Assessment | None:
    """What is said after intervals whose requests took so many ms."""
    dependencies, found = Dependencies(), dict[str, Assessment]()
    for times in intervals or (SERIAL_MS, SLOW_MS):
        latencies = Latencies(distribution([round(1000 * ms) for ms in times]))
        found = dependencies.assess(measured(view, load={"latencies": latencies, **(load or {})}, rps=rps))
    return found.get("web1")


def mysql(questions: float = 11.0, **changes: Any) -> PeerRates:
    return replace(PeerRates(DATABASE, "mysql", 1, 5, 12.0, questions, 100.0, 50.0), **changes)


@pytest.mark.parametrize(
    ("peer", "in_flight", "least", "over", "held"),
    [
        (mysql(10.1), 20, 20.0, True, True),
        (mysql(10.0), 20, 20.0, False, True),  # half of them wait
        (mysql(7.1), 20, 20.0, False, True),
        (mysql(7.0), 20, 20.0, False, False),
        (mysql(1.5), 2, 10.0, True, True),
        (mysql(1.4), 2, 10.0, False, False),
        (mysql(age_ms=480.0), 10, 20.0, True, True),
        (mysql(age_ms=481.0), 10, 20.0, False, False),  # those of something else
        (mysql(age_ms=None), 10, 20.0, True, True),
        (mysql(5.0), 6, 58.0, True, True),  # 1.7 times as long
        (mysql(5.0), 6, 60.0, False, True),
        (mysql(5.0), 6, 70.0, False, True),
        (mysql(5.0), 6, 72.0, False, False),
        (mysql(15.0), 16, 99.0, True, True),  # a fifth of fifteen questions as long
        (mysql(15.0), 16, 101.0, False, True),
        (mysql(15.0), 16, 120.0, False, True),
        (mysql(15.0), 16, 122.0, False, False),
    ],
)
def test_thresholds(peer: PeerRates, in_flight: int, least: float, over: bool, held: bool) -> None:
    """At 50 requests/s, one pending question stands for 20 ms."""
    found = known(asked(host(peers=(peer,)), [least] * 12, SLOW_MS, load={"in_flight": in_flight}))
    assert (*states(found), found.confidence) == (over, held, 0.925)
    assert value(found, "dependency.ms") == 20 * peer.questions
    assert f"ms each (the fastest request took {least:.3g} ms in total). More workers" in advice(found)


def test_an_engine_may_report_times_of_zero() -> None:
    found = known(asked(host(peers=(mysql(10.0),)), [0.0] * 20, [300.0] * 20))
    assert value(found, "dependency.ms") == 200.0


@pytest.mark.parametrize(("rps", "real"), [(400.0, True), (401.0, False)])
def test_less_than_five_ms_are_noise(rps: float, real: bool) -> None:
    found = known(asked(host(peers=(mysql(2.0),)), [1.0] * 20, [60.0] * 20, rps=rps, load={"in_flight": 2}))
    assert states(found) == (real, real)


@pytest.mark.parametrize(
    ("times", "is_known"),
    [
        ([160.0] * 10 + [300.0] * 10, True),  # the fastest take 1.7 times the 90 ms of the first
        ([120.0] * 10 + [300.0] * 10, False),
        ([90.0] * 8 + [300.0] * 92, False),  # a few pages that do not ask it
        ([90.0] * 3 + [300.0] * 97, True),
        ([90.0] * 3 + [160.0] * 4 + [500.0] * 13, True),  # a queue without order, of which some find the lock free
        ([90.0] * 5 + [160.0] * 2 + [500.0] * 13, False),
    ],
)
def test_without_times_when_fewer_asked_all_must_wait(times: list[float], is_known: bool) -> None:
    found = known(asked(host(peers=(mysql(10.0),)), [90.0] * 12, times))
    assert any(row[0] == "dependency.ms" for row in found.evidence) is is_known


@pytest.mark.parametrize(
    ("before", "intervals", "expected"),
    [
        ({"concurrency": 8}, 2, (80.0 * 1.7, True, True)),
        ({"concurrency": 9}, 2, None),  # no clearly fewer connections
        ({"concurrency": 8}, 1, None),
        ({"concurrency": 8, "rate": 50.0}, 2, None),
        ({"concurrency": None}, 2, None),
        ({"concurrency": 8, "questions": 6.6}, 2, (132.0 * 1.7, False, True)),
        ({"concurrency": 8, "questions": 6.7}, 2, None),  # no clearly fewer questions
    ],
)
def test_what_it_took_when_fewer_asked(
    before: dict[str, Any], intervals: int, expected: tuple[float, bool, bool] | None
) -> None:
    """The pages differ, so the shortest request says nothing."""
    dependencies, found = Dependencies(), dict[str, Assessment]()
    differ = {"latencies": Latencies(distribution([2_000, 240_000] * 25)), "in_flight": 12}
    few = mysql(before.pop("questions", 4.0))
    for load, peer in (*[(before, few)] * intervals, *[({"concurrency": 12}, mysql(10.0))] * 2):
        found = dependencies.assess(measured(host(peers=(peer,)), load={**differ, **load}, rps=50.0))
    rows = {row[0]: row[2] for row in found["web1"].evidence}
    if expected is None:
        assert "dependency.ms" not in rows
        assert "wait for it, 200 ms each. More workers" in advice(found["web1"])
    else:
        assert rows["dependency.ms"] == pytest.approx(expected[0])
        assert f"({expected[0] / 1.7:.3g} ms under less load). More workers" in advice(found["web1"])
        assert (*states(found["web1"]), found["web1"].confidence) == (*expected[1:], 0.975)


@pytest.mark.parametrize(
    ("peer", "status", "says"),
    [
        (mysql(10.0), {"lock_waits": 6}, True),
        (mysql(10.0), {"lock_waits": 5}, False),
        (mysql(10.0), {"lock_waits": 9, "port": 3307}, False),  # another one
        (mysql(10.0), {"lock_waits": 9, "port": None}, True),
        (mysql(10.0, address="/run/mysqld/mysqld.sock", by_connection=True), {"lock_waits": 9}, True),
        (mysql(10.0, kind="postgresql"), {"lock_waits": 9}, False),
        (mysql(10.0), {"connected": 20, "max_connections": 20}, True),
    ],
)
def test_the_status_of_the_database(peer: PeerRates, status: dict[str, Any], says: bool) -> None:
    """Although its times alone do not show it."""
    server = replace(MysqlStatus(peer.address, port=3306), **status)
    found = known(asked(host(peers=(peer,), servers={"mysql": (ServerRates(server, {}),)}), SLOW_MS))
    assert (*states(found), found.confidence) == (says, says, 0.95 if says else 0.925)


def test_the_service_furthest_away_is_the_cause() -> None:
    near, far = mysql(address="10.0.0.4:80", depth=1), mysql(depth=2)
    for peers, expected in (((far, near), DATABASE), ((mysql(1.0, depth=2), near), "10.0.0.4:80")):
        found = known(asked(host(peers=peers)))
        assert (known(found.dependency).address, found.over) == (expected, True)


@pytest.mark.parametrize(
    "load", [{"latencies": None}, {"state": LoadState.DONE}, {"latencies": Latencies(distribution([9] * 2))}]
)
def test_without_requests_nothing_is_reported(load: dict[str, Any]) -> None:
    assert asked(host(peers=(mysql(),)), load=load) is None
    assert asked(host(peers=(mysql(),)), rps=0.0) is None


@pytest.mark.parametrize(
    ("counts", "enough"),
    [([5], True), ([4], False), ([2, 3], True), ([1] * 5, True), ([1] * 4, False), ([4, 0, 0, 0, 0, 0], False)],
)
def test_five_requests_of_five_intervals_are_enough(counts: list[int], enough: bool) -> None:
    found = asked(host(peers=(mysql(),)), *([240.0] * count for count in counts))
    assert (found is not None) is enough


@pytest.mark.parametrize(("busy_pct", "steal", "over"), [(74.0, 0.5, True), (74.0, 1.0, False), (75.0, 0.0, False)])
def test_a_busy_cpu_slows_everything_down(busy_pct: float, steal: float, over: bool) -> None:
    found = known(asked(host(peers=(mysql(),), cpu=busy(busy_pct, steal))))
    assert states(found) == (over, True)


@pytest.mark.parametrize(("waits_pct", "over"), [(10.0, True), (90.0, True), (150.0, False), (None, False)])
def test_strangers_that_fill_the_cpu_matter_only_where_the_server_waits_for_it(
    waits_pct: float | None, over: bool
) -> None:
    """At 50 requests/s of 240 ms, 100 % of a core are 20 ms of each: a fifth of the time is 48 ms."""
    service = group(100.0, name=SERVICE, role=Role.APPLICATION, wait=waits_pct)
    found = known(asked(host(cpu=busy(99.0), peers=(mysql(kind=None, watched=True),), groups=(service,))))
    assert found.over is over


@pytest.mark.parametrize(("cpu_pct", "watched", "over"), [(5.0, True, True), (None, True, False), (None, False, True)])
def test_a_service_with_unmeasured_cpu_is_not_a_limit(cpu_pct: float | None, watched: bool, over: bool) -> None:
    service = replace(group(name=SERVICE, role=Role.APPLICATION), cpu=cpu_pct)
    found = known(asked(host(peers=(mysql(kind=None, watched=watched),), groups=(service,))))
    assert found.over is over


@pytest.mark.parametrize(
    ("address", "database_pct", "over"),
    [
        ("127.0.0.1:3306", 10.0, True), ("[::1]:3306", 10.0, True), ("10.0.0.7:3306", 10.0, True),
        ("/run/mysqld/mysqld.sock", 10.0, True), ("127.0.0.1:3306", 100.0, True), ("127.0.0.1:3306", 120.0, False),
        ("10.0.0.5:3306", 10.0, False),  # another machine, whose processor may be full
    ],
)  # fmt: skip
def test_strangers_do_not_slow_a_database_down_that_computes_little(
    address: str, database_pct: float, over: bool
) -> None:
    groups = (group(10.0, wait=10.0), group(database_pct, name="mysql", role=Role.DATABASE))
    facts = replace(SAMPLE.facts, addresses=("10.0.0.7",))
    found = known(asked(host({"facts": facts}, cpu=busy(99.0), peers=(mysql(address=address),), groups=groups)))
    assert found.over is over


def test_a_database_whose_processes_are_unknown_may_be_slow_because_strangers_fill_the_cpu() -> None:
    found = known(
        asked(host(cpu=busy(99.0), peers=(mysql(address="127.0.0.1:3306"),), groups=(group(10.0, wait=10.0),)))
    )
    assert not found.over
