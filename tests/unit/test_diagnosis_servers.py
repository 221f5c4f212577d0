"""Limits of servers and of the generator's supplies: pools, queues, ports, descriptors; and what looks like one: small
pools, bursts, figures that are some seconds old."""

from typing import Any

import pytest

from loadtop.i18n import Message
from loadtop.model import CgroupLimits, Listener, LoadState, ServerSeen, Tcp
from loadtop.model.load import NO_LOCAL_PORT, TOO_MANY_CONNECTIONS
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.conftest import Machine
from tests.unit.course import FULL, Course, counted, evidence, generator, named

SEEN = ServerSeen("Apache", "web1", 8080, "/")
Settings = dict[str, Any]


def pool(
    active: int, *, queue: int | None = 0, most: int | None = 5, total: int | None = None, manager: str = "static"
) -> Settings:
    started = (most or 0) if total is None else total
    return {"fpm": (FpmPool("www", manager, 0, queue, 511, started - active, active, started, 0, None, most),)}


def silent(queue: int | None, silent_s: float | None = 2.0) -> Settings:
    return {"fpm": (FpmPool("www", "static", None, queue, None, None, None, None, None, None, 5, silent_s=silent_s),)}


def haproxy(queue: int, *, busy: int, maxconn: int | None = 4, front: int = 10) -> Settings:
    lines = (
        HaproxyProxy("fe", "FRONTEND", "OPEN", None, front, 2000, 0, 0, 0),
        HaproxyProxy("be", "s1", "UP", 0, busy, maxconn, 0, 0, 0, queue_ms=120),
        HaproxyProxy("be", "BACKEND", "UP", queue, busy, None, 0, 0, 0, queue_ms=120),
    )
    return {"haproxy": lines}


def tcp(*listeners: Listener, each_s: int = 0) -> Settings:
    return {"tcp": counted(lambda number: Tcp(each_s * number, each_s * number, 0, listeners=listeners))}


def at(queue: int, *, overflows: int = 0) -> Settings:
    """The accept queue of the tested port."""
    return tcp(Listener(8080, queue, 511), each_s=overflows)


def asking(flying: int, **others: Any) -> Settings:
    return {"server": SEEN, "in_flight": flying, "concurrency": flying, "connections": flying, **others}


def arriving(flying: int, rate: float, **others: Any) -> Settings:
    """An open load."""
    return asking(flying, rate=rate, model="open", **others)


LATE = generator(late=counted(lambda n: 5 * n))
OVERFLOWS = tcp(Listener(8080, 5, 4), each_s=20)
OTHERS_OVERFLOW = tcp(Listener(8080, 0, 511), Listener(3306, 81, 80), each_s=20)
FILES = {"generator": generator(files_used=44, files_limit=64), "concurrency": 32, "connections": 32, "in_flight": 32}
QUOTA = {
    "generator": generator(delay_s=0.08, quota_periods=counted(lambda n: 10 * n), quota_stops=counted(lambda n: 8 * n))
}

