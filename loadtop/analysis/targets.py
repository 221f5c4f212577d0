"""The machines under test over some intervals: one value of each metric, where several serve the load."""

from typing import NamedTuple

from loadtop.analysis.statistic import Statistic
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import swap_used


class TargetValues(NamedTuple):
    """Of one interval, or means: percent, and swap traffic in kB/s, in and out together. ``None``: not measured."""

    idle: float | None
    iowait: float | None
    swap_used: float | None
    swap_kb_s: float | None


_WORST = (min, max, max, max)


def targets(snapshot: Snapshot) -> tuple[HostView, ...]:
    """The machines under test that are watched."""
    return tuple(host for host in snapshot.hosts if "target" in host.state.role)


def target_values(snapshot: Snapshot) -> dict[str, TargetValues]:
    """The values of each machine under test, by its name."""
    return {host.name: _values(host) for host in targets(snapshot)}


class TargetMeans:
    """Means over intervals, one for each machine."""

    def __init__(self) -> None:
        self._machines: dict[str, tuple[Statistic, ...]] = {}

    def add(self, values: dict[str, TargetValues]) -> None:
        """Count one interval."""
        for name, found in values.items():
            if name not in self._machines:
                self._machines[name] = tuple(Statistic() for _ in found)
            for statistic, value in zip(self._machines[name], found, strict=True):
                statistic.add(value)

    @property
    def worst(self) -> TargetValues:
        """Each value of the machine where it is worst: the least idle, the most iowait, swap and swap traffic. A
        machine that is full is not hidden by others that are not."""
        machines = list(map(_means, self._machines.values()))
        known = ([mean for means in machines if (mean := means[each]) is not None] for each in range(len(_WORST)))
        return TargetValues._make(choose(means, default=None) for choose, means in zip(_WORST, known, strict=True))

    @property
    def first(self) -> TargetValues | None:
        """The values of the first machine; ``None`` without any."""
        return next(map(_means, self._machines.values()), None)


def _values(host: HostView) -> TargetValues:
    cpu = None if host.rates is None else host.rates.cpu
    paging = None if host.rates is None else host.rates.paging
    known = paging is not None and paging.swap_in_kb is not None and paging.swap_out_kb is not None
    return TargetValues(
        None if cpu is None else cpu.idle,
        None if cpu is None else cpu.iowait,
        swap_used(host),
        (paging.swap_in_kb or 0.0) + (paging.swap_out_kb or 0.0) if paging is not None and known else None,
    )


def _means(statistics: tuple[Statistic, ...]) -> TargetValues:
    return TargetValues._make(statistic.mean for statistic in statistics)
