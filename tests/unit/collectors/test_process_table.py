"""Which processes get a row, and which are read how often."""

import math
from collections.abc import Iterable, Mapping

import pytest

from collectors.errors import AbsentError, ParseError
from collectors.linux.processes import (
    ALL_EVERY,
    ASKED_THREADS,
    JUST,
    MOST_REPORTED,
    MOST_SERVERS,
    MOST_TASKS,
    PSS_AGAIN,
    PSS_AGAIN_EVERY,
    PSS_EVERY,
    PSS_FIRST,
    PSS_OLDEST_EVERY,
    RECENT,
    ProcessTable,
)
from collectors.machine import IDLE_EVERY, Missing, Reading
from collectors.servers import KINDS
from loadtop.model import LOADTOP, OTHER, SERVICE, CpuTimes
from tests.unit.collectors.texts import stat_text


class Machine:
    """Processes over time; those asleep are read in turns."""

    def __init__(self) -> None:
        self.table = ProcessTable(KINDS)
        self.stats: dict[int, str] = {}
        self.at = 100.0
        self.read: set[int] = set()
        self.cpu: CpuTimes | None = None

    def sample(
        self,
        pss: Mapping[int, str | Missing] | None = None,
        own: frozenset[int] = frozenset(),
        waits: Mapping[int, str] | None = None,
        wchan: Mapping[str, str] | None = None,
    ) -> dict[int, str]:
        """A reading 1 s after the last: pid to group of the rows."""
        self.at += 1.0
        if wchan is not None:
            self.table.want_threads()  # the request after the one that these texts answer
        asleep, turn = self.table.asleep(), int(self.at)
        rest = {pid for pid in asleep if (pid + turn) % IDLE_EVERY}
        texts = {pid: text for pid, text in self.stats.items() if pid not in rest}
        self.read = set(texts)
        found = (waits or {}, wchan or {})
        reading = Reading(self.at, {}, 4, texts, frozenset(self.stats), pss or {}, own, {}, *found)
        self.rows = self.table.update(reading, self.cpu)
        return {row.pid: row.group for row in self.rows}


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_servers_and_the_generator_always_have_a_row(machine: Machine) -> None:
    machine.stats = {
        1: stat_text(1, "init"),
        10: stat_text(10, "apache2"),
        11: stat_text(11, "apache2", parent=10),
        20: stat_text(20, "php-fpm8.2"),
        30: stat_text(30, "haproxy"),
        40: stat_text(40, "python"),
        41: stat_text(41, "python", parent=40),
        42: stat_text(42, "sleep", parent=41),
    }
    expected = {10: "httpd", 11: "httpd", 20: "php-fpm", 30: "haproxy"} | dict.fromkeys((40, 41, 42), LOADTOP)
    for _ in range(3):
        assert machine.sample(own=frozenset({40})) == expected


def test_what_turns_out_to_be_loadtops_later(machine: Machine) -> None:
    """A shell in a container has no parent there that is known, and says only later who it is."""
    machine.stats = {60: stat_text(60, "sh", parent=0), 61: stat_text(61, "perl", parent=60)}
    machine.sample(own=frozenset({40}))
    assert machine.sample(own=frozenset({40, 60})) == {60: LOADTOP, 61: LOADTOP}


def test_a_server_that_loadtop_started_is_a_server(machine: Machine) -> None:
    machine.stats = {40: stat_text(40, "python"), 50: stat_text(50, "httpd", parent=40)}
    assert machine.sample(own=frozenset({40}))[50] == "httpd"


def test_the_busiest_others_have_a_row(machine: Machine) -> None:
    rows = dict[int, str]()
    for second in range(3):
        machine.stats = {pid: stat_text(pid, "job", ticks=second * (pid - 100)) for pid in range(100, 110)}
        rows = machine.sample()
    assert list(rows) == [109, 108, 107, 106, 105]


def test_busy_is_what_one_takes_per_second_between_its_last_readings(machine: Machine) -> None:
    machine.stats = {102: stat_text(102, "job")}
    for second in range(3 * IDLE_EVERY):
        machine.stats[100] = stat_text(100, "job", ticks=9000 + second, ended=9000)
        machine.stats[101] = stat_text(101, "job", ended=5 * second)
        if second == IDLE_EVERY:
            machine.stats[102] = stat_text(102, "job", ticks=2 * IDLE_EVERY)
        rows = list(machine.sample())
        if 102 in rows:
            assert rows == [101, 102, 100]
            break
    else:
        pytest.fail("it was never busy")