LIMITS: dict[str, tuple[Settings, str, list[str]]] = {
    "a full fpm pool with a queue": (
        {"changes": pool(5, queue=4)},
        "fpm-workers",
        ["Raise pm.max_children from 5 to 10: 10 requests are in flight", "4 requests are waiting"],
    ),
    "no more children than Apache has slots": (
        {"load": {"in_flight": 200, "concurrency": 200}, "board": "W" * 40, "changes": pool(5, queue=35)},
        "fpm-workers <- apache-workers",
        ["Raise pm.max_children from 5 to 40: 200 requests are in flight"],
    ),
    "a full Apache pool that waits for a full fpm pool": (
        {"board": "W" * 10, "changes": pool(5, queue=5)}, "fpm-workers <- apache-workers", [],
    ),
    "a full Apache pool before enough children": (
        {"board": "W" * 10, "changes": pool(10, most=10)}, "apache-workers", [],
    ),
    "a full fpm pool on a busy CPU": ({"changes": pool(5, queue=5), **FULL}, "cpu <- fpm-workers", []),
    "more callers than children, no queue known": (
        {"load": {"in_flight": 6}, "changes": pool(5, queue=None)}, "fpm-workers", [],
    ),
    "a silent page with connections before the pool": ({"changes": silent(6)}, "fpm-workers", []),
    "free children for which requests wait": (
        {"board": None, "load": asking(12), "changes": pool(3, queue=8, most=4)}, "fpm-workers", [],
    ),
    "a pool that has not started its children": (
        {"board": None, "load": asking(12), "changes": pool(3, queue=9, most=50, total=3, manager="dynamic")},
        "fpm-workers",
        ["All 3 running children of the php-fpm pool www", "its limit of 50"],
    ),
    "a pool that starts them on demand": (
        {"board": None, "load": asking(12), "changes": pool(3, queue=9, most=50, total=3, manager="ondemand")},
        "fpm-workers", ["Set pm = static: the pool grows too slowly towards its limit of 50"],
    ),
    "a pool of an unknown limit": (
        {"board": None, "load": asking(12), "changes": pool(3, queue=9, most=None, total=3, manager="dynamic")},
        "fpm-workers", ["Raise pm.max_children. ", "All 3 children"],
    ),
    "an open load that piles up before fpm": (
        {"board": None, "load": arriving(40, 12.0), "changes": pool(2, queue=38, most=2)}, "fpm-workers", [],
    ),
    "an open load with all its connections taken": (
        {"board": None, "load": arriving(6, 100.0, generator=LATE), "changes": pool(5, queue=1)}, "fpm-workers", [],
    ),
    "requests that queue in HAProxy": (
        {"changes": haproxy(6, busy=4)},
        "haproxy-queue",
        ["6 requests are waiting in HAProxy's backend be. 4 of 4 slots of its server", "about 10 per server"],
    ),
    "a queue in HAProxy behind which fpm is full": (
        {"changes": {**haproxy(6, busy=4), **pool(5, queue=3)}}, "fpm-workers <- haproxy-queue", [],
    ),
    "a frontend at its maxconn": (
        {"changes": haproxy(0, busy=4, maxconn=None, front=2000)},
        "haproxy-queue",
        ["HAProxy's frontend fe (and the global maxconn) above 2,000"],
    ),
    "an open load that piles up in HAProxy": (
        {"load": arriving(50, 20.0), "changes": haproxy(47, busy=3, maxconn=3)}, "haproxy-queue", [],
    ),
    "an accept queue that overflows": (
        {"load": {"server": SEEN}, "changes": OVERFLOWS}, "listen-queue", ["port 8080 (backlog 4)"],
    ),
    "an accept queue that overflows behind a full pool": (
        {"load": {"server": SEEN}, "board": "W" * 10, "changes": OVERFLOWS}, "apache-workers <- listen-queue", [],
    ),
    "overflows, and more requests than the queue has room for": (
        {"load": asking(600), "changes": at(0, overflows=20)}, "listen-queue", [],
    ),
    "as many requests as slots": ({"board": "WWWW", "load": asking(4), "changes": at(0)}, "apache-workers", []),
    "slots that others hold, no queue known": ({"board": "WWKKKKKKKK", "load": asking(1)}, "apache-workers", []),
    "an open load that piles up before Apache": (
        {"board": "WWWW", "load": arriving(60, 40.0), "changes": at(56)}, "apache-workers", [],
    ),
    "a quota that stops the generator": (
        {"load": QUOTA, "board": "W" * 10}, "generator", ["throttled in 80 % of the periods"],
    ),
    "ports that run out, before anything about the server": (
        {"load": {"generator": generator(ports_used=24_000, ports_limit=28_232)}, **FULL},
        "client-ports",
        ["about 470 new connections/s", "Use -k"],
    ),
    "an open load that has used up its files": ({"load": {**FILES, "rate": 500.0}}, "client-files", []),
}  # fmt: skip

