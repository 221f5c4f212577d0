"""The panels of a machine: its processors, its memory and swap, its disks and networks."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from loadtop.diagnosis.memory import STALL_PCT, TRAFFIC_KB_S
from loadtop.i18n import Translatable, pad, tr
from loadtop.model.machine import Memory
from loadtop.rates.measured import HostView
from loadtop.rates.records import CoreShares, CpuShares, DiskRates, NetworkRates, TcpRates
from tui.drawing.graph import ceiling_of_size, gauge, layers, level, stacked, utilisation
from tui.drawing.line import Line, Role, Span, beside, clip, fit, fitting, length, line, safe, width
from tui.drawing.numbers import count, milliseconds, per_second, percent, size, speed
from tui.state.view import Curve, View, cpu_parts
from tui.widgets.panel import Panel

CORE = 18  # cells that a core's bar wants at least, its number and its share included

ROLES = (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL)

SCARCE_PCT = 10.0  # percent of the memory that is available, below which it is shown as scarce; our own
LEFT = 19  # cells of the available memory, before its gauge

FULL_PCT = 80.0  # percent in use from which a disk or a line is shown as nearly full
BUCKET_PCT = 5.0  # disks are ordered by their use in steps of this many percent
NAME = 8  # cells of a device's name

Device = TypeVar("Device", DiskRates, NetworkRates)


class CpuPanel(Panel):
    """Where the processors' time goes, each core, and the past."""

    KEY = "cpu"

    def title(self, view: View) -> Line:
        return line(Span(self.machine(view), Role.ACCENT), Span("cpu", Role.TITLE))

    def tag(self, view: View) -> Line:
        scheduler = None if view.sample is None else view.sample.scheduler
        if scheduler is None:
            return ()
        running = "" if scheduler.running is None else f"{scheduler.running:2d} {tr('run')}  "
        return line(Span(f"{running}{tr('load')} {scheduler.load1:.2f}", Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        rates = view.rates
        if rates is None or rates.cpu is None:
            return self.words(view.why_nothing("cpu", brief=False), cells, rows)
        head = line(tr("idle "), Span(percent(rates.cpu.idle), Role.VALUE), " %  ", Span(tr("busy "), Role.DIM))
        bar = stacked(parts(rates.cpu), cells - length(head) - 1, self.glyphs)
        lines = [(*head, *bar), self._states(rates.cpu, cells)]
        cores = self._cores(rates.cores, cells, max(1, (rows - len(lines)) // 2))
        if rows >= len(lines) + len(cores):
            lines += cores
        return [*lines, *layers(view.past.cpu, ROLES, cells, rows - len(lines), self.glyphs)]

    def _states(self, shares: CpuShares, cells: int) -> Line:
        names = ("us", "sy", "wa", "st")
        if cells >= 35:
            names = ("user", "system", "iowait", "steal") if cells >= 42 else ("user", "sys", "wait", "steal")
        values = (shares.user + shares.nice, shares.kernel, shares.iowait, shares.steal)
        spans: list[Span] = []
        for role, shade, name, value in zip(ROLES, self.glyphs.shades, names, values, strict=True):
            if length(spans) + len(name) + 4 > cells:
                break
            gap = Span(" " if cells >= 28 else "")
            spans += [Span(shade, role), Span(name, Role.DIM), Span(percent(value), Role.VALUE), gap]
        return tuple(spans[:-1])

    def _cores(self, cores: Sequence[CoreShares], cells: int, rows: int) -> list[Line]:
        """A bar per core where there is room for it, else a cell per core."""
        abreast = max(1, cells // CORE)
        if len(cores) <= abreast * rows:
            abreast = min(abreast, max(1, len(cores)))
            share = cells // abreast
            found: list[Line] = []
            for start in range(0, len(cores), abreast):
                spans: list[Span] = []
                for core in cores[start : start + abreast]:
                    bar = stacked(parts(core.shares), share - 12, self.glyphs)
                    figure = (Span(" id", Role.DIM), Span(percent(core.shares.idle, 4), Role.VALUE))
                    spans += fit((Span(f"c{core.id:<2d} ", Role.DIM), *bar, *figure), share)
                found.append(tuple(spans))
            return found
        levels = "".join(level(core.shares.busy, self.glyphs) for core in cores)
        name = tr("cores ")
        room = max(1, cells - width(name))
        chunks = [line(Span(levels[i : i + room], Role.USER)) for i in range(0, len(levels), room)][:rows]
        return beside([line(Span(name, Role.DIM))], chunks, width(name), len(chunks))


def parts(shares: CpuShares) -> list[tuple[float, Role]]:
    return list(zip(cpu_parts(shares), ROLES, strict=True))


def _used(host: HostView) -> float | None:
    memory = None if host.sample is None or host.stale_s else host.sample.memory
    available = None if memory is None else memory.available_pct
    return None if available is None else 100.0 - available


def _swap_traffic(host: HostView) -> float | None:
    return None if host.rates is None or host.rates.paging is None else host.rates.paging.swap_kb


USED = Curve("memory.used", _used, "memory in use, 0 to 100 %")
MOVED = Curve(
    "memory.moved", _swap_traffic, "swap traffic, 0 to {top}", 100.0, ceiling_of_size, speed, lambda _: Role.SWAP
)


class MemoryPanel(Panel):
    """What is available, swap traffic, and stalls."""

    KEY = "memory"
    CURVES = (USED, MOVED)

    def title(self, view: View) -> Line:
        return line(Span(self.machine(view), Role.ACCENT), Span(tr("memory, swap"), Role.TITLE))

    def tag(self, view: View) -> Line:
        memory = None if view.sample is None else view.sample.memory
        return () if memory is None else line(Span(tr("of {size}", size=size(memory.total_kb)), Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        sample = view.sample
        if sample is None or sample.memory is None:
            return self.words(view.why_nothing("memory"), cells, rows)
        lines = [self._available(sample.memory, cells), *_swap(view, cells), _stall(view, cells)][:rows]
        return [*lines, *self._graphs(view, cells, rows - len(lines))]

    def _available(self, memory: Memory, cells: int) -> Line:
        share = memory.available_pct
        used = None if share is None else 100.0 - share
        role = Role.BAD if share is not None and share < SCARCE_PCT else Role.VALUE
        head = fit(line(tr("available "), Span(size(memory.available_kb, 7), role)), LEFT)
        head = (*head, Span(tr("used "), Role.DIM))
        return (*head, *gauge(used, cells - length(head), utilisation((used or 0.0) / 100.0), self.glyphs))

    def _graphs(self, view: View, cells: int, rows: int) -> list[Line]:
        if rows < 2:
            return []
        used, moved = any(view.past.curves[USED.name]), any(view.past.curves[MOVED.name])
        if not moved:
            return self.past(USED, view, cells, rows) if used else []
        upper = rows - rows // 2 if used and rows >= 6 else 0
        above = self.past(USED, view, cells, upper) if upper else []
        return [*above, *self.past(MOVED, view, cells, rows - upper)]


def _swap(view: View, cells: int) -> list[Line]:
    swap = None if view.sample is None else view.sample.swap
    paging = None if view.rates is None else view.rates.paging
    if swap is not None and not swap.total_kb:
        return [line(Span(tr("no swap space"), Role.DIM))]
    share = None if swap is None else 100.0 * (swap.total_kb - swap.free_kb) / swap.total_kb
    used = line(tr("swap "), Span(percent(share), Role.VALUE), " %")
    spans: list[Span] = []
    rates = (None, None) if paging is None else (paging.swap_in_kb, paging.swap_out_kb)
    for name, rate in zip((tr(" in "), tr(" out ")), rates, strict=True):
        role = Role.BAD if rate is not None and rate >= TRAFFIC_KB_S else Role.VALUE
        spans += [Span(name, Role.DIM), Span(speed(rate, 8), role)]
    together = (*used, *spans)
    return [together] if length(together) <= cells else [used, tuple(spans)]


def _stall(view: View, cells: int) -> Line:
    rates = view.rates
    stall = None if rates is None or rates.pressure is None else rates.pressure.memory_some
    faults = None if rates is None or rates.paging is None else rates.paging.major_faults
    stalled = Span(percent(stall, 4), Role.BAD if stall is not None and stall >= STALL_PCT else Role.VALUE)
    head, words, unit = (Span(tr("stall")), stalled), Span(tr("faults "), Role.DIM), Span("/s", Role.DIM)
    whole = (*head, Span(" %  "), Span(tr("major faults "), Role.DIM), Span(per_second(faults, 7), Role.VALUE), unit)
    roomy = (*head, Span(" %  "), words, Span(per_second(faults, 7), Role.VALUE), unit)
    tight = (*head, Span(" % "), words, Span(per_second(faults, 6), Role.VALUE))
    return fitting(cells, whole, roomy, (*tight, unit), tight)


def _busiest_disk(host: HostView) -> float | None:
    disks = None if host.rates is None else host.rates.disks
    return None if disks is None else max((disk.util or 0.0 for disk in disks), default=0.0)


def _traffic(host: HostView) -> float | None:
    networks = None if host.rates is None else host.rates.networks
    return None if networks is None else sum(network.rx_kb + network.tx_kb for network in networks)


DISK = Curve("devices.disk", _busiest_disk, "busiest disk, 0 to 100 %")
NETWORK = Curve("devices.network", _traffic, "network, 0 to {top}", 10.0, ceiling_of_size, speed)


class DevicePanel(Panel):
    """Disks, networks and TCP problems: the busiest devices where there is no room for all, in the order of names."""

    KEY = "devices"
    TAB: Translatable = "disk"
    TITLE: Translatable = "disk, network"
    CURVES = (DISK, NETWORK)

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        rates = view.rates
        if rates is None or (rates.disks is None and rates.networks is None):
            return self.words(view.why_nothing("disks", "networks"), cells, rows)
        tcp = [_tcp(rates.tcp, cells)] if rates.tcp is not None and rows >= 3 else []
        room = min(12, rows) - len(tcp)
        networks = _busiest(rates.networks or (), max(1, room // 2), lambda net: net.rx_kb + net.tx_kb)
        disks = _busiest(rates.disks or (), room - len(networks), _standing)
        lines = [*(self._disk(disk, cells) for disk in disks), *(self._network(net, cells) for net in networks)]
        if rates.disks is None:
            lines += self.words(tr("disks: {why}", why=view.why_nothing("disks")), cells, 1)
        if rates.networks is None:
            lines += self.words(tr("networks: {why}", why=view.why_nothing("networks")), cells, 1)
        lines += tcp
        spare = rows - len(lines)
        for curve, share in ((DISK, spare - spare // 2), (NETWORK, spare // 2)):
            if spare >= 6 and any(view.past.curves[curve.name]):
                lines += self.past(curve, view, cells, share)
        return lines[:rows]

    def _disk(self, disk: DiskRates, cells: int) -> Line:
        head = (self._device(disk.name), *_share(disk.util, 3))
        wait = (Span(milliseconds(disk.await_ms, 6), Role.VALUE), Span(" ms ", Role.DIM))
        moved = Span(speed(disk.read_kb + disk.write_kb, 9), Role.VALUE)
        swap = (Span(f" {tr('swap')}", Role.SWAP),) if disk.swap else ()
        return fitting(cells, (*head, *wait, moved, *swap), (*head, moved, *swap), (*head, *swap))

    def _network(self, network: NetworkRates, cells: int) -> Line:
        name, share = self._device(network.name), () if network.util is None else _share(network.util, 4)
        received, sent = (Span(speed(kb, 8), Role.VALUE) for kb in (network.rx_kb, network.tx_kb))
        apart = (name, Span(tr("in "), Role.DIM), received, Span(tr(" out "), Role.DIM), sent)
        both = (name, Span(tr("in+out "), Role.DIM), Span(speed(network.rx_kb + network.tx_kb, 8), Role.VALUE))
        return fitting(cells, (*apart, *share), apart, both)

    def _device(self, name: str) -> Span:
        return Span(pad(clip(safe(name), NAME - 1, self.glyphs.ellipsis), NAME))


def _busiest(devices: Sequence[Device], room: int, use: Callable[[Device], float]) -> list[Device]:
    kept = sorted(devices, key=use, reverse=True)[: max(0, room)]
    return sorted(kept, key=lambda device: device.name)


def _standing(disk: DiskRates) -> float:
    """How busy a disk is, in steps: rows do not change places for a percent. An idle loop device goes last."""
    return (disk.util or 0.0) // BUCKET_PCT - disk.name.startswith(("loop", "ram")) / 2


def _share(util: float | None, cells: int) -> Line:
    role = Role.BAD if util is not None and util >= FULL_PCT else Role.VALUE
    return (Span(percent(util, cells), role), Span(" %", Role.DIM))


def _tcp(tcp: TcpRates, cells: int) -> Line:
    lost, role = tcp.listen_overflows, Role.BAD if tcp.listen_overflows else Role.VALUE
    words = Span(tr("overflows "), Role.DIM)
    waiting = (Span(tr("/s TIME_WAIT "), Role.DIM), Span(count(tcp.time_wait, 6), Role.VALUE))
    head = (Span("tcp".ljust(NAME)), words, Span(per_second(lost, 4), role))
    tight = (Span("tcp "), words, Span(per_second(lost, 3), role))
    return fitting(cells, (*head, *waiting), (*tight, *waiting), (*head, Span("/s", Role.DIM)))