def test_others_that_sleep_are_read_in_turn(machine: Machine) -> None:
    machine.stats = {pid: stat_text(pid, "sleeper") for pid in range(100, 150)} | {10: stat_text(10, "httpd")}
    machine.sample()
    machine.sample()
    seen: list[int] = []
    for _ in range(IDLE_EVERY):
        machine.sample()
        assert 10 in machine.read
        assert len(machine.read) <= 1 + math.ceil(50 / IDLE_EVERY)
        seen += machine.read - {10}
    assert sorted(seen) == list(range(100, 150))


def test_one_that_wakes_up_is_noticed_and_then_read_every_time(machine: Machine) -> None:
    machine.stats = {100: stat_text(100, "backup")}
    for _ in range(4):
        machine.sample()
    rows: dict[int, str] = {}
    for second in range(IDLE_EVERY + 1):
        machine.stats[100] = stat_text(100, "backup", ticks=50 * (second + 1))
        rows = machine.sample()
    assert rows == {100: OTHER}
    machine.stats[100] = stat_text(100, "backup", ticks=999)
    machine.sample()
    assert machine.rows[0].cpu_ticks == 999


@pytest.mark.parametrize(("used", "noticed"), [(30, True), (8, False)])
def test_all_are_read_when_cpu_time_is_used_unseen(machine: Machine, used: int, noticed: bool) -> None:
    sleepers = {pid: stat_text(pid, "sleeper") for pid in range(100, 150)}
    server = [stat_text(10, "httpd", ticks=40 * second) for second in range(50)]
    machine.stats = sleepers | {10: server[0]}
    before = ALL_EVERY
    for second in range(before + 1):
        machine.stats[10], machine.cpu = server[second], CpuTimes(40 * second, 0, 0, 0)
        machine.sample()
    assert len(machine.read) < 10
    pid = next(pid for pid in sleepers if (pid + int(machine.at)) % IDLE_EVERY == IDLE_EVERY // 2)
    told: list[bool] = []
    for later in range(1, 4):
        machine.stats[pid] = stat_text(pid, "backup", ticks=used * later)
        machine.stats[10] = server[before + later]
        machine.cpu = CpuTimes(40 * (before + later), used * later, 0, 0)
        machine.sample()
        told.append(pid in {row.pid for row in machine.rows})
    assert told == [False, False, noticed]  # all are read in the second


def test_what_children_did_that_were_seen_is_not_counted_twice(machine: Machine) -> None:
    """When a server ends a worker, its whole life becomes the time of the parent's children."""
    machine.stats = {pid: stat_text(pid, "sleeper") for pid in range(100, 150)}
    for second in range(ALL_EVERY + 1):
        machine.stats[10] = stat_text(10, "httpd")
        machine.stats[11] = stat_text(11, "httpd", parent=10, ticks=40 * second)
        machine.cpu = CpuTimes(40 * second, 0, 0, 0)
        machine.sample()
    del machine.stats[11]
    machine.stats[10] = stat_text(10, "httpd", ended=40 * ALL_EVERY)
    machine.cpu = CpuTimes(40 * ALL_EVERY + 30, 0, 0, 0)  # of another
    machine.sample()
    assert not machine.table.asleep()


def test_cpu_time_that_stays_unseen_is_looked_for_now_and_then(machine: Machine) -> None:
    """That of processes which live briefly, or of others than this container's."""
    machine.stats = {pid: stat_text(pid, "sleeper") for pid in range(100, 200)}
    all_read = 0
    for second in range(6 * ALL_EVERY):
        machine.cpu = CpuTimes(80 * second, 0, 0, 0)
        machine.sample()
        all_read += len(machine.read) == 100
    assert 4 <= all_read <= 6 + 2  # the first two samples read all too


def test_a_reused_pid_is_another_process(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd", started=5)}
    machine.sample(pss={10: "head\nPss: 77 kB\n"})
    assert machine.rows[0].pss_kb == 77
    machine.stats = {10: stat_text(10, "backup", started=9, ticks=3)}
    assert machine.sample() == {}
    assert machine.table.roots("httpd") == ()


def test_a_process_that_runs_another_program_changes_its_group(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "sh", ticks=1)}
    machine.sample()
    machine.stats = {10: stat_text(10, "httpd", ticks=1)}
    assert machine.sample() == {10: "httpd"}


def test_a_process_that_ends_while_it_is_read_spoils_nothing(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd"), 11: "11 (htt"}
    assert machine.sample() == {10: "httpd"}


def test_proportional_memory_is_read_first_of_new_ones_then_in_turn(machine: Machine) -> None:
    machine.stats = {pid: stat_text(pid, "httpd") for pid in range(100, 120)}
    machine.sample()
    asked: list[int] = []
    turns = 1
    while wanted := machine.table.want_pss():
        assert len(wanted) <= PSS_FIRST
        asked += wanted
        turns += 1
        machine.sample(pss={pid: f"head\nPss: {pid} kB\n" for pid in wanted})
    assert sorted(asked) == list(range(100, 120))
    assert {row.pid: row.pss_kb for row in machine.rows} == {pid: pid for pid in range(100, 120)}
    for _ in range(PSS_EVERY - turns):
        machine.sample()
    assert machine.table.want_pss() == ()
    again: list[int] = []
    for _ in range(2 * PSS_OLDEST_EVERY):
        machine.sample()
        again += machine.table.want_pss()
    assert again == asked[: 2 * PSS_AGAIN]


def test_proportional_memory_is_read_again_where_resident_memory_has_changed(machine: Machine) -> None:
    machine.stats = {pid: stat_text(pid, "httpd", pages=1000) for pid in range(100, 120)}
    machine.sample()
    while wanted := machine.table.want_pss():
        machine.sample(pss={pid: "Pss: 1 kB\n" for pid in wanted if pid != 110})
    machine.stats |= {pid: stat_text(pid, "httpd", pages=1040) for pid in (104, 105, 106)}
    machine.stats |= {117: stat_text(117, "httpd", pages=1060), 118: stat_text(118, "httpd", pages=900)}
    again: list[tuple[int, ...]] = []
    for _ in range(PSS_OLDEST_EVERY + PSS_AGAIN_EVERY):
        wanted = machine.table.want_pss()
        again.append(wanted)
        machine.sample(pss=dict.fromkeys(wanted, "Pss: 1 kB\n"))
    first, second, *rest = [wanted for wanted in again if wanted]
    assert sorted(first) == [110, 117, 118], "of one of them there was no answer"
    assert len(second) == PSS_AGAIN
    assert not rest, "unchanged ones are read less often"


def test_values_that_change_all_the_time_do_not_keep_the_oldest_from_being_read(machine: Machine) -> None:
    asked: list[int] = []
    for turn in range(3 * PSS_OLDEST_EVERY):
        wanted = machine.table.want_pss()
        asked += wanted
        machine.stats = {pid: stat_text(pid, "httpd", pages=1000 + 100 * turn) for pid in range(100, 130)}
        machine.stats[99] = stat_text(99, "httpd", pages=1000)
        machine.sample(pss=dict.fromkeys(wanted, "Pss: 1 kB\n"))
    assert asked.count(99) == 3


def test_proportional_memory_that_may_not_be_read_is_not_measured(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd")}
    machine.sample(pss={10: "Pss: 1 kB\n"})
    machine.sample(pss={10: "garbage\n", 99: "Pss: 1 kB\n"})
    assert machine.rows[0].pss_kb is None


def test_waits_are_added_up_thread_by_thread(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd", threads=2)}
    machine.sample()
    totals: list[int | None] = []
    for text in (
        "10 1 100 1\n11 1 1000 1\n",
        "10 1 150 1\n11 1 1000 1\n",
        "10 1 150 1\n",  # 11 has ended
        "10 1 160 1\n12 1 7 1\n",  # a new one
        "10 1 160 1\n12 1 3 1\n",  # its number, used again
        "10 1 160 1\n12 1 x 1\n",
        "10 1 170 1\n12 1 9 1\n",
    ):
        machine.sample(waits={10: text, 99: text})
        totals.append(machine.rows[0].wait_ns)
    assert totals == [1100, 1150, 1150, 1167, 1170, None, 179]
    machine.sample(waits={10: "10 1 170 1\n12 1 9 1\n"})
    machine.sample()
    assert machine.rows[0].wait_ns == 179, "nothing was done since"
    machine.stats = {10: stat_text(10, "httpd", started=900)}
    machine.sample()
    assert machine.rows[0].wait_ns is None, "another process of this number"


def test_time_on_a_cpu_adds_up_in_microseconds(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd")}
    machine.sample()
    assert machine.rows[0].run_us is None
    totals: list[int | None] = []
    for text in ("10 4999 1 1\n11 2000 1 1\n", "10 9999 1 2\n11 2000 1 1\n", "10 11999 1 3\n", ""):
        machine.sample(waits={10: text})
        totals.append(machine.rows[0].run_us)
    assert totals == [6, 11, 13, None]


def test_time_of_threads_that_have_ended_is_in_the_ticks(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd", ticks=40)}
    machine.sample(waits={10: "10 5000000 1 1\n"})
    totals: list[int | None] = []
    for ticks, ran_ms in ((40, 6), (42, 7), (43, 8), (45, 9), (45, 60)):
        machine.stats = {10: stat_text(10, "httpd", ticks=ticks)}
        machine.sample(waits={10: f"10 {ran_ms}000000 1 1\n"})
        totals.append(machine.rows[0].run_us)
    assert totals == [6000, 7000, 15_000, 35_000, 75_000]
    machine.stats = {10: stat_text(10, "httpd", ticks=60)}
    machine.sample()
    assert machine.rows[0].run_us == 185_000, "no text came"


def test_threads_that_were_not_read_at_first_are_not_counted_twice(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd")}
    machine.sample(waits={10: "10 5000000 1 1\n"})
    machine.stats = {10: stat_text(10, "httpd", ticks=50, threads=2)}
    machine.sample(waits={10: "10 6000000 1 1\n"})
    machine.sample(waits={10: "10 6000000 1 1\n11 500000000 1 1\n"})
    assert machine.rows[0].run_us == 525_000


@pytest.mark.parametrize(
    ("made_up", "wait_ns"), [(MOST_REPORTED, None), (MOST_REPORTED - 1, 100 * MOST_REPORTED - 100)]
)
def test_threads_that_a_machine_makes_up_have_no_waits(machine: Machine, made_up: int, wait_ns: int | None) -> None:
    machine.stats = {10: stat_text(10, "apache2"), 11: stat_text(11, "apache2")}
    some, many = "1 1 100 1\n", "".join(f"{task} 1 100 1\n" for task in range(made_up))
    machine.sample(waits={10: some, 11: many})
    assert {row.pid: row.wait_ns for row in machine.rows} == {10: 100, 11: wait_ns}


def test_a_kernel_that_does_not_count_waits_has_none(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd")}
    machine.sample()
    machine.sample(waits={10: "10 0 0 0\n"})
    assert machine.rows[0].wait_ns is None


def test_waits_are_read_of_servers_and_of_loadtop_up_to_a_number_of_threads(machine: Machine) -> None:
    machine.stats = {
        1: stat_text(1, "init"),
        10: stat_text(10, "httpd", threads=MOST_TASKS - 3),
        11: stat_text(11, "httpd", threads=2),
        40: stat_text(40, "python"),
    }
    machine.sample(own=frozenset({40}))
    assert machine.table.want_waits() == {10: MOST_TASKS - 3, 11: 2, 40: 1}
    machine.sample(waits={10: "10 1 100 1\n", 40: "40 1 100 1\n"})
    machine.stats[10] = stat_text(10, "httpd", threads=MOST_TASKS)
    machine.sample()
    assert machine.table.want_waits() == {11: 2, 40: 1}
    machine.sample()
    assert {row.pid: row.wait_ns for row in machine.rows} == {10: None, 11: None, 40: 100}
    machine.table.set_aside(frozenset({11}))
    assert machine.table.want_waits() == {40: 1}


def test_of_databases_neither_waits_nor_proportional_memory_is_read(machine: Machine) -> None:
    """They have hundreds of threads and much memory, and nothing is computed from either."""
    machine.stats = {10: stat_text(10, "mariadbd", threads=300), 11: stat_text(11, "redis-server", threads=5)}
    machine.stats |= {12: stat_text(12, "apache2")}
    assert machine.sample() == {10: "mysql", 11: "redis", 12: "httpd"}
    assert machine.table.want_waits() == {12: 1}
    assert machine.table.want_pss() == (12,)


def test_what_keeps_the_table_from_telling_more(machine: Machine) -> None:
    machine.stats = {1: stat_text(1, "init"), 10: stat_text(10, "httpd")}
    machine.sample()
    assert machine.table.lacks() == (None, None)
    machine.sample(pss={10: Missing("not permitted")})
    assert "only root can read" in str(machine.table.lacks()[0])
    machine.sample(pss={10: Missing("no such file")})
    assert "older than 4.14" in str(machine.table.lacks()[0])
    machine.sample(pss={10: Missing("the process has ended")})
    assert machine.table.lacks() == (None, None)
    del machine.stats[1]
    machine.sample()
    assert "hidepid" in str(machine.table.lacks()[0])


def test_a_row_stays_the_same_until_something_of_it_changes(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd", parent=10)}
    machine.sample()
    first = machine.rows
    machine.sample()
    assert all(new is old for new, old in zip(machine.rows, first, strict=True))
    machine.stats[11] = stat_text(11, "httpd", parent=10, state="R")
    machine.sample()
    assert (machine.rows[0] is first[0], [row.state for row in machine.rows]) == (True, ["S", "R"])
    machine.sample(pss={10: "Pss: 5 kB\n"})
    assert [row.pss_kb for row in machine.rows] == [5, None]
    machine.sample(pss={10: "Pss: 6 kB\n"})
    assert [row.pss_kb for row in machine.rows] == [6, None]


def test_children_that_are_too_brief_to_be_seen_count_for_their_parent(machine: Machine) -> None:
    machine.stats = {1: stat_text(1, "init"), 100: stat_text(100, "make", ticks=5, ended=900)}
    machine.stats[200] = stat_text(200, "sh", parent=100, ticks=10, started=1)
    machine.stats[300] = stat_text(300, "cc", parent=200, ticks=40, started=2)
    machine.sample()
    machine.stats[1] = stat_text(1, "init", ended=100)
    machine.stats[100] = stat_text(100, "make", ticks=7, ended=960)
    machine.stats[300] = stat_text(300, "cc", parent=200, ticks=70, started=2)
    machine.sample()
    assert {row.pid: row.cpu_ticks for row in machine.rows} == {1: 0, 100: 7, 300: 70}
    machine.stats = {1: stat_text(1, "init", ended=200), 100: stat_text(100, "make", ticks=9, ended=960 + 82)}
    machine.sample()  # 10 of sh and 70 of cc were counted, and 2 in the end were not
    machine.stats = {1: stat_text(1, "init", ended=300), 100: stat_text(100, "make", ticks=10, ended=960 + 82)}
    machine.sample()
    assert {row.pid: row.cpu_ticks for row in machine.rows} == {1: 0, 100: 10 + 60 + 2}


def test_brief_children_of_a_server_are_counted_apart(machine: Machine) -> None:
    """CGI programs, of which one process may start several at once."""
    for ticks, ended in ((5, 0), (6, 180), (7, 360)):  # one reading late
        machine.stats = {100: stat_text(100, "apache2", ticks=ticks, ended=ended)}
        machine.sample()
    assert [(row.cpu_ticks, row.child_ticks) for row in machine.rows] == [(7, 180)]


def test_what_starts_processes_is_read_every_time(machine: Machine) -> None:
    machine.stats = {100: stat_text(100, "make", ended=900)}
    machine.sample()
    machine.sample()
    assert machine.table.asleep() == {100}
    told: list[int] = []
    for second in range(2 * IDLE_EVERY):
        machine.stats = {100: stat_text(100, "make", ended=1000 + 90 * second)}
        machine.stats[200 + second] = stat_text(200 + second, "cc", parent=100, started=second)
        machine.sample()
        assert second < 1 or 100 in machine.read
        told += [row.cpu_ticks for row in machine.rows if row.pid == 100]
    assert told[-1] == 90 * (len(told) - 2) > 90 * IDLE_EVERY  # nothing of the time in which it was not read


def test_one_that_used_the_processor_and_rests_is_busy_no_more(machine: Machine) -> None:
    machine.stats = {100: stat_text(100, "job")}
    machine.sample()
    machine.stats = {100: stat_text(100, "job", ticks=50)}
    assert machine.sample() == {100: OTHER}
    assert machine.sample() == {}
    assert machine.table.asleep() == {100}
    machine.stats = {100: stat_text(100, "job", ticks=60)}
    machine.at -= 1.0  # a clock that stands still
    assert machine.sample() == {}
    assert machine.table.asleep() == {100}


def test_servers_set_aside_and_taken_back_change_at_once(machine: Machine) -> None:
    machine.stats = {pid: stat_text(pid, "httpd", parent=10 if pid == 11 else 1) for pid in (10, 11, 20)}
    machine.sample()
    machine.table.set_aside(frozenset({10}))
    assert machine.sample() == {20: "httpd"}
    assert (machine.table.tested("httpd"), machine.table.roots("httpd")) == ((20,), (10, 20))
    assert set(machine.table.want_pss()) <= {20}
    machine.table.set_aside(frozenset())
    assert machine.sample() == dict.fromkeys((10, 11, 20), "httpd")


def test_a_service_is_that_process_and_all_that_descend_from_it(machine: Machine) -> None:
    names = {
        1: ("init", 0),
        10: ("sh", 1),
        11: ("python3", 10),
        12: ("worker", 11),
        13: ("httpd", 12),
        14: ("other", 10),
    }
    machine.stats = {pid: stat_text(pid, name, parent=parent) for pid, (name, parent) in names.items()}
    machine.sample()
    machine.table.set_aside(frozenset(), frozenset({11, 13}))
    assert machine.sample() == {11: SERVICE, 12: SERVICE, 13: "httpd"}
    machine.stats[15] = stat_text(15, "worker", parent=12)
    assert machine.sample()[15] == SERVICE
    assert [each.pid for each in machine.table.lineage(15)] == [15, 12, 11, 10]
    machine.table.set_aside(frozenset({13}), frozenset())
    assert machine.sample() == {}


def test_a_server_that_is_process_1_of_its_container_belongs_to_the_lineage(machine: Machine) -> None:
    for name, expected in (("gunicorn", [7, 1]), ("init", [7])):
        machine.stats = {1: stat_text(1, name, parent=0), 7: stat_text(7, name, parent=1)}
        machine.sample()
        assert [each.pid for each in machine.table.lineage(7)] == expected


def test_roots_are_the_first_of_each_server_as_they_begin_end_and_change(machine: Machine) -> None:
    def stat(pid: int, parent: int = 1, started: int = 500) -> dict[int, str]:
        return {pid: stat_text(pid, "httpd", parent=parent, started=started)}

    for changes, roots in (
        (stat(10) | stat(11, 10) | stat(12, 11) | {20: stat_text(20, "apache2")}, (10, 20)),
        (stat(30), (10, 20, 30)),
        (stat(11), (10, 11, 20, 30)),
        ({10: "", 20: ""}, (11, 30)),
        (stat(30, 11, started=900), (11,)),
    ):
        machine.stats = {pid: text for pid, text in {**machine.stats, **changes}.items() if text}
        machine.sample()
        assert machine.table.roots("httpd") == roots


def test_no_processes_at_all_has_its_reason(machine: Machine) -> None:
    with pytest.raises(AbsentError, match="not permitted"):
        machine.table.update(Reading(1.0, {}, processes=Missing("not permitted")))
    with pytest.raises(ParseError, match="no stat file of a process"):
        machine.table.update(Reading(1.0, {}, processes={1: "garbage"}, pids=frozenset({1})))


def test_of_a_crowd_of_servers_the_oldest_count(machine: Machine) -> None:
    """Anyone can start processes of these names; each would have its configuration and its page looked for."""
    crowd = {pid: stat_text(pid, "nginx", started=9000 - pid) for pid in range(1000, 3000)}
    machine.stats = {10: stat_text(10, "nginx", started=50)} | crowd
    machine.sample()
    assert len(machine.table.roots("nginx")) == MOST_SERVERS
    assert machine.table.roots("nginx")[0] == 10


def running(pids: Iterable[int], turn: int) -> dict[int, str]:
    return {pid: f"{pid} {turn} 1 1\n" for pid in pids}


def test_threads_that_wait_for_a_timer_are_counted(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd"), 12: stat_text(12, "mariadbd")}
    machine.sample(waits={10: "10 1 1 1\n20 1 1 1\n", **running((11, 12), 1)})
    assert set(machine.table.want_threads()) == {"10/task/10", "10/task/20", "11/task/11"}
    machine.sample(wchan={"10/task/10": "ep_poll", "10/task/20": "hrtimer_nanosleep", "11/task/11": "do_nanosleep\n"})
    assert (machine.table.sleeping, machine.table.timeouts_ms) == (2.0, ()), "Apache is no event loop"


def test_threads_count_by_the_share_of_moments(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd"), 11: stat_text(11, "nginx")}
    machine.sample(waits=running((10, 11), 1))
    machine.table.want_threads()
    loop = "ep_poll 232 0x4 0x1 0x1 0x5 0x0 0x0 0x1 0x2\n"
    disk = "folio_wait_bit_common D\n"
    machine.sample(wchan={"10/task/10": f"0\ndo_nanosleep\n{disk}{disk}", "11/task/11": f"{loop}0\n{loop}{disk}"})
    assert (machine.table.sleeping, machine.table.blocked, machine.table.timeouts_ms) == (0.25, 0.75, (5, 5))
    machine.table.want_threads()
    machine.sample(wchan={"10/task/10": "0\n0 D\n"})
    assert (machine.table.sleeping, machine.table.blocked) == (0.0, 0.5), "it showed where it waits before"
    machine.sample()
    assert (machine.table.sleeping, machine.table.blocked, machine.table.timeouts_ms) == (None, None, ())


def test_programs_of_no_known_kind_are_not_asked(machine: Machine) -> None:
    """One in Go has a thread that always sleeps. Idle workers of nginx are, but have no request that could pause."""
    machine.stats = {10: stat_text(10, "app"), 11: stat_text(11, "nginx"), 12: stat_text(12, "nginx")}
    machine.sample()
    machine.table.set_aside(frozenset(), frozenset({10}))
    machine.sample(waits={10: "10 1 1 1\n20 1 1 1\n", **running((11, 12), 1)})
    for turn in range(JUST + 1):
        machine.sample(waits=running((10, 11), turn))
    assert set(machine.table.want_threads()) == {"11/task/11", "12/task/12"}
    loop = "ep_poll 232 0x4 0x1 0x1 {:#x} 0x0 0x0 0x1 0x2\n"
    machine.sample(wchan={"11/task/11": f"{loop.format(30)}0\nep_poll \n", "12/task/12": loop.format(40)})
    assert (machine.table.sleeping, machine.table.timeouts_ms) == (0.0, (30,))
    machine.sample(wchan={})
    assert (machine.table.sleeping, machine.table.timeouts_ms) == (None, ())


def test_where_some_are_hidden_it_is_not_known_how_many_are_blocked(machine: Machine) -> None:
    """Threads that run show nothing either."""
    machine.stats = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd")}
    machine.sample(waits=running((10, 11), 1))
    machine.table.want_threads()
    machine.sample(wchan={"10/task/10": "folio_wait_bit_common D\n", "11/task/11": "0\n0\n"})
    assert (machine.table.sleeping, machine.table.blocked) == (0.0, None)
    machine.sample(wchan={"10/task/10": "folio_wait_bit_common D\n", "11/task/11": "0\nfutex_wait\n"})
    machine.sample(wchan={"10/task/10": "folio_wait_bit_common D\n", "11/task/11": "0\n0\n"})
    assert (machine.table.sleeping, machine.table.blocked) == (0.0, 1.0)


def test_where_that_may_not_be_read_nothing_is_said(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd")}
    machine.sample(waits=running((10,), 1))
    machine.table.want_threads()
    machine.sample(wchan={"10/task/10": "0"})
    assert machine.table.sleeping is None
    machine.sample()
    assert machine.table.sleeping is None


def test_of_many_threads_some_are_asked_and_stand_for_all(machine: Machine) -> None:
    pids = range(100, 100 + 4 * ASKED_THREADS)
    machine.stats = {pid: stat_text(pid, "httpd") for pid in pids}
    machine.sample(waits=running(pids, 1))
    asked = machine.table.want_threads()
    assert len(set(asked)) == ASKED_THREADS
    machine.sample(wchan=dict.fromkeys(asked, "hrtimer_nanosleep"))
    assert machine.table.sleeping == pytest.approx(len(pids))


def test_a_thread_that_has_not_run_for_long_is_not_asked(machine: Machine) -> None:
    machine.stats = {10: stat_text(10, "httpd"), 11: stat_text(11, "httpd")}
    machine.sample(waits=running((10, 11), 1))
    for turn in range(RECENT):
        machine.sample(waits=running((11,), turn))
    assert set(machine.table.want_threads()) == {"10/task/10", "11/task/11"}
    machine.sample(waits=running((11,), 0))
    assert machine.table.want_threads() == ("11/task/11",)
