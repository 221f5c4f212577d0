"""What a chart shows: numbers over time, in constant memory however long the test was."""

from collections.abc import Callable, Iterator

from loadtop.model.histogram import percentile
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import swap_used
from loadtop.servers.apache.kind import APACHE

POINTS = 1200
"""Points that a curve has at most: more than a page is pixels wide. Beyond, neighbours become one."""


class Curve:
    """One number: a mean over the intervals of each point, or the greatest of them (``peak``)."""

    __slots__ = ("counts", "peak", "sums")

    def __init__(self, *, peak: bool = False) -> None:
        self.peak = peak
        self.sums: list[float] = []
        self.counts: list[int] = []

    def put(self, point: int, value: float | None) -> None:
        """Count a value into a point (from 0); ``None`` was not measured."""
        while len(self.sums) <= point:
            self.sums.append(0.0)
            self.counts.append(0)
        if value is None:
            return
        if self.peak:
            self.sums[point] = max(self.sums[point], value) if self.counts[point] else value
            self.counts[point] = 1
        else:
            self.sums[point] += value
            self.counts[point] += 1

    def halve(self) -> None:
        """Make one point of every two."""
        pairs = range(0, len(self.sums), 2)
        unite = max if self.peak else sum
        counted = [s if c else None for s, c in zip(self.sums, self.counts, strict=True)]
        self.sums = [unite([v for v in counted[i : i + 2] if v is not None] or [0.0]) for i in pairs]
        self.counts = [sum(self.counts[i : i + 2]) for i in pairs]
        if self.peak:
            self.counts = [min(1, count) for count in self.counts]

    def values(self, points: int) -> list[float | None]:
        """The value of each point; ``None`` where nothing was measured."""
        found: list[float | None] = [
            s / c if c else None for s, c in zip(self.sums[:points], self.counts[:points], strict=True)
        ]
        return found + [None] * (points - len(found))


class Curves:
    """Every curve of a test by machine (empty: the load) and name, on one axis of times."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.curves: dict[tuple[str, str], Curve] = {}
        self.intervals = 1
        self._in_point = 0

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        if self.times and self._in_point < self.intervals:
            self.times[-1] = snapshot.at
            self._in_point += 1
        else:
            if len(self.times) >= POINTS:
                self._halve()
            self.times.append(snapshot.at)
            self._in_point = 1
        point = len(self.times) - 1
        for name, value, peak in _of_load(snapshot):
            self._curve("", name, peak=peak).put(point, value)
        for host in snapshot.measured.hosts:
            for name, read in HOST_CURVES.items():
                self._curve(host.name, name).put(point, read(host))

    def of(self, host: str, name: str) -> list[float | None]:
        """The values of one curve, one for each of ``times``."""
        curve = self.curves.get((host, name))
        return [None] * len(self.times) if curve is None else curve.values(len(self.times))

    def _curve(self, host: str, name: str, *, peak: bool = False) -> Curve:
        known = self.curves.get((host, name))
        if known is None:
            known = self.curves[host, name] = Curve(peak=peak)
        return known

    def _halve(self) -> None:
        self.times = [self.times[min(i + 1, len(self.times) - 1)] for i in range(0, len(self.times), 2)]
        for curve in self.curves.values():
            curve.halve()
        self.intervals *= 2


def _of_load(snapshot: Snapshot) -> Iterator[tuple[str, float | None, bool]]:
    load, rates = snapshot.measured.load, snapshot.measured.load_rates
    if load is None:
        return
    yield "rps", None if rates is None else rates.rps, False
    yield "failed", None if rates is None else rates.failed, False
    total = None if load.latencies is None or not load.latencies.total.count else load.latencies.total
    for name, percent in (("p50", 50.0), ("p95", 95.0), ("p99", 99.0)):
        yield name, None if total is None else percentile(total, percent) / 1000, True


def _cpu(*states: str) -> Callable[[HostView], float | None]:
    def value(host: HostView) -> float | None:
        cpu = None if host.rates is None else host.rates.cpu
        if cpu is None:
            return None
        known = [getattr(cpu, state) for state in states]
        return sum(share for share in known if share is not None) if any(k is not None for k in known) else None

    return value


def _paging(name: str) -> Callable[[HostView], float | None]:
    def value(host: HostView) -> float | None:
        paging = None if host.rates is None else host.rates.paging
        return None if paging is None else getattr(paging, name)

    return value


def _workers(name: str) -> Callable[[HostView], float | None]:
    def value(host: HostView) -> float | None:
        pages = [each.reading for each in APACHE.rates(host.rates)]
        return float(sum(getattr(page, name) for page in pages)) if pages else None

    return value


def _swap_used(host: HostView) -> float | None:
    return None if host.rates is None else swap_used(host)


HOST_CURVES: dict[str, Callable[[HostView], float | None]] = {
    "user": _cpu("user", "nice"),
    "system": _cpu("system", "irq", "softirq"),
    "iowait": _cpu("iowait"),
    "steal": _cpu("steal"),
    "swap_used": _swap_used,
    "swap_in": _paging("swap_in_kb"),
    "swap_out": _paging("swap_out_kb"),
    "busy": _workers("busy"),
    "keepalive": _workers("keepalive"),
    "slots": _workers("capacity"),
}
"""What is drawn of a machine: percent of its processors, percent of its swap, kB/s, worker slots of its Apaches."""
