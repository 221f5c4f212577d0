"""The generator's own control groups, as files of the kernel show them."""

from pathlib import Path

import pytest

from loadtop.generator.limits import cpu_wait_s, quota_periods


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def stat(periods: int, throttled: int) -> str:
    return f"nr_periods {periods}\nnr_throttled {throttled}\nthrottled_time 123\n"


@pytest.mark.parametrize(
    ("membership", "place"),
    [
        ("0::/load.slice/one\n", "sys/fs/cgroup/load.slice"),
        ("4:memory:/other\n1:cpu,cpuacct:/load.slice/one\n0::/\n", "sys/fs/cgroup/cpu/load.slice"),
    ],
    ids=["version 2", "version 1"],
)
def test_the_group_that_stops_most_counts_also_one_above(tmp_path: Path, membership: str, place: str) -> None:
    write(tmp_path / "proc/self/cgroup", membership)
    write(tmp_path / place / "cpu.stat", stat(50, 40))
    write(tmp_path / place / "one" / "cpu.stat", stat(90, 3))
    assert quota_periods(tmp_path) == (50, 40)


def test_a_group_without_a_quota_has_no_periods(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    write(tmp_path / "sys/fs/cgroup/cpu.stat", "usage_usec 12\nnr_periods 0\nnr_throttled 0\n")
    assert quota_periods(tmp_path) is None


def test_a_container_that_does_not_show_its_groups_path_has_them_at_the_top(tmp_path: Path) -> None:
    write(tmp_path / "proc/self/cgroup", "0::/kubepods/pod1\n")
    write(tmp_path / "sys/fs/cgroup/cpu.stat", stat(7, 5))
    assert quota_periods(tmp_path) == (7, 5)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("213543 4500000000 2\n", 4.5), ("0 0 0\n", None), ("", None), ("1 -2 x\n", None)],
    ids=["counted", "not counted by this kernel", "cut", "not numbers"],
)
def test_the_wait_for_a_processor(tmp_path: Path, text: str, seconds: float | None) -> None:
    write(tmp_path / "schedstat", text)
    assert cpu_wait_s(tmp_path / "schedstat") == seconds
    assert cpu_wait_s(tmp_path / "no such file") is None


def test_a_system_without_control_groups_has_none(tmp_path: Path) -> None:
    assert quota_periods(tmp_path) is None
