"""Limits of servers and of the generator's supplies: pools, queues, ports, descriptors."""

from collections.abc import Callable
from typing import Any

import pytest

from loadtop.diagnosis.finding import Diagnosis, Evidence
from loadtop.i18n import Message
from loadtop.model import CgroupLimits, GeneratorSample, Listener, LoadState, ServerSeen, Tcp
from loadtop.model.load import NO_LOCAL_PORT, TOO_MANY_CONNECTIONS
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.course import Course, counted

FULL: dict[str, Any] = {"busy": (100.0, 98.0), "running": 9, "cpu_stall": 60.0}
SEEN = ServerSeen("Apache", "web1", 8080, "/")


def pool(active: int, *, queue: int | None = 0, most: int = 5) -> dict[str, Any]:
    return {"fpm": (FpmPool("www", "static", 0, queue, 511, most - active, active, most, 0, None, most),)}


def haproxy(queue: int, *, busy: int, maxconn: int | None = 4, front: int = 10) -> dict[str, Any]:
    lines = (
        HaproxyProxy("fe", "FRONTEND", "OPEN", None, front, 2000, 0, 0, 0),
        HaproxyProxy("be", "s1", "UP", 0, busy, maxconn, 0, 0, 0, queue_ms=120),
        HaproxyProxy("be", "BACKEND", "UP", queue, busy, 200, 0, 0, 0, queue_ms=120),
    )
    return {"haproxy": lines}


def tcp(*listeners: Listener, each_s: int = 0) -> dict[str, Any]:
    return {"tcp": counted(lambda number: Tcp(each_s * number, each_s * number, 0, listeners=listeners))}


def named(diagnosis: Diagnosis) -> str:
    return diagnosis.verdict.bottleneck


def evidence(diagnosis: Diagnosis, metric: str) -> Evidence:
    return next(item for item in diagnosis.verdict.evidence if item.metric == metric)


def test_a_full_fpm_pool_with_a_queue_is_named_with_the_number_to_set(course: Course) -> None:
    diagnosis = course.go_on(3, changes=pool(5, queue=4))
    assert (named(diagnosis), diagnosis.verdict.host) == ("fpm-workers", "web1")
    assert evidence(diagnosis, "fpm.listen_queue").value == 4
    assert "Raise pm.max_children from 5 to 10 (10 requests are in flight)" in str(diagnosis.verdict.advice)
    assert "4 requests wait" in str(diagnosis.verdict.advice)


def test_a_full_fpm_pool_needs_no_more_children_than_apache_has_slots(course: Course) -> None:
    load = {"in_flight": 200, "concurrency": 200}
    advice = str(course.go_on(3, load=load, board="W" * 40, changes=pool(5, queue=35)).verdict.advice)
    assert "Raise pm.max_children from 5 to 40 (200 requests are in flight)" in advice


def test_a_full_apache_pool_that_waits_for_a_full_fpm_pool_is_fpm(course: Course) -> None:
    diagnosis = course.go_on(3, board="W" * 10, changes=pool(5, queue=5))
    assert named(diagnosis) == "fpm-workers"
    assert [symptom.bottleneck for symptom in diagnosis.verdict.symptoms] == ["apache-workers"]


def test_a_full_apache_pool_before_enough_fpm_children_is_apache(course: Course) -> None:
    assert named(course.go_on(3, board="W" * 10, changes=pool(10, most=10))) == "apache-workers"


def test_a_full_fpm_pool_on_a_busy_cpu_is_the_cpu(course: Course) -> None:
    diagnosis = course.go_on(3, changes=pool(5, queue=5), **FULL)
    assert named(diagnosis) == "cpu"
    assert [symptom.bottleneck for symptom in diagnosis.verdict.symptoms] == ["fpm-workers"]


def test_children_that_just_suffice_make_nobody_wait(course: Course) -> None:
    assert named(course.go_on(5, changes=pool(5, queue=0))) == "none"


