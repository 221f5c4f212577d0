"""What was, kept for graphs: a bounded ring per number, fed with every moment, also with those that are not drawn."""

from collections import deque
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from loadtop.analysis.totals.timeline import Timeline
from loadtop.diagnosis.finding import Bottleneck
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import ApacheRates, CpuShares, HostRates

KEPT = 400
"""Intervals kept for graphs: more than the widest terminal shows."""

STALE_INTERVALS = 2.5
"""Intervals without a sample after which a machine is shown stale; one late sample is no news."""

MARKS = 500
"""Marks and steps kept for the time strip."""

T = TypeVar("T")


class Ring(Generic[T]):
    """The newest values, and how many there have been in all."""

    __slots__ = ("total", "values")

    def __init__(self, values: Iterable[T | None] = (), total: int = 0) -> None:
        self.values: deque[T | None] = deque(values, maxlen=KEPT)
        self.total = total

    def append(self, value: T | None) -> None:
        """Keep a value; ``None`` is a gap."""
        self.values.append(value)
        self.total += 1

    def copy(self) -> "Ring[T]":
        """As it is now."""
        return Ring(self.values, self.total)


@dataclass(slots=True)
class HostHistory:
    """One machine: the shares of its processors, its memory, its traffic; its newest rates, and the newest page of its
    first Apache with the time it came at: a server under load does not answer every time."""

    cpu: Ring[tuple[int, ...]] = field(default_factory=Ring[tuple[int, ...]])
    memory_used: Ring[float] = field(default_factory=Ring[float])
    swap_traffic: Ring[float] = field(default_factory=Ring[float])
    memory_stall: Ring[float] = field(default_factory=Ring[float])
    network: Ring[float] = field(default_factory=Ring[float])
    disk: Ring[float] = field(default_factory=Ring[float])
    workers: Ring[float] = field(default_factory=Ring[float])
    pools: Ring[float] = field(default_factory=Ring[float])
    queued: Ring[float] = field(default_factory=Ring[float])
    rates: HostRates | None = None
    page: ApacheRates | None = None
    page_at: float = 0.0

    def add(self, host: HostView, at: float) -> None:
        """Keep one moment of this machine; what was not measured becomes a gap."""
        rates = host.rates
        if rates is not None:
            self.rates = rates
        self.cpu.append(None if rates is None or rates.cpu is None else _percents(rates.cpu))
        self.memory_used.append(_memory_used(host) if host.stale_s == 0 else None)
        paging = None if rates is None else rates.paging
        known = paging is not None and paging.swap_in_kb is not None and paging.swap_out_kb is not None
        traffic = (paging.swap_in_kb or 0.0) + (paging.swap_out_kb or 0.0) if paging is not None and known else None
        self.swap_traffic.append(traffic)
        stall = None if rates is None or rates.pressure is None else rates.pressure.memory_some
        self.memory_stall.append(stall)
        networks = None if rates is None else rates.networks
        self.network.append(None if networks is None else sum(net.rx_kb + net.tx_kb for net in networks))
        disks = None if rates is None else rates.disks
        self.disk.append(max((disk.util or 0.0 for disk in disks), default=0.0) if disks is not None else None)
        pages = None if rates is None else rates.apache
        self.workers.append(max(page.full for page in pages) if pages else None)
        if pages:
            self.page, self.page_at = pages[0], at
        fullest = [pool.full for pool in (rates.fpm if rates is not None else None) or () if pool.full is not None]
        self.pools.append(max(fullest, default=None))
        lines = (rates.haproxy if rates is not None else None) or ()
        queues = [each.line.queue or 0 for each in lines if each.line.server == "BACKEND"]
        self.queued.append(float(sum(queues)) if queues else None)

    def copy(self) -> "HostHistory":
        """As it is now, for a view that stands still."""
        return HostHistory(
            self.cpu.copy(),
            self.memory_used.copy(),
            self.swap_traffic.copy(),
            self.memory_stall.copy(),
            self.network.copy(),
            self.disk.copy(),
            self.workers.copy(),
            self.pools.copy(),
            self.queued.copy(),
            self.rates,
            self.page,
            self.page_at,
        )


