"""The busiest processes of the chosen machine."""

from collections.abc import Sequence

from loadtop.model import Group
from loadtop.rate_model import ProcessRates
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import percent, size
from tui.text import safe
from tui.view import View
from tui.widgets.panel import Panel

BUCKET_PCT = 5.0
"""Processes are ordered by their share of a core in steps of this size: rows do not change places for nothing."""

_STATES = {"R": Role.GOOD, "D": Role.BAD, "Z": Role.WARN}


class ProcessPanel(Panel):
    """One row per process."""

    KEY = "processes"

    def title(self, view: View) -> Line:  # noqa: ARG002 (the same whatever is shown)
        return line(Span("processes", Role.TITLE))

    def tag(self, view: View) -> Line:
        group = None if view.rates is None else view.rates.group(Group.HTTPD)
        if group is None:
            return ()
        return line(Span(f"{group.processes} httpd {percent(group.cpu)} % cpu", Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        known = None if view.rates is None else view.rates.processes
        if known is None:
            return self.words(view.why_nothing("processes"), cells, rows)
        head = line(Span("    pid s cpu%    rss    pss name", Role.DIM))
        return [head, *(row(process) for process in ordered(known)[: rows - 1])]


def ordered(processes: Sequence[ProcessRates]) -> list[ProcessRates]:
    """Busiest first, in coarse steps; then the servers before the rest, then by pid."""
    groups = list(Group)
    return sorted(
        processes,
        key=lambda p: (-int((p.cpu or 0.0) / BUCKET_PCT), groups.index(p.process.group), p.process.pid),
    )


def row(rates: ProcessRates) -> Line:
    """One process."""
    process = rates.process
    return line(
        Span(f"{process.pid:7d} ", Role.DIM),
        Span(safe(process.state)[:1] or "?", _STATES.get(process.state, Role.DIM)),
        Span(percent(rates.cpu, 5), Role.VALUE),
        Span(size(process.rss_kb, 7)),
        Span(size(process.pss_kb, 7), Role.DIM),
        Span(f" {safe(process.name)}"),
    )
