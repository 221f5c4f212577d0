"""What the machines under test did over some intervals: one figure each, where several serve the load."""

from typing import NamedTuple

from loadtop.analysis.totals.statistic import Statistic
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import swap_used


class Figures(NamedTuple):
    """Of one interval, or the means of some: percent, and kB/s in and out together. ``None``: not measured."""

    idle: float | None
    iowait: float | None
    swap_used: float | None
    swap_kb_s: float | None


_WORST = (min, max, max, max)


def targets(snapshot: Snapshot) -> tuple[HostView, ...]:
    """The machines under test that are watched."""
    return tuple(host for host in snapshot.measured.hosts if "target" in host.state.role)


def swap_traffic(host: HostView) -> float | None:
    """kB/s in and out together."""
    paging = None if host.rates is None else host.rates.paging
    if paging is None or paging.swap_in_kb is None or paging.swap_out_kb is None:
        return None
    return paging.swap_in_kb + paging.swap_out_kb


class TargetFigures:
    """Adds intervals up, each machine by itself."""

    def __init__(self) -> None:
        self._machines: dict[str, tuple[Statistic, ...]] = {}

    def add(self, snapshot: Snapshot) -> None:
        """Count one interval."""
        for host in targets(snapshot):
            cpu = None if host.rates is None else host.rates.cpu
            idle, iowait = (None, None) if cpu is None else (cpu.idle, cpu.iowait)
            found = Figures(idle, iowait, swap_used(host), swap_traffic(host))
            if host.name not in self._machines:
                self._machines[host.name] = tuple(Statistic() for _ in found)
            for statistic, value in zip(self._machines[host.name], found, strict=True):
                statistic.add(value)

    @property
    def worst(self) -> Figures:
        """Each figure of the machine where it is worst: the least idle, the most iowait, the most swap in use, the most
        swap traffic. One that is full is not hidden by others that are not."""
        machines = list(map(_means, self._machines.values()))
        known = ([mean for means in machines if (mean := means[each]) is not None] for each in range(len(_WORST)))
        return Figures._make(choose(means, default=None) for choose, means in zip(_WORST, known, strict=True))

    @property
    def first(self) -> Figures | None:
        """Of the first machine, where there is one."""
        return next(map(_means, self._machines.values()), None)


def _means(statistics: tuple[Statistic, ...]) -> Figures:
    return Figures._make(statistic.mean for statistic in statistics)
