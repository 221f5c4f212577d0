"""Small pools, bursts, figures that are some seconds old, neighbours: what looked like a limit and was none, or the
other way round."""

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import (
    OTHER,
    CgroupLimits,
    Disk,
    GeneratorSample,
    Listener,
    Pressure,
    Process,
    Scheduler,
    ServerSeen,
    Tcp,
)
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.course import Course, counted

SEEN = ServerSeen("Apache", "web1", 8080, "/")


def named(diagnosis: Diagnosis) -> str:
    return diagnosis.verdict.bottleneck


def at(queue: int, *, backlog: int = 511, overflows: int = 0) -> dict[str, Any]:
    """The accept queue of the tested port."""
    listener = Listener(8080, queue, backlog)
    return {"tcp": counted(lambda number: Tcp(overflows * number, overflows * number, 0, listeners=(listener,)))}


def asking(flying: int, **others: Any) -> dict[str, Any]:
    return {"server": SEEN, "in_flight": flying, "concurrency": flying, "connections": flying, **others}


def pool(active: int, *, queue: int | None, most: int, total: int | None = None, manager: str = "static") -> Any:
    started = most if total is None else total
    return {"fpm": (FpmPool("www", manager, 0, queue, 511, started - active, active, started, 0, None, most),)}


def waiting_at_haproxy(queue: int, busy: int, slots: int) -> dict[str, Any]:
    return {
        "haproxy": (
            HaproxyProxy("be", "s1", "UP", 0, busy, slots, 0, 0, 0),
            HaproxyProxy("be", "BACKEND", "UP", queue, busy, None, 0, 0, 0),
        )
    }


class TestWorkerSlots:
    @pytest.mark.parametrize("queue", [at(0), {}], ids=["empty queue", "unknown queue"])
    def test_the_status_pages_own_slot_fills_no_pool(self, course: Course, queue: dict[str, Any]) -> None:
        assert named(course.go_on(6, board="WWWW", load=asking(3), changes=queue)) == "none"

    def test_as_many_requests_as_slots_fill_them(self, course: Course) -> None:
        assert named(course.go_on(4, board="WWWW", load=asking(4), changes=at(0))) == "apache-workers"

    def test_slots_that_others_hold_are_taken_where_no_queue_is_known(self, course: Course) -> None:
        assert named(course.go_on(4, board="WWKKKKKKKK", load=asking(1))) == "apache-workers"

    def test_free_slots_beside_requests_that_nothing_has_a_slot_for_are_taken(self, course: Course) -> None:
        """The accept queue of a far machine may be seconds old: it was read before the load began."""
        boards = ["WWW_", "WW__", "WWWW", "WWW_", "WW__", "WWW_"]
        slow = asking(12)
        found = [named(course.go(board=board, load=slow, changes=at(0))) for board in boards]
        assert found[-3:] == ["apache-workers"] * 3

    def test_slots_that_are_mostly_free_are_free_however_many_requests_are_on_their_way(self, course: Course) -> None:
        assert named(course.go_on(5, board="WW" + "_" * 8, load=asking(60), changes=at(0))) == "none"

    def test_a_pool_that_was_full_is_free_again_though_the_page_takes_its_last_slot(self, course: Course) -> None:
        assert named(course.go_on(4, board="WWWW", load=asking(12), changes=at(8))) == "apache-workers"
        assert named(course.go_on(4, board="WWW_", load=asking(2), changes=at(0))) == "none"

    def test_requests_that_come_together_in_an_open_load_are_a_burst(self, course: Course) -> None:
        load = asking(5, rate=12.0, model="open")
        assert named(course.go_on(6, board="WWWW", load=load, changes=at(1))) == "none"

    def test_an_open_load_that_piles_up_is_not(self, course: Course) -> None:
        load = asking(60, rate=40.0, model="open")
        assert named(course.go_on(4, board="WWWW", load=load, changes=at(56))) == "apache-workers"


class TestHeadroom:
    def test_an_open_load_without_a_free_connection_wants_connections_and_no_higher_rate(self, course: Course) -> None:
        late = counted(lambda n: GeneratorSample((0.2 * n,), 0.001, late=5 * n))
        load = asking(1, rate=100.0, model="open", generator=late)
        verdict = course.go_on(4, board=None, load=load).verdict
        assert verdict.bottleneck == "none"
        assert "each connection (-c 1)" in str(verdict.advice)
        assert "give it more connections" in str(verdict.advice)
        in_time = asking(1, rate=100.0, model="open")
        assert "raise the rate (now 100/s)" in str(course.go_on(4, board=None, load=in_time).verdict.advice)


