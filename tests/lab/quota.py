"""A control group that may use a part of one processor only. Needs root; both kinds of control groups will do."""

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.lab.memory import CGROUPS, PREFIX, remove_group

PERIOD_US = 100_000


@contextlib.contextmanager
def cpu_quota(cores: float) -> Generator[list[str]]:
    """What goes before a command that shall have ``cores`` of the processors; the group is gone afterwards."""
    first = (CGROUPS / "cpu" / "cpu.cfs_quota_us").exists()
    parent = CGROUPS / "cpu" if first else CGROUPS
    directory = parent / f"{PREFIX}quota-{os.getpid()}"
    quota = round(cores * PERIOD_US)
    try:
        if not first:
            (parent / "cgroup.subtree_control").write_text("+cpu")
        directory.mkdir()
        if first:
            (directory / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (directory / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (directory / "cpu.max").write_text(f"{quota} {PERIOD_US}")
    except OSError as error:
        pytest.fail(f"this test needs a control group for the processor below {parent}, but: {error}", pytrace=False)
    try:
        yield ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(directory)]
    finally:
        remove_group(directory)


def throttled_periods(launcher: list[str]) -> float:
    """Percent of the group's periods so far in which it was stopped, from its own counters."""
    words = (Path(launcher[-1]) / "cpu.stat").read_text().split()
    figures = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return 100.0 * figures["nr_throttled"] / max(1, figures["nr_periods"])
