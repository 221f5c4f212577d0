"""A recording as ``sar -u -P ALL -W -S -q -n DEV`` prints it (sysstat 12), for scripts that read that.

The columns are sar's, in its order and units. What was not measured is ``-`` where sar would print 0.
"""

import time
from collections.abc import Iterable, Iterator, Sequence

from loadtop.model import HostSample, Swap
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.records import CpuShares, HostRates

Values = tuple[float | None, ...]

CPU = ("%user", "%nice", "%system", "%iowait", "%steal", "%idle")
SWAPPING = ("pswpin/s", "pswpout/s")
SWAP = ("kbswpfree", "kbswpused", "%swpused", "kbswpcad", "%swpcad")
QUEUE = ("runq-sz", "plist-sz", "ldavg-1", "ldavg-5", "ldavg-15", "blocked")
NETWORK = ("rxpck/s", "txpck/s", "rxkB/s", "txkB/s", "rxcmp/s", "txcmp/s", "rxmcst/s", "%ifutil")


class Section:
    """One of sar's tables: lines as they come, and what the averages are made of."""

    def __init__(self, columns: Sequence[str], digits: Sequence[int], key: str = "", width: int = 0) -> None:
        self._columns = columns
        self._digits = digits
        self._key = key
        self._width = width
        self._lines: list[str] = []
        self._sums: dict[str, list[tuple[float, int]]] = {}

    def add(self, clock: str, name: str, values: Values) -> None:
        """A line; ``name`` is the processor or interface, empty where the table has none."""
        self._lines.append(self._line(clock, name, values))
        sums = self._sums.setdefault(name, [(0.0, 0)] * len(values))
        known = zip(sums, values, strict=True)
        self._sums[name] = [(s, n) if value is None else (s + value, n + 1) for (s, n), value in known]

    def text(self, began: str) -> Iterator[str]:
        """The table with its head and its averages; nothing where there is no line."""
        if not self._lines:
            return
        yield ""
        yield f"{began:<11}{self._key:>{self._width}}{''.join(f'{column:>10}' for column in self._columns)}"
        yield from self._lines
        for name, sums in self._sums.items():
            yield self._line("Average:", name, tuple(s / n if n else None for s, n in sums))

    def _line(self, clock: str, name: str, values: Values) -> str:
        pairs = zip(values, self._digits, strict=True)
        cells = "".join(f"{'-' if value is None else f'{value:.{digits}f}':>10}" for value, digits in pairs)
        return f"{clock:<11}{name:>{self._width}}{cells}"


class Sar:
    """The tables of one machine. Takes its moments in order."""

    def __init__(self, host: str) -> None:
        self.host = host
        self._began = ""
        self._head = ""
        self._sections = {
            "cpu": Section(CPU, (2,) * 6, "CPU", 8),
            "swapping": Section(SWAPPING, (2, 2)),
            "swap": Section(SWAP, (0, 0, 2, 0, 2)),
            "queue": Section(QUEUE, (0, 0, 2, 2, 2, 0)),
            "network": Section(NETWORK, (2,) * 8, "IFACE", 10),
        }

    def add(self, snapshot: Snapshot) -> None:
        """A line for each thing that was measured."""
        host = snapshot.measured.host(self.host)
        if host is None or not host.state.fresh or host.sample is None:
            return
        wall = time.localtime(snapshot.measured.frame.wall)
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
            for section in self._sections.values():
                yield from section.text(self._began)

    def _add(self, clock: str, rates: HostRates, sample: HostSample) -> None:
        if rates.cpu is not None:
            self._sections["cpu"].add(clock, "all", _cpu(rates.cpu))
            for core in rates.cores:
                self._sections["cpu"].add(clock, str(core.id), _cpu(core.shares))
        paging, page_kb = rates.paging, sample.facts.page_kb
        if paging is not None:
            pages = (None if kb is None else kb / page_kb for kb in (paging.swap_in_kb, paging.swap_out_kb))
            self._sections["swapping"].add(clock, "", tuple(pages))
        if sample.swap is not None:
            self._sections["swap"].add(clock, "", _swap(sample.swap))
        scheduler = sample.scheduler
        if scheduler is not None:
            averages = (scheduler.load1, scheduler.load5, scheduler.load15)
            values = (scheduler.running, scheduler.tasks, *averages, scheduler.blocked)
            self._sections["queue"].add(clock, "", values)
        for network in rates.networks or ():
            rest = (network.rx_kb, network.tx_kb, None, None, None, network.util)
            self._sections["network"].add(clock, network.name, (network.rx_packets, network.tx_packets, *rest))


def sar(snapshots: Iterable[Snapshot], host: str | None = None) -> Iterator[str]:
    """Lines, without line ends, of each machine (or the one of that name), the target first."""
    found: dict[str, Sar] = {}
    roles: dict[str, str] = {}
    for snapshot in snapshots:
        for view in snapshot.measured.hosts:
            if host is None or view.name == host:
                roles[view.name] = view.state.role
                found.setdefault(view.name, Sar(view.name)).add(snapshot)
    for name in sorted(found, key=lambda known: "target" not in roles[known]):
        yield from found[name].text()


def _cpu(cpu: CpuShares) -> Values:
    """As sar: guests are in user, interrupts in system."""
    return cpu.user, cpu.nice, cpu.kernel, cpu.iowait, cpu.steal, cpu.idle


def _swap(swap: Swap) -> Values:
    used = swap.total_kb - swap.free_kb
    share = 100.0 * used / swap.total_kb if swap.total_kb else None
    cached = None if swap.cached_kb is None or not used else 100.0 * swap.cached_kb / used
    return swap.free_kb, used, share, swap.cached_kb, cached
