"""HAProxy: requests that wait for a server, and sessions, of each frontend, backend and server."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.model import Group, HaproxyProxy
from loadtop.rates.records import HaproxyRates
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count, per_second
from tui.drawing.text import clip_middle, safe, width
from tui.panels.wanted import has_server
from tui.state.view import View
from tui.widgets.panel import Panel

FULL_PCT = 95.0
"""Percent of its sessions from which a line is shown as full."""

_LEAST, _MOST = 10, 30
_FIGURES = 6 + 6 + 6 + 7
_ENDS = ("BACKEND", "FRONTEND")
_DOWN = ("DOWN", "MAINT")


class HaproxyPanel(Panel):
    """A row per line of the statistics of the chosen machine; those that wait first."""

    KEY = "haproxy"
    TAB = "haproxy"

    def wanted(self, view: View) -> bool:
        rates = view.past.rates
        return has_server(view, "haproxy", Group.HAPROXY) or bool(rates and rates.haproxy)

    def title(self, view: View) -> Line:  # noqa: ARG002 (the same whatever is shown)
        return line(Span("haproxy", Role.TITLE))

    def tag(self, view: View) -> Line:
        known = [found.line.queue or 0 for found in _lines(view) if found.line.server == "BACKEND"]
        return (
            line(Span(tr("queue {number}", number=sum(known)), Role.BAD if sum(known) else Role.DIM)) if known else ()
        )

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        found = _lines(view)
        if not found:
            return self.words(view.why_nothing("haproxy"), cells, rows)
        name = max(_LEAST, min(_MOST, cells - _FIGURES))
        lines = [line(Span(f"{'':<{name}} queue  sess    of     /s"[:cells], Role.DIM))]
        lines += [self._row(each, name) for each in found[: max(1, rows - 1)]]
        spare = rows - len(lines)
        if spare >= 3 and any(view.past.queued.values):
            top = self.top(view.past.queued, cells, 10.0)
            lines.append(self.caption(tr("queue, 0 to {top}", top=f"{top:.0f}"), cells))
            lines += self.curve(view.past.queued, cells, spare - 1, top)
        return lines[:rows]

    def _row(self, rates: HaproxyRates, room: int) -> Line:
        entry = rates.line
        server = entry.server.lower() if entry.server in _ENDS else safe(entry.server)
        name = clip_middle(f"{safe(entry.proxy)}/{server}", room, self.glyphs.ellipsis)
        down = entry.status.startswith(_DOWN)
        full = _full(entry)
        rate = rates.sessions if rates.requests is None else rates.requests
        return line(
            Span(name + " " * (room - width(name)), Role.BAD if down else Role.TEXT),
            Span(count(entry.queue, 6), Role.BAD if entry.queue else Role.VALUE),
            Span(count(entry.sessions, 6), Role.BAD if full else Role.VALUE),
            Span(count(entry.session_limit, 6), Role.DIM),
            Span("   down" if down else per_second(rate, 7), Role.BAD if down else Role.VALUE),
        )


def _lines(view: View) -> list[HaproxyRates]:
    """Those with a queue first; then backends, full servers, frontends, servers, and what nobody uses."""
    found = () if view.rates is None else view.rates.haproxy or ()
    return sorted(found, key=lambda each: (-(each.line.queue or 0), _rank(each.line)))


def _rank(entry: HaproxyProxy) -> int:
    if entry.server == "BACKEND":
        return 0
    if entry.server == "FRONTEND":
        return 2 if entry.sessions else 4
    return 1 if _full(entry) else 3


def _full(entry: HaproxyProxy) -> bool:
    return entry.session_limit is not None and entry.sessions * 100.0 >= FULL_PCT * entry.session_limit > 0