class TestPoolsOfPhpFpm:
    def test_one_child_that_writes_the_status_page_and_one_request_behind_it_fill_no_pool(self, course: Course) -> None:
        found = course.go_on(6, board=None, load=asking(2), changes=pool(2, queue=1, most=2))
        assert named(found) == "none"

    def test_free_children_for_which_requests_wait_are_taken(self, course: Course) -> None:
        found = course.go_on(4, board=None, load=asking(12), changes=pool(3, queue=8, most=4))
        assert named(found) == "fpm-workers"

    def test_a_queue_that_passes_in_an_open_load_is_a_burst(self, course: Course) -> None:
        load = asking(4, rate=12.0, model="open")
        assert named(course.go_on(6, board=None, load=load, changes=pool(2, queue=2, most=2))) == "none"
        load = asking(40, rate=12.0, model="open")
        assert named(course.go_on(3, board=None, load=load, changes=pool(2, queue=38, most=2))) == ("fpm-workers")

    def test_an_open_load_with_all_its_connections_taken_is_no_burst(self, course: Course) -> None:
        generator = counted(lambda n: GeneratorSample((0.2 * n,), 0.001, late=5 * n))
        load = asking(6, rate=100.0, model="open", generator=generator)
        found = course.go_on(4, board=None, load=load, changes=pool(5, queue=1, most=5))
        assert named(found) == "fpm-workers"

    def test_a_pool_that_was_full_is_free_again_though_the_page_takes_its_last_child(self, course: Course) -> None:
        found = course.go_on(4, board=None, load=asking(12), changes=pool(2, queue=10, most=2))
        assert named(found) == "fpm-workers"
        assert named(course.go_on(4, board=None, load=asking(1), changes=pool(2, queue=0, most=2))) == "none"

    def test_a_pool_that_has_not_started_its_children_is_told_to_start_them(self, course: Course) -> None:
        changes = pool(3, queue=9, most=50, total=3, manager="dynamic")
        diagnosis = course.go_on(3, board=None, load=asking(12), changes=changes)
        assert named(diagnosis) == "fpm-workers"
        assert "All 3 children that the php-fpm pool www has started" in str(diagnosis.verdict.advice)
        assert "It may have 50" in str(diagnosis.verdict.advice)
        assert "pm.max_children" not in str(diagnosis.verdict.advice)


class TestHaproxy:
    def test_requests_that_queue_for_a_moment_in_an_open_load_are_a_burst(self, course: Course) -> None:
        load = asking(5, rate=20.0, model="open")
        assert named(course.go_on(6, load=load, changes=waiting_at_haproxy(1, 3, 3))) == "none"
        load = asking(50, rate=20.0, model="open")
        assert named(course.go_on(3, load=load, changes=waiting_at_haproxy(47, 3, 3))) == "haproxy-queue"

    def test_the_only_connection_to_a_frontend_of_one_is_the_one_that_asks(self, course: Course) -> None:
        page = {"haproxy": (HaproxyProxy("stats", "FRONTEND", "OPEN", None, 1, 1, 0, 0, 0),)}
        assert named(course.go_on(5, changes=page)) == "none"


def test_overflows_are_another_ports_where_the_tested_one_has_room_for_everything(course: Course) -> None:
    found = course.go_on(6, load=asking(10), changes=at(0, overflows=20))
    assert named(found) == "none"
    assert named(course.go_on(3, load=asking(600), changes=at(0, overflows=20))) == "listen-queue"


NEARLY_FULL: dict[str, Any] = {"busy": (88.0, 86.0), "running": 2, "cpu_stall": 8.0}


