"""Memory and swap: what is available, swap traffic, and stalls."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.model.machine import Memory
from loadtop.rates.measured import HostView
from tui.drawing.graph import ceiling_of_size, gauge, utilisation
from tui.drawing.line import Line, Role, Span, fit, line
from tui.drawing.numbers import per_second, percent, size, speed
from tui.state.view import View
from tui.widgets.panel import Curve, Panel

TRAFFIC_KB_S = 40.0  # kB/s of swap traffic from which it is shown as bad: the threshold of the verdict

STALL_PCT = 10.0  # percent of time stalled for memory from which it is shown as bad: the threshold of the verdict

SCARCE_PCT = 10.0  # percent of the memory that is available, below which it is shown as scarce; our own
LEFT = 19  # cells of the available memory, before its gauge


def _used(host: HostView) -> float | None:
    memory = None if host.sample is None or host.stale_s else host.sample.memory
    if memory is None or memory.available_kb is None or not memory.total_kb:
        return None
    return 100.0 * (memory.total_kb - memory.available_kb) / memory.total_kb


def _swap_traffic(host: HostView) -> float | None:
    """Swapping in both directions, in kB/s."""
    paging = None if host.rates is None else host.rates.paging
    if paging is None or paging.swap_in_kb is None or paging.swap_out_kb is None:
        return None
    return paging.swap_in_kb + paging.swap_out_kb


USED = Curve("memory.used", _used, "memory in use, 0 to 100 %")
MOVED = Curve(
    "memory.moved", _swap_traffic, "swap traffic, 0 to {top}", 100.0, ceiling_of_size, speed, lambda _: Role.SWAP
)


class MemoryPanel(Panel):
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
        known = memory.available_kb
        free = None if known is None else 100.0 * known / memory.total_kb
        scarce = free is not None and free < SCARCE_PCT
        head = fit(line(tr("available "), Span(size(known, 7), Role.BAD if scarce else Role.VALUE)), LEFT)
        used = None if free is None else 100.0 - free
        role = Role.EMPTY if used is None else utilisation(used / 100.0)
        return (*head, *gauge(used, cells - LEFT, role, self.glyphs))

    def _graphs(self, view: View, cells: int, rows: int) -> list[Line]:
        if rows < 2:
            return []
        used, moved = any(self.ring(view, USED)), any(self.ring(view, MOVED))
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
    used = (Span(tr("swap ")), Span(percent(share), Role.VALUE), Span(" %"))
    spans: list[Span] = []
    rates = (None, None) if paging is None else (paging.swap_in_kb, paging.swap_out_kb)
    for name, rate in zip((tr(" in "), tr(" out ")), rates, strict=True):
        role = Role.BAD if rate is not None and rate >= TRAFFIC_KB_S else Role.VALUE
        spans += [Span(name, Role.DIM), Span(speed(rate, 8), role)]
    return [(*used, *spans)] if cells >= 35 else [used, tuple(spans)]


def _stall(view: View, cells: int) -> Line:
    pressure = None if view.rates is None else view.rates.pressure
    paging = None if view.rates is None else view.rates.paging
    stall = None if pressure is None else pressure.memory_some
    faults = None if paging is None else paging.major_faults
    return line(
        tr("stall"),
        Span(percent(stall, 4), Role.BAD if stall is not None and stall >= STALL_PCT else Role.VALUE),
        " %  " if cells >= 29 else " % ",
        Span(tr("faults "), Role.DIM),
        Span(per_second(faults, 7 if cells >= 29 else 6), Role.VALUE),
        Span("/s", Role.DIM),
    )
