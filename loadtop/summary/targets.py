"""What the machines under test did over some intervals: one figure each, where several serve the load."""

from collections.abc import Callable, Iterable

from loadtop.metrics import swap_used
from loadtop.moment import HostView, Moment
from loadtop.summary.statistic import Statistic


def targets(moment: Moment) -> tuple[HostView, ...]:
    """The machines under test that are watched."""
    return tuple(host for host in moment.measured.hosts if "target" in host.state.role)


def swap_traffic(host: HostView) -> float | None:
    """kB/s in and out together."""
    paging = None if host.rates is None else host.rates.paging
    if paging is None or paging.swap_in_kb is None or paging.swap_out_kb is None:
        return None
    return paging.swap_in_kb + paging.swap_out_kb


class TargetFigures:
    """Adds intervals up, each machine by itself. Where several serve the load, each figure is the mean of the machine
    with the worst one: the least idle, the most iowait, the most swap in use, the most swap traffic. One that is full
    is not hidden by others that are not. ``None``: not measured on any of them."""

    def __init__(self) -> None:
        self._machines: dict[str, _Machine] = {}

    def add(self, moment: Moment) -> None:
        """Count one interval."""
        for host in targets(moment):
            self._machines.setdefault(host.name, _Machine()).add(host)

    @property
    def idle(self) -> float | None:
        """Percent."""
        return self._worst(min, (machine.idle for machine in self._machines.values()))

    @property
    def iowait(self) -> float | None:
        """Percent."""
        return self._worst(max, (machine.iowait for machine in self._machines.values()))

    @property
    def swap_used(self) -> float | None:
        """Percent of the swap space."""
        return self._worst(max, (machine.swap_used for machine in self._machines.values()))

    @property
    def swap_kb_s(self) -> float | None:
        """In and out together."""
        return self._worst(max, (machine.swap_kb_s for machine in self._machines.values()))

    @property
    def first_used(self) -> float | None:
        """Percent of the first machine's processors that were used: neither idle nor waiting for I/O."""
        machine = next(iter(self._machines.values()), None)
        idle = None if machine is None else machine.idle.mean
        return None if machine is None or idle is None else 100.0 - idle - (machine.iowait.mean or 0.0)

    @staticmethod
    def _worst(choose: Callable[[list[float]], float], statistics: Iterable[Statistic]) -> float | None:
        means = [statistic.mean for statistic in statistics if statistic.mean is not None]
        return choose(means) if means else None


class _Machine:
    """One of them."""

    def __init__(self) -> None:
        self.idle = Statistic()
        self.iowait = Statistic()
        self.swap_used = Statistic()
        self.swap_kb_s = Statistic()

    def add(self, host: HostView) -> None:
        if host.rates is not None and host.rates.cpu is not None:
            self.idle.add(host.rates.cpu.idle)
            self.iowait.add(host.rates.cpu.iowait)
        self.swap_used.add(swap_used(host))
        self.swap_kb_s.add(swap_traffic(host))
