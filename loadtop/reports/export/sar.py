"""A recording as ``sar -u -P ALL -W -S -q -n DEV`` prints it (sysstat 12), for scripts that read that.

The columns are sar's, in its order and units. What was not measured is ``-`` where sar would print 0.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from loadtop.analysis.statistic import Statistics
from loadtop.model import HostSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import HostRates

Values = Sequence[float | None]

NETWORK = ("rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "rxcmp/s", "txcmp/s", "rxmcst/s", "%ifutil")


class Section:
    """One of sar's tables: lines as they come, and what the averages are made of. ``key`` heads the name of what a line
    is about, in ``width`` cells; ``columns`` have so many digits."""

    def __init__(self, key: str, width: int, columns: dict[str, int]) -> None:
        self._head = f"{key:>{width}}{''.join(f'{column:>10}' for column in columns)}"
        self._digits = tuple(columns.values())
        self._width = width
        self._lines: list[str] = []
        self._means = defaultdict[str, Statistics](partial(Statistics, columns))

    def add(self, clock: str, name: str, values: Values) -> None:
        """A line; ``name`` is the processor or interface, empty where the table has none."""
        self._lines.append(self._line(clock, name, values))
        self._means[name].add(values)

    def text(self, began: str) -> Iterator[str]:
        """The table with its head and its averages; nothing where there is no line."""
        if not self._lines:
            return
        yield ""
        yield f"{began:<11}{self._head}"
        yield from self._lines
        for name, statistics in self._means.items():
            yield self._line("Average:", name, tuple(statistic.mean for statistic in statistics.values()))

    def _line(self, clock: str, name: str, values: Values) -> str:
        pairs = zip(values, self._digits, strict=True)
        cells = "".join(f"{'-' if value is None else f'{value:.{digits}f}':>10}" for value, digits in pairs)
        return f"{clock:<11}{name:>{self._width}}{cells}"


class Sar:
    """One machine's tables. ``role`` is its role in the test."""

    def __init__(self) -> None:
        self.role = ""
        self._began = ""
        self._head = ""
        self._cpu = Section("CPU", 8, dict.fromkeys(("%user", "%nice", "%system", "%iowait", "%steal", "%idle"), 2))
        self._swapping = Section("", 0, {"pswpin/s": 2, "pswpout/s": 2})
        self._swap = Section("", 0, {"kbswpfree": 0, "kbswpused": 0, "%swpused": 2, "kbswpcad": 0, "%swpcad": 2})
        self._queue = Section(
            "", 0, {"runq-sz": 0, "plist-sz": 0, "ldavg-1": 2, "ldavg-5": 2, "ldavg-15": 2, "blocked": 0}
        )
        self._network = Section("IFACE", 10, dict.fromkeys(NETWORK, 2))

    def add(self, host: HostView, at: float) -> None:
        """Count one interval, which ended at that Unix time."""
        self.role = host.state.role
        if not host.state.fresh or host.sample is None:
            return
        wall = time.localtime(at)
        clock = time.strftime("%H:%M:%S", wall)
        if not self._began:
            self._began = clock
            facts = host.sample.facts
            date = time.strftime("%m/%d/%y", wall)
            system = "Linux" if "linux" in facts.system.lower() else facts.system
            self._head = f"{system} {facts.kernel} ({facts.hostname}) \t{date} \t_-_\t({facts.cores} CPU)"
        if host.rates is not None:
            self._add(clock, host.rates, host.sample)

    def text(self) -> Iterator[str]:
        """All lines; nothing where the machine was never measured."""
        if self._head:
            yield self._head
            for section in (self._cpu, self._swapping, self._swap, self._queue, self._network):
                yield from section.text(self._began)

    def _add(self, clock: str, rates: HostRates, sample: HostSample) -> None:
        if rates.cpu is not None:
            for name, cpu in (("all", rates.cpu), *((str(core.id), core.shares) for core in rates.cores)):
                # As sar: guests are in user, interrupts in system.
                self._cpu.add(clock, name, (cpu.user, cpu.nice, cpu.kernel, cpu.iowait, cpu.steal, cpu.idle))
        if rates.paging is not None:
            traffic = (rates.paging.swap_in_kb, rates.paging.swap_out_kb)
            self._swapping.add(clock, "", [None if kb is None else kb / (sample.facts.page_kb or 4) for kb in traffic])
        if (swap := sample.swap) is not None:
            used = swap.total_kb - swap.free_kb
            share = 100.0 * used / swap.total_kb if swap.total_kb else None
            cached = None if swap.cached_kb is None or not used else 100.0 * swap.cached_kb / used
            self._swap.add(clock, "", (swap.free_kb, used, share, swap.cached_kb, cached))
        if (scheduler := sample.scheduler) is not None:
            averages = (scheduler.load1, scheduler.load5, scheduler.load15)
            self._queue.add(clock, "", (scheduler.running, scheduler.tasks, *averages, scheduler.blocked))
        for net in rates.networks or ():
            values = (net.rx_packets, net.tx_packets, net.rx_kb, net.tx_kb, None, None, None, net.util)
            self._network.add(clock, net.name, values)


def sar(snapshots: Iterable[Snapshot], host: str | None = None) -> Iterator[str]:
    """Lines, without line ends, of each machine (or the one of that name), the target first."""
    found = defaultdict[str, Sar](Sar)
    for snapshot in snapshots:
        for view in snapshot.measured.hosts:
            if host is None or view.name == host:
                found[view.name].add(view, snapshot.measured.frame.wall)
    for machine in sorted(found.values(), key=lambda known: "target" not in known.role):
        yield from machine.text()
