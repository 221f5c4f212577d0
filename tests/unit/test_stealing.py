"""The transformation that steals CPU time from recordings: what it takes, and that counters stay counters."""

from itertools import pairwise

import pytest
from msgspec.structs import fields

from loadtop.model import Core, Cpu, CpuTimes, Frame, HostFacts, HostSample, HostState, Process
from tests.unit.known import known
from tests.unit.stealing import Thieves

TICKS = 100  # of each processor in each interval
COURSE = ((20, 5), (100, 0), (0, 0), (60, 30), (95, 5), (33, 0))
"""What one processor did in each interval: busy, waiting for a disk; in ticks."""


def course(*intervals: tuple[int, int], idle_cores: int = 1) -> list[Frame]:
    """Frames of a machine with one processor that works, and one process that takes all its time."""
    frames, busy, waiting = list[Frame](), 0, 0
    for number, (more, wait) in enumerate(((0, 0), *intervals)):
        busy, waiting, passed = busy + more, waiting + wait, TICKS * number
        cores = [CpuTimes(busy, 0, 0, passed - busy - waiting, waiting, 0, 0, 0)]
        cores += [CpuTimes(0, 0, 0, passed, 0, 0, 0, 0)] * idle_cores
        total = CpuTimes(busy, 0, 0, (1 + idle_cores) * passed - busy - waiting, waiting, 0, 0, 0)
        sample = HostSample(
            "web1", float(number), HostFacts("web1", "local", "Linux", "6.1", 2),
            cpu=Cpu(total, tuple(Core(place, times) for place, times in enumerate(cores))),
            processes=(Process(7, "httpd", "httpd", "R", 1, busy, 5, 100),),
        )  # fmt: skip
        hosts = (HostState("web1", "target", sample, fresh=True),)
        frames.append(Frame(number, float(number), float(number), None, hosts))
    return frames


def stolen_from(frames: list[Frame], share: float) -> list[HostSample]:
    thieves = Thieves(share)
    return [known(thieves.steal(frame).hosts[0].sample) for frame in frames]


@pytest.mark.parametrize("share", [0.0, 0.05, 0.15, 0.3])
def test_time_is_neither_made_nor_lost(share: float) -> None:
    """Of each processor, all ticks of an interval are accounted for (some are rounded), and none is taken back."""
    names = [each.name for each in fields(CpuTimes)]
    for before, now in pairwise(stolen_from(course(*COURSE), share)):
        cores = [core.times for core in known(now.cpu).cores]
        for old, new in zip(known(before.cpu).cores, cores, strict=True):
            passed = [(getattr(new, name) or 0) - (getattr(old.times, name) or 0) for name in names]
            assert sum(passed) == pytest.approx(TICKS, abs=3)
            assert min(passed) >= 0
        assert known(now.cpu).total.user == sum(times.user for times in cores)
        assert known(now.cpu).total.steal == sum(times.steal or 0 for times in cores)


@pytest.mark.parametrize(
    ("busy", "share", "left", "steal"),
    [
        (0, 0.3, 0, 0),
        (42, 0.3, 42, 18),  # it wants 60 % and is given 70 % of that: the same work is done
        (70, 0.3, 70, 30),
        (100, 0.3, 70, 30),  # it wants all, and so less is done
        (90, 0.15, 85, 15),
        (50, 0.0, 50, 0),
    ],
)
def test_a_share_of_what_is_wanted_is_stolen(busy: int, share: float, left: int, steal: int) -> None:
    sample = stolen_from(course((busy, 0)), share)[-1]
    times = known(sample.cpu).cores[0].times
    assert (times.user, times.steal) == (left, steal)
    (process,) = known(sample.processes)
    assert process.cpu_ticks == left


@pytest.mark.parametrize(("busy", "needed"), [(96, True), (60, False)])
def test_when_the_machine_needs_what_is_stolen(busy: int, needed: bool) -> None:
    thieves = Thieves(0.15)
    for frame in course(*[(busy, 0)] * 8, idle_cores=0):
        thieves.steal(frame)
    assert thieves.needed() is needed