CALM: dict[str, Settings] = {
    "children that just suffice": {"changes": pool(5)},
    "as many callers as children, no queue known": {"load": {"in_flight": 5}, "changes": pool(5, queue=None)},
    "a silent page with nobody before the pool": {"changes": silent(0)},
    "a pool without any figure": {"changes": silent(None, None)},
    "one child that writes the page and one request behind it": {
        "board": None, "load": asking(2), "changes": pool(2, queue=1, most=2),
    },
    "a queue of fpm that passes in an open load": {
        "board": None, "load": arriving(4, 12.0), "changes": pool(2, queue=2, most=2),
    },
    "a queue of HAProxy that passes in an open load": {
        "load": arriving(5, 20.0), "changes": haproxy(1, busy=3, maxconn=3),
    },
    "the only connection to a frontend of one is the one that asks": {
        "changes": {"haproxy": (HaproxyProxy("stats", "FRONTEND", "OPEN", None, 1, 1, 0, 0, 0),)},
    },
    "overflows of another port": {"load": {"server": SEEN}, "changes": OTHERS_OVERFLOW},
    "overflows where the tested port has room for everything": {"load": asking(10), "changes": at(0, overflows=20)},
    "the status page's own slot, empty queue": {"board": "WWWW", "load": asking(3), "changes": at(0)},
    "the status page's own slot, unknown queue": {"board": "WWWW", "load": asking(3)},
    "slots that are mostly free, however many requests are on their way": {
        "board": "WW" + "_" * 8, "load": asking(60), "changes": at(0),
    },
    "requests that come together in an open load": {"board": "WWWW", "load": arriving(5, 12.0), "changes": at(1)},
    "a page of a server without slots": {
        "changes": {"apache": (ApacheStatus("http://x/server-status?auto", "event", "Apache", "", 10),)},
    },
    "many ports in TIME_WAIT while enough are left": {
        "load": {"generator": generator(ports_used=15_000, ports_limit=28_232)},
    },
    "a load that just fits its files": {"load": FILES},
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_named_within_three_intervals(course: Course, name: str) -> None:
    settings, expected, said = LIMITS[name]
    diagnosis = course.go_on(3, **settings)
    limit, _, symptom = expected.partition(" <- ")
    assert (named(diagnosis), diagnosis.verdict.host) == (limit, None if limit in OF_GENERATOR else "web1")
    assert not symptom or symptom in {found.bottleneck for found in diagnosis.verdict.symptoms}
    assert all(part in str(diagnosis.verdict.advice) for part in said), str(diagnosis.verdict.advice)


OF_GENERATOR = ("generator", "client-ports", "client-files")


@pytest.mark.parametrize("name", CALM)
def test_apparent_limits_are_not_limits(course: Course, name: str) -> None:
    assert named(course.go_on(6, **CALM[name])) == "none"


@pytest.mark.parametrize(
    ("name", "metric", "value"),
    [
        ("a full fpm pool with a queue", "fpm.listen_queue", 4),
        ("a silent page with connections before the pool", "fpm.silent_s", 2.0),
        ("an accept queue that overflows", "tcp.listen_overflows_s", 20),
        ("a quota that stops the generator", "generator.throttled_pct", 80.0),
        ("ports that run out, before anything about the server", "generator.ports_pct", 85.0),
    ],
)
def test_the_evidence_is_the_measured_value(course: Course, name: str, metric: str, value: float) -> None:
    assert evidence(course.go_on(3, **LIMITS[name][0]), metric).value == pytest.approx(value, abs=0.1)


def test_what_was_full_is_free_again_though_the_page_takes_the_last_place(course: Course) -> None:
    for full, free, limit in (
        ({"board": "WWWW", "changes": at(8)}, {"board": "WWW_", "changes": at(0)}, "apache-workers"),
        (
            {"board": None, "changes": pool(2, queue=10, most=2)},
            {"board": None, "changes": pool(2, most=2)},
            "fpm-workers",
        ),
    ):
        assert named(course.go_on(4, load=asking(12), **full)) == limit
        assert named(course.go_on(4, load=asking(1), **free)) == "none"


def test_one_moment_with_a_queue_in_haproxy_is_not_a_limit(course: Course) -> None:
    for _ in range(4):
        assert named(course.go(changes=haproxy(1, busy=4))) == "none"
        assert named(course.go_on(3, changes=haproxy(0, busy=2))) == "none"


def test_free_slots_beside_requests_that_nothing_has_a_slot_for_are_taken(course: Course) -> None:
    """The accept queue of a remote host may be seconds old: it was read before the load began."""
    boards = ["WWW_", "WW__", "WWWW", "WWW_", "WW__", "WWW_"]
    found = [named(course.go(board=board, load=asking(12), changes=at(0))) for board in boards]
    assert found[-3:] == ["apache-workers"] * 3


def test_a_pool_that_has_not_started_its_children_needs_no_higher_limit(course: Course) -> None:
    settings, *_ = LIMITS["a pool that has not started its children"]
    assert "pm.max_children" not in str(course.go_on(3, **settings).verdict.advice)


def test_an_open_load_without_a_free_connection_needs_connections(course: Course) -> None:
    verdict = course.go_on(4, board=None, load=arriving(1, 100.0, generator=LATE)).verdict
    assert verdict.bottleneck == "none"
    assert "Raise -c from 1 to reach 100 requests/s" in str(verdict.advice)
    assert "still waits for a response" in str(verdict.advice)
    assert "raise the rate (now 100/s)" in str(course.go_on(4, board=None, load=arriving(1, 100.0)).verdict.advice)


def test_a_quota_of_the_whole_container_is_not_the_generators_alone(load: Any) -> None:
    def group(n: int) -> CgroupLimits:
        return CgroupLimits("/", 2, 50_000, 100_000, periods=10 * n, throttled_periods=8 * n, throttled_us=300_000 * n)

    course = Course(Machine("here", "target+generator"), load)
    assert named(course.go_on(4, load=QUOTA, changes={"cgroup": counted(group)})) == "throttled"


def test_the_kernels_word_that_no_port_is_left_is_enough_at_once(course: Course) -> None:
    def failing(number: int) -> Any:
        return course.load.newest.failures.__class__(connect=50 * number)

    course.go_on(2)
    no_port = {"message": Message(NO_LOCAL_PORT, server="web1:80"), "failures": failing}
    diagnosis = course.go(load=no_port)
    assert named(diagnosis) == "client-ports"
    assert diagnosis.verdict.confidence > 0.8


def test_a_load_with_more_connections_than_files_is_refused(course: Course) -> None:
    message = Message(TOO_MANY_CONNECTIONS, connections=100, limit=64, needed=132)
    files = {"generator": generator(files_used=12, files_limit=64), "concurrency": 0, "connections": 0}
    diagnosis = course.go(load={**files, "message": message, "state": LoadState.FAILED})
    assert named(diagnosis) == "client-files"
    for part in ("files per process allow 32 connections, but 100 are needed", "ulimit -n 132", "--workers 4"):
        assert part in str(diagnosis.verdict.advice)


def test_of_a_server_that_is_not_watched_no_headroom_is_claimed(load: Any) -> None:
    verdict = Course(Machine("here", "generator"), load).go_on(3, board=None).verdict
    assert (verdict.bottleneck, verdict.confidence) == ("none", 0.5)
    assert "The server's host is not watched. Add it with --host" in str(verdict.advice)