def test_where_no_queue_is_known_more_callers_than_children_tell(course: Course) -> None:
    few = {"in_flight": 5}
    assert named(course.go_on(4, load=few, changes=pool(5, queue=None))) == "none"
    assert named(course.go_on(3, load={"in_flight": 6}, changes=pool(5, queue=None))) == "fpm-workers"


def test_a_silent_fpm_page_with_connections_before_the_pool_is_the_pool(course: Course) -> None:
    silent = FpmPool("www", "static", None, 6, None, None, None, None, None, None, 5, silent_s=2.0)
    diagnosis = course.go_on(3, changes={"fpm": (silent,)})
    assert named(diagnosis) == "fpm-workers"
    assert evidence(diagnosis, "fpm.silent_s").value == 2.0
    idle = FpmPool("www", "static", None, 0, None, None, None, None, None, None, 5, silent_s=2.0)
    assert named(course.go_on(4, changes={"fpm": (idle,)})) == "none"


def test_a_pool_without_any_figure_says_nothing(course: Course) -> None:
    mute = FpmPool("www", "static", None, None, None, None, None, None, None, None, 5)
    assert named(course.go_on(4, changes={"fpm": (mute,)})) == "none"


def test_requests_that_queue_in_haproxy_are_named_with_slots_and_servers(course: Course) -> None:
    diagnosis = course.go_on(3, changes=haproxy(6, busy=4))
    assert named(diagnosis) == "haproxy-queue"
    assert "6 requests queue in HAProxy's backend be. 4 of 4 slots of its server are taken." in str(
        diagnosis.verdict.advice
    )
    assert "about 10 each" in str(diagnosis.verdict.advice)


def test_a_queue_in_haproxy_behind_which_fpm_is_full_is_fpm(course: Course) -> None:
    diagnosis = course.go_on(3, changes={**haproxy(6, busy=4), **pool(5, queue=3)})
    assert named(diagnosis) == "fpm-workers"
    assert "haproxy-queue" in {symptom.bottleneck for symptom in diagnosis.verdict.symptoms}


def test_one_moment_with_a_queue_in_haproxy_is_no_limit(course: Course) -> None:
    for _ in range(4):
        assert named(course.go(changes=haproxy(1, busy=4))) == "none"
        assert named(course.go_on(3, changes=haproxy(0, busy=2))) == "none"


def test_a_frontend_at_its_maxconn_is_named(course: Course) -> None:
    diagnosis = course.go_on(3, changes=haproxy(0, busy=4, maxconn=None, front=2000))
    assert named(diagnosis) == "haproxy-queue"
    assert "frontend fe takes no more than its 2000 connections" in str(diagnosis.verdict.advice)


def test_an_accept_queue_that_overflows_is_named_with_its_backlog(course: Course) -> None:
    overflows = tcp(Listener(8080, 5, 4), each_s=20)
    diagnosis = course.go_on(4, load={"server": SEEN}, changes=overflows)
    assert named(diagnosis) == "listen-queue"
    assert evidence(diagnosis, "tcp.listen_overflows_s").value == 20
    assert "port 8080 (room for 4)" in str(diagnosis.verdict.advice)


def test_an_accept_queue_that_overflows_behind_a_full_pool_is_its_symptom(course: Course) -> None:
    overflows = tcp(Listener(8080, 5, 4), each_s=20)
    diagnosis = course.go_on(4, load={"server": SEEN}, board="W" * 10, changes=overflows)
    assert named(diagnosis) == "apache-workers"
    assert [symptom.bottleneck for symptom in diagnosis.verdict.symptoms] == ["listen-queue"]


def test_overflows_of_another_port_are_no_limit_of_the_server(course: Course) -> None:
    overflows = tcp(Listener(8080, 0, 511), Listener(3306, 81, 80), each_s=20)
    assert named(course.go_on(5, load={"server": SEEN}, changes=overflows)) == "none"