class History:
    """Rings of the load and of each machine, the verdicts over time, marks and steps. Memory is bounded."""

    def __init__(self, interval_s: float = 1.0, start: float = 0.0) -> None:
        self.rps = Ring[float]()
        self.p99 = Ring[float]()
        self.hosts: dict[str, HostHistory] = {}
        self.evidence: dict[tuple[str, str], Ring[float]] = {}
        self.timeline = Timeline(start)
        self.blind: list[tuple[float, float]] = []
        self.marks: deque[tuple[float, str]] = deque(maxlen=MARKS)
        self.steps: deque[tuple[float, int]] = deque(maxlen=MARKS)
        self._interval_s = interval_s

    def add(self, snapshot: Snapshot) -> None:
        """Keep one moment."""
        measured = snapshot.measured
        rates, load = measured.load_rates, measured.load
        self.rps.append(None if rates is None else rates.rps)
        self.p99.append(latency_ms(snapshot, 99.0))
        for host in measured.hosts:
            self.hosts.setdefault(host.name, HostHistory()).add(host, snapshot.at)
        self._note_evidence(snapshot)
        self.timeline.add(snapshot, load is not None and not load.state.ended)
        self._note_blindness(snapshot)
        self.marks.extend((snapshot.at, text) for text in measured.frame.marks)
        if load is not None and (not self.steps or self.steps[-1][1] != load.step):
            self.steps.append((snapshot.at, load.step))

    def _note_evidence(self, snapshot: Snapshot) -> None:
        """Keep the values that spoke for or against a finding, by machine and metric."""
        diagnosis = snapshot.diagnosis
        items = [item for finding in (diagnosis.verdict, *diagnosis.findings) for item in finding.evidence]
        values = {(item.host, item.metric): item.value for item in items}
        for key in values.keys() - self.evidence.keys():
            if len(self.evidence) < MARKS:
                self.evidence[key] = Ring[float](total=self.rps.total - 1)
        for key, ring in self.evidence.items():
            ring.append(values.get(key))

    def _note_blindness(self, snapshot: Snapshot) -> None:
        """Keep the stretches in which ``none`` was said although a machine gave no figures: they are not calm."""
        missing = max((host.stale_s for host in snapshot.measured.hosts), default=0.0)
        if (
            snapshot.diagnosis.verdict.bottleneck is not Bottleneck.NONE
            or missing <= STALE_INTERVALS * self._interval_s
        ):
            return
        start = snapshot.at - missing
        if self.blind and self.blind[-1][1] >= start:
            self.blind[-1] = (self.blind[-1][0], snapshot.at)
        else:
            self.blind.append((start, snapshot.at))

    def copy(self) -> "History":
        """As it is now, for a view that stands still while data goes on."""
        found = History(self._interval_s)
        found.rps, found.p99 = self.rps.copy(), self.p99.copy()
        found.hosts = {name: host.copy() for name, host in self.hosts.items()}
        found.evidence = {key: ring.copy() for key, ring in self.evidence.items()}
        found.timeline = deepcopy(self.timeline)
        found.blind = list(self.blind)
        found.marks, found.steps = self.marks.copy(), self.steps.copy()
        return found


def latency_ms(snapshot: Snapshot | None, percent: float) -> float | None:
    """A percentile of the interval's response times in ms; ``None`` where no request ended in it."""
    load = None if snapshot is None else snapshot.measured.load
    if load is None or load.latencies is None or load.latencies.total.count == 0:
        return None
    from loadtop.model.histogram import percentile

    return percentile(load.latencies.total, percent) / 1000.0


def _memory_used(host: HostView) -> float | None:
    memory = None if host.sample is None else host.sample.memory
    if memory is None or memory.available_kb is None or not memory.total_kb:
        return None
    return 100.0 * (memory.total_kb - memory.available_kb) / memory.total_kb


def _percents(cpu: CpuShares) -> tuple[int, ...]:
    """User, kernel, iowait and steal in whole percent."""
    shares = (cpu.user + cpu.nice, cpu.kernel, cpu.iowait or 0.0, cpu.steal or 0.0)
    return tuple(round(share) for share in shares)