class TestProcessors:
    def one_process(self, number: int, threads: int = 1) -> tuple[Process, ...]:
        return (Process(7, "server", "httpd", "R", threads, 100 * number, 5, 9_000),)

    def test_one_thread_that_fills_a_core_on_changing_cores_is_that_core(self, course: Course) -> None:
        changes = {"processes": counted(self.one_process)}
        diagnosis = course.go_on(4, board=None, changes=changes, **NEARLY_FULL)
        assert named(diagnosis) == "cpu-core"
        assert "server (pid 7) fills one core" in str(diagnosis.verdict.advice)

    def test_many_threads_that_take_as_much_as_a_core_fill_none(self, course: Course) -> None:
        changes = {"processes": counted(lambda number: self.one_process(number, threads=27))}
        assert named(course.go_on(6, board=None, changes=changes, **NEARLY_FULL)) == "none"

    @pytest.mark.parametrize(("stranger", "named_core"), [(5, True), (60, False)])
    def test_many_that_share_a_core_are_held_by_it_unless_it_is_somebody_elses(
        self, course: Course, stranger: int, named_core: bool
    ) -> None:
        def processes(number: int) -> tuple[Process, ...]:
            servers = [Process(7 + n, "apache2", "httpd", "R", 1, 12 * number, 5, 9_000) for n in range(8)]
            return (*servers, Process(70, "backup", OTHER, "R", 1, stranger * number, 5, 9_000))

        changes = {"processes": counted(processes)}
        diagnosis = course.go_on(5, changes=changes, load=asking(20), busy=(99.0, 9.0), board="W" * 8)
        assert (named(diagnosis) == "cpu-core") == named_core
        assert ("The 8 processes of the web server share one core" in str(diagnosis.verdict.advice)) == named_core


def test_a_disk_that_only_others_wait_for_is_no_limit_of_a_threaded_server(course: Course) -> None:
    def waits(others: int) -> dict[str, Any]:
        writers = tuple(Process(50 + n, "dd", OTHER, "D", 1, 0, 5, 9_000) for n in range(others))
        return {
            "disks": counted(lambda n: (Disk("vda", 0, 0, 0, 60 * n, 240 * n, 1900 * n, 3, 990 * n, 3000 * n),)),
            "scheduler": Scheduler(3.0, 3.0, 3.0, 1, 3, 100),
            "processes": (Process(9, "apache2", "httpd", "S", 27, 10, 5, 9_000), *writers),
        }

    load = asking(4)
    assert named(course.go_on(5, load=load, changes=waits(3))) == "none"
    assert named(course.go_on(3, load=load, changes=waits(0))) == "disk"


def test_swapping_of_others_is_no_limit_of_a_server_that_never_waits_for_memory(course: Course) -> None:
    def group(stall: int) -> dict[str, Any]:
        return {
            "cgroup": counted(
                lambda n: CgroupLimits("/web", 2, pressure=Pressure(0, 10_000 * stall * n, 0, 0, 0)),
            )
        }

    swapping: dict[str, Any] = {"swap_in": 9_000.0, "swap_out": 9_000.0, "faults": 2_000.0, "memory_stall": 50.0}
    assert named(course.go_on(6, changes=group(0), **swapping)) == "none"
    assert named(course.go_on(3, changes=group(30), **swapping)) == "swap"


def test_a_page_of_a_server_without_slots_says_nothing(course: Course) -> None:
    page = {"apache": (ApacheStatus("http://x/server-status?auto", "event", "Apache", "", 10),)}
    assert named(course.go_on(4, changes=page)) == "none"


def test_of_a_server_that_is_not_watched_no_headroom_is_claimed(
    another_machine: Callable[..., Any], load: Any, frame_of: Any
) -> None:
    verdict = Course(another_machine("here", "generator"), load, frame_of).go_on(3, board=None).verdict
    assert verdict.bottleneck == "none"
    assert verdict.confidence == 0.5
    assert "the server's machine is not watched: add it with --host" in str(verdict.advice)


class TestAMachineThatGenerates:
    full: ClassVar[dict[str, Any]] = {"busy": (95.0, 93.0), "running": 5, "board": None}

    def test_what_else_is_at_work_there_is_no_limit_while_the_generator_is_in_time(
        self, another_machine: Callable[..., Any], load: Any, frame_of: Any
    ) -> None:
        course = Course(another_machine("here", "generator"), load, frame_of)
        found = course.go_on(6, processes={"loadtop": 10.0, "backup": 150.0}, **self.full)
        assert named(found) == "none"

    def test_the_generator_itself_is_and_so_is_what_keeps_it_waiting(
        self, another_machine: Callable[..., Any], load: Any, frame_of: Any
    ) -> None:
        course = Course(another_machine("here", "generator"), load, frame_of)
        assert named(course.go_on(4, processes={"loadtop": 80.0}, **self.full)) == "generator"
        course = Course(another_machine("here", "generator"), load, frame_of)
        late = {"generator": counted(lambda n: GeneratorSample((0.1 * n,), 0.02))}
        found = course.go_on(4, load=late, processes={"loadtop": 10.0, "backup": 150.0}, **self.full)
        assert named(found) == "generator"