def generator(**changes: Any) -> dict[str, Any]:
    return {"generator": counted(lambda number: GeneratorSample((0.2 * number,), 0.001, **changes))}


def stopped_by_a_quota(**changes: Any) -> dict[str, Any]:
    samples = counted(lambda n: GeneratorSample((0.2 * n,), 0.08, quota_periods=10 * n, quota_stops=8 * n, **changes))
    return {"generator": samples}


def test_a_quota_that_stops_the_generator_is_the_generators_limit(course: Course) -> None:
    diagnosis = course.go_on(3, load=stopped_by_a_quota(), board="W" * 10)
    assert named(diagnosis) == "generator"
    first = diagnosis.verdict.evidence[0]
    assert first.metric == "generator.throttled_pct"
    assert first.value == pytest.approx(80.0)
    assert "stops it in 80 % of the periods" in str(diagnosis.verdict.advice)


def test_a_quota_of_the_whole_container_is_not_the_generators_alone(
    another_machine: Callable[..., Any], load: Any, frame_of: Any
) -> None:
    group = {
        "cgroup": counted(
            lambda n: CgroupLimits(
                "/", 2, cpu_quota_us=50_000, cpu_period_us=100_000, periods=10 * n, throttled_periods=8 * n,
                throttled_us=300_000 * n,
            )
        )
    }  # fmt: skip
    course = Course(another_machine("here", "target+generator"), load, frame_of)
    assert named(course.go_on(4, load=stopped_by_a_quota(), changes=group)) == "throttled"


def test_ports_that_run_out_are_said_before_anything_about_the_server(course: Course) -> None:
    ports = generator(ports_used=24_000, ports_limit=28_232)
    diagnosis = course.go_on(3, load=ports, **FULL)
    assert named(diagnosis) == "client-ports"
    assert diagnosis.verdict.evidence[0].value == pytest.approx(85.0, abs=0.1)
    assert "about 470 new connections/s" in str(diagnosis.verdict.advice)
    assert "Use -k" in str(diagnosis.verdict.advice)


def test_many_ports_in_time_wait_are_no_limit_while_enough_are_left(course: Course) -> None:
    assert named(course.go_on(5, load=generator(ports_used=15_000, ports_limit=28_232))) == "none"


def test_the_kernels_word_that_no_port_is_left_is_enough_at_once(course: Course) -> None:
    def failing(number: int) -> Any:
        return course.load.newest.failures.__class__(connect=50 * number)

    course.go_on(2)
    no_port = {"message": Message(NO_LOCAL_PORT, server="web1:80"), "failures": failing}
    diagnosis = course.go(load=no_port)
    assert named(diagnosis) == "client-ports"
    assert diagnosis.verdict.confidence > 0.8


def test_a_load_that_wants_more_connections_than_files_is_refused_for_that_reason(course: Course) -> None:
    message = Message(TOO_MANY_CONNECTIONS, connections=100, limit=64, needed=132)
    files = {**generator(files_used=12, files_limit=64), "concurrency": 0, "connections": 0, "message": message}
    diagnosis = course.go(load={**files, "state": LoadState.FAILED})
    assert named(diagnosis) == "client-files"
    assert "enough for 32 connections, and 100 are wanted" in str(diagnosis.verdict.advice)
    assert "ulimit -n 132" in str(diagnosis.verdict.advice)
    assert "--workers 4" in str(diagnosis.verdict.advice)


def test_an_open_load_that_has_used_up_its_files_waits_for_them(course: Course) -> None:
    files = {**generator(files_used=44, files_limit=64), "concurrency": 32, "connections": 32, "in_flight": 32}
    assert named(course.go_on(3, load={**files, "rate": 500.0})) == "client-files"


def test_a_load_that_just_fits_its_files_is_not_limited_by_them(course: Course) -> None:
    files = {**generator(files_used=44, files_limit=64), "concurrency": 32, "connections": 32, "in_flight": 32}
    assert named(course.go_on(4, load=files)) == "none"
