"""Disks, networks and TCP problems."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from loadtop.i18n import Translatable, pad, tr
from loadtop.rates.measured import HostView
from loadtop.rates.records import DiskRates, NetworkRates, TcpRates
from tui.drawing.graph import ceiling_of_size
from tui.drawing.line import Line, Role, Span, clip, line, safe
from tui.drawing.numbers import count, milliseconds, per_second, percent, speed
from tui.state.view import View
from tui.widgets.panel import Curve, Panel

FULL_PCT = 80.0  # percent in use from which a disk or a line is shown as nearly full
BUCKET_PCT = 5.0  # disks are ordered by their use in steps of this many percent
NAME = 8  # cells of a device's name

Device = TypeVar("Device", DiskRates, NetworkRates)


def _busiest_disk(host: HostView) -> float | None:
    disks = None if host.rates is None else host.rates.disks
    return None if disks is None else max((disk.util or 0.0 for disk in disks), default=0.0)


def _traffic(host: HostView) -> float | None:
    networks = None if host.rates is None else host.rates.networks
    return None if networks is None else sum(network.rx_kb + network.tx_kb for network in networks)


DISK = Curve("devices.disk", _busiest_disk, "busiest disk, 0 to 100 %")
NETWORK = Curve("devices.network", _traffic, "network, 0 to {top}", 10.0, ceiling_of_size, speed)


class DevicePanel(Panel):
    """The busiest devices where there is no room for all, in the order of their names."""

    KEY = "devices"
    TAB: Translatable = "disk"
    TITLE: Translatable = "disk, network"
    CURVES = (DISK, NETWORK)

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        rates = view.rates
        if rates is None or (rates.disks is None and rates.networks is None):
            return self.words(view.why_nothing("disks", "networks"), cells, rows)
        tcp = [_tcp(rates.tcp)] if rates.tcp is not None and rows >= 3 else []
        room = min(12, rows) - len(tcp)
        networks = _busiest(rates.networks or (), max(1, room // 2), lambda net: net.rx_kb + net.tx_kb)
        disks = _busiest(rates.disks or (), room - len(networks), _standing)
        lines = [_disk(disk) for disk in disks] + [_network(net, cells) for net in networks]
        if rates.disks is None:
            lines += self.words(tr("disks: {why}", why=view.why_nothing("disks")), cells, 1)
        if rates.networks is None:
            lines += self.words(tr("networks: {why}", why=view.why_nothing("networks")), cells, 1)
        lines += tcp
        return [*lines, *self._graphs(view, cells, rows - len(lines))][:rows]

    def _graphs(self, view: View, cells: int, rows: int) -> list[Line]:
        if rows < 6:
            return []
        rooms = ((DISK, rows - rows // 2), (NETWORK, rows // 2))
        return [
            each for curve, room in rooms if any(self.ring(view, curve)) for each in self.past(curve, view, cells, room)
        ]


def _busiest(devices: Sequence[Device], room: int, use: Callable[[Device], float]) -> list[Device]:
    kept = sorted(devices, key=use, reverse=True)[: max(0, room)]
    return sorted(kept, key=lambda device: device.name)


def _standing(disk: DiskRates) -> float:
    """How busy a disk is, in steps: rows do not change places for a percent. An idle loop device goes last."""
    return (disk.util or 0.0) // BUCKET_PCT - disk.name.startswith(("loop", "ram")) / 2


def _disk(disk: DiskRates) -> Line:
    role = Role.BAD if disk.util is not None and disk.util >= FULL_PCT else Role.VALUE
    return line(
        pad(clip(safe(disk.name), NAME), NAME),
        Span(percent(disk.util), role),
        Span(" %", Role.DIM),
        Span(milliseconds(disk.await_ms, 6), Role.VALUE),
        Span(" ms ", Role.DIM),
        Span(speed(disk.read_kb + disk.write_kb, 9), Role.VALUE),
        Span(f" {tr('swap')}" if disk.swap else "", Role.SWAP),
    )


def _network(network: NetworkRates, cells: int) -> Line:
    spans = [
        Span(pad(clip(safe(network.name), NAME), NAME)),
        Span(tr("in "), Role.DIM),
        Span(speed(network.rx_kb, 8), Role.VALUE),
        Span(tr(" out "), Role.DIM),
        Span(speed(network.tx_kb, 8), Role.VALUE),
    ]
    if network.util is not None and cells >= 38:
        role = Role.BAD if network.util >= FULL_PCT else Role.VALUE
        spans += [Span(percent(network.util, 4), role), Span(" %", Role.DIM)]
    return tuple(spans)


def _tcp(tcp: TcpRates) -> Line:
    overflows = tcp.listen_overflows
    return line(
        Span("tcp".ljust(NAME)),
        Span(tr("overflows "), Role.DIM),
        Span(per_second(overflows, 4), Role.BAD if overflows else Role.VALUE),
        Span(tr("/s wait "), Role.DIM),
        Span(count(tcp.time_wait, 6), Role.VALUE),
    )
