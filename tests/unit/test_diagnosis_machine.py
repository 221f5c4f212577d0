"""Limits of machines: memory, disks, stolen and throttled processors, lines."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import (
    OTHER,
    CgroupLimits,
    CpuTimes,
    Disk,
    Memory,
    Network,
    Paging,
    Pressure,
    Process,
    Scheduler,
    Swap,
)
from tests.unit.course import Course, counted

FULL: dict[str, Any] = {"busy": (100.0, 98.0), "running": 9, "cpu_stall": 60.0}


def named(diagnosis: Diagnosis) -> str:
    return diagnosis.verdict.bottleneck


def short_of_memory(*, available_kb: int = 200_000, refaults: int = 3000, stall: float = 30.0) -> dict[str, Any]:
    return {
        "memory": Memory(4_000_000, 100_000, available_kb),
        "paging": counted(lambda number: Paging(0, 0, 0, 0, 0, 0, 0, refaults * number)),
        "pressure": counted(lambda number: Pressure(0, round(stall * 10_000 * number), 0, 0, 0)),
    }


def test_memory_that_is_given_up_and_wanted_again_is_named(course: Course) -> None:
    diagnosis = course.go_on(4, changes=short_of_memory())
    assert (named(diagnosis), diagnosis.verdict.host) == ("memory", "web1")
    assert {item.metric for item in diagnosis.verdict.evidence} == {
        "memory.available_pct",
        "memory.refaults_s",
        "pressure.memory_some_pct",
    }


def test_each_sign_of_short_memory_alone_is_no_limit(course: Course) -> None:
    assert named(course.go_on(5, changes=short_of_memory(refaults=0))) == "none"
    assert named(course.go_on(5, changes=short_of_memory(available_kb=2_000_000))) == "none"
    assert named(course.go_on(5, changes=short_of_memory(stall=1.0))) == "none"


def test_a_full_control_group_counts_as_little_memory(course: Course) -> None:
    group = CgroupLimits("/web", 2, memory_limit_kb=100_000, memory_used_kb=99_000)
    changes = {**short_of_memory(available_kb=2_000_000), "cgroup": group}
    diagnosis = course.go_on(4, changes=changes)
    assert named(diagnosis) == "memory"
    assert "may use 97 MB" in str(diagnosis.verdict.advice)


def test_swapping_explains_the_short_memory(course: Course) -> None:
    changes = short_of_memory()
    changes["paging"] = counted(
        lambda number: Paging(90_000 * number, 80_000 * number, 500 * number, 0, 0, 0, 0, 3000 * number)
    )
    changes["swap"] = Swap(1_000_000, 500_000)
    diagnosis = course.go_on(4, board="W" * 10, processes={"apache2": 50.0}, changes=changes)
    assert named(diagnosis) == "swap"
    assert "memory" in {symptom.bottleneck for symptom in diagnosis.verdict.symptoms}


def test_the_advice_on_swapping_counts_what_is_swapped_out(course: Course) -> None:
    processes = tuple(
        Process(2000 + n, "apache2", "httpd", "S", 1, 10, 5, 20_000, 15_000) for n in range(40)
    )  # 600 MB here and 400 MB swapped out: 25 MB each; 80 MB are free
    diagnosis = course.go_on(
        4, board="W" * 40, swap_in=5000.0, swap_out=5000.0, faults=500.0, memory_stall=40.0,
        changes={"processes": processes, "swap": Swap(1_000_000, 600_000), "memory": Memory(800_000, 50_000, 100_000)},
    )  # fmt: skip
    assert "Lower MaxRequestWorkers from 40 to about 27" in str(diagnosis.verdict.advice)
    assert "24.4 MB each by PSS" in str(diagnosis.verdict.advice)


def busy_disk(*, blocked: int, util: float = 100.0, wait_ms: float = 25.0, group: str = "httpd") -> dict[str, Any]:
    """A disk that does 40 requests a second, and ``blocked`` processes of ``group`` that wait for it."""

    def disks(number: int) -> tuple[Disk, ...]:
        busy_ms = round(10 * util * number)
        waited = round(40 * wait_ms * number)
        return (Disk("vda", 40 * number, 160 * number, waited, 0, 0, 0, 1, busy_ms, waited),)

    states = ["D"] * blocked + ["S"] * (12 - blocked)
    rows = tuple(Process(3000 + n, "a", group, state, 1, 10, 5, 9000) for n, state in enumerate(states))
    own = (Process(2999, "apache2", "httpd", "S", 1, 10, 5, 9000),)
    return {"disks": disks, "processes": (*own, *rows), "scheduler": Scheduler(1, 1, 1, 1, blocked)}


def test_a_disk_that_the_servers_processes_wait_for_is_named(course: Course) -> None:
    diagnosis = course.go_on(4, iowait=60.0, changes=busy_disk(blocked=8))
    assert named(diagnosis) == "disk"
    assert "8 of 10 requests in flight wait for the disk vda" in str(diagnosis.verdict.advice)


def test_an_unrelated_busy_disk_is_no_limit(course: Course) -> None:
    assert named(course.go_on(5, iowait=60.0, changes=busy_disk(blocked=3, group=OTHER))) == "none"


def test_a_disk_that_is_always_busy_and_fast_is_no_limit(course: Course) -> None:
    assert named(course.go_on(5, changes=busy_disk(blocked=8, wait_ms=0.4))) == "none"


def test_a_disk_that_carries_swap_is_swapping(course: Course) -> None:
    changes = busy_disk(blocked=8)
    disks: Callable[[int], tuple[Disk, ...]] = changes["disks"]
    changes["disks"] = counted(lambda number: tuple(replace(disk, swap=True) for disk in disks(number)))
    diagnosis = course.go_on(4, swap_in=5000.0, faults=500.0, memory_stall=40.0, changes=changes)
    assert named(diagnosis) == "swap"


def test_io_pressure_alone_is_no_limit(course: Course) -> None:
    stalls = {"pressure": counted(lambda number: Pressure(0, 0, 0, 800_000 * number, 700_000 * number))}
    assert named(course.go_on(5, changes=stalls)) == "none"


def stolen(course: Course, busy: float, steal: float) -> dict[str, Any]:
    def cpu(number: int) -> Any:
        times = CpuTimes(
            round(200 * number * busy / 100), 0, 0, round(200 * number * (100 - busy - steal) / 100), 0, 0, 0,
            round(200 * number * steal / 100),
        )  # fmt: skip
        return course.machine.sample().cpu.__class__(times, ())

    return {"cpu": cpu}


def test_stolen_time_is_named_when_none_is_left(course: Course) -> None:
    diagnosis = course.go_on(4, running=6, changes=stolen(course, 70.0, 29.0))
    assert named(diagnosis) == "steal"
    assert "29 % of this machine's CPU" in str(diagnosis.verdict.advice)


def test_stolen_time_wins_over_the_busy_cpu_and_its_full_pool(course: Course) -> None:
    diagnosis = course.go_on(4, running=6, board="W" * 10, changes=stolen(course, 88.0, 12.0))
    assert named(diagnosis) == "steal"


def test_stolen_time_beside_idle_time_is_no_limit(course: Course) -> None:
    assert named(course.go_on(5, changes=stolen(course, 30.0, 15.0))) == "none"


def throttled(share: float, lost_ms: float = 400.0, quota_us: int | None = 50_000) -> dict[str, Any]:
    def group(number: int) -> CgroupLimits:
        return CgroupLimits(
            "/web", 2, quota_us, 100_000, 10 * number, round(share / 10 * number), round(1000 * lost_ms * number)
        )

    return {"cgroup": group}


def test_a_throttled_server_is_named_with_its_quota(course: Course) -> None:
    diagnosis = course.go_on(4, board="W" * 10, changes=throttled(90.0))
    assert named(diagnosis) == "throttled"
    assert "Raise its quota of 0.5 cores" in str(diagnosis.verdict.advice)
    assert "CPUQuota=100%" in str(diagnosis.verdict.advice)
    assert [symptom.bottleneck for symptom in diagnosis.verdict.symptoms] == ["apache-workers"]


def test_throttling_that_is_rare_or_not_felt_is_no_limit(course: Course) -> None:
    assert named(course.go_on(5, changes=throttled(10.0))) == "none"
    assert named(course.go_on(5, changes=throttled(90.0, lost_ms=2.0))) == "none"
    assert named(course.go_on(5, changes=throttled(90.0, quota_us=None))) == "none"


def line(mbit_s: float, link: int | None, name: str = "eth0") -> dict[str, Any]:
    return {
        "networks": counted(lambda number: (Network(name, 0, round(mbit_s * 125_000 * number), 0, 0, link_mbit=link),))
    }


def test_a_full_line_is_named_and_wins_over_the_pool_that_waits_for_it(course: Course) -> None:
    diagnosis = course.go_on(4, board="W" * 10, changes=line(96.0, 100))
    assert named(diagnosis) == "network"
    assert "eth0 sends 96 of 100 Mbit/s" in str(diagnosis.verdict.advice)
    assert [symptom.bottleneck for symptom in diagnosis.verdict.symptoms] == ["apache-workers"]


def test_a_line_of_unknown_speed_is_no_limit(course: Course) -> None:
    assert named(course.go_on(4, changes=line(940.0, None))) == "none"


def test_a_line_that_was_told_its_speed_counts_whatever_its_name(course: Course) -> None:
    assert named(course.go_on(4, changes=line(19.0, 20, "veth12"))) == "network"
