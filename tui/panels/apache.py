"""Apache: how many of its worker slots are taken, and by what."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.rates.records import ApacheRates
from tui.drawing.bars import gauge
from tui.drawing.graph import utilisation
from tui.drawing.line import Line, Role, Span, length, line
from tui.drawing.numbers import milliseconds, per_second
from tui.drawing.scoreboard import legend, slots
from tui.drawing.text import safe
from tui.state.view import View
from tui.widgets.panel import Panel

FULL_PCT = 95.0
"""Percent of the slots from which the pool is shown as full: the threshold of the verdict."""


class ApachePanel(Panel):
    """The scoreboard of the first status page of the chosen machine."""

    KEY = "apache"

    def title(self, view: View) -> Line:
        page = view.page
        mpm = f" {safe(page.mpm)}" if page and page.mpm else ""
        return line(Span("apache", Role.TITLE), Span(mpm))

    def tag(self, view: View) -> Line:
        page = view.page
        if page is None:
            return ()
        mean = f" {milliseconds(page.duration_ms, 5)} ms" if page.duration_ms is not None else ""
        return line(Span(f"{per_second(page.requests, 5)}/s{mean}", Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        page = view.page
        if page is None:
            return self.words(view.why_nothing("apache"), cells, rows)
        if not page.capacity:
            return self.words(tr("The status page shows no scoreboard: is it mod_status?"), cells, rows)
        lines = [self._busy(page, cells), *slots(page.scoreboard, cells, max(1, min(8, rows - 2)))]
        lines += legend(page.scoreboard, cells, max(1, min(2, rows - len(lines))))
        spare = rows - len(lines)
        if spare >= 3:
            lines.append(self.caption(tr("slots taken, 0 to {most}", most=page.capacity), cells))
            lines += self.curve(view.past.workers, cells, spare - 1, role=utilisation)
        return lines[:rows]

    def _busy(self, page: ApacheRates, cells: int) -> Line:
        """How many slots are taken, of how many, and as a gauge."""
        taken, digits = page.busy + page.graceful, len(str(page.capacity))
        role = Role.BAD if page.full >= FULL_PCT else Role.VALUE
        head = line(tr("busy "), Span(f"{taken:>{digits}d}", role), tr(" of {all}  ", all=page.capacity))
        return (*head, *gauge(page.full, cells - length(head), _bar_role(page), self.glyphs))


def _bar_role(page: ApacheRates) -> Role:
    return Role.FULL if page.full >= FULL_PCT else Role.FILLING if page.full > 60.0 else Role.FREE
