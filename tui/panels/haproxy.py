"""HAProxy: requests that wait for a server, and sessions, of each frontend, backend and server."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.model import Group, HaproxyProxy
from loadtop.rates.measured import HostView
from loadtop.rates.records import HaproxyRates
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count, per_second
from tui.drawing.text import clip_middle, safe, width
from tui.panels.server import FULL_PCT, ServerPanel
from tui.state.view import View

_MIN_NAME, _MAX_NAME = 10, 30
_FIGURES = 6 + 6 + 6 + 7
_ENDS = ("BACKEND", "FRONTEND")
_DOWN = ("DOWN", "MAINT")


def _queued(host: HostView) -> float | None:
    """The requests in the queues of all backends."""
    lines = (None if host.rates is None else host.rates.haproxy) or ()
    queues = [each.line.queue or 0 for each in lines if each.line.server == "BACKEND"]
    return float(sum(queues)) if queues else None


class HaproxyPanel(ServerPanel[HaproxyRates]):
    """A row per line of the statistics of the chosen machine; those with a queue first."""

    KEY = "haproxy"
    GROUP = Group.HAPROXY
    CURVES = (("queued", _queued),)

    def records(self, view: View) -> Sequence[HaproxyRates]:
        """Those with a queue first; then backends, full servers, frontends, servers, and what nobody uses."""
        found = () if view.rates is None else view.rates.haproxy or ()
        return sorted(found, key=lambda each: (-(each.line.queue or 0), _rank(each.line)))

    def title(self, view: View) -> Line:  # noqa: ARG002 (the same whatever is shown)
        return line(Span("haproxy", Role.TITLE))

    def tag(self, view: View) -> Line:
        known = [found.line.queue or 0 for found in self.records(view) if found.line.server == "BACKEND"]
        return (
            line(Span(tr("queue {number}", number=sum(known)), Role.BAD if sum(known) else Role.DIM)) if known else ()
        )

    def table(self, records: Sequence[HaproxyRates], view: View, cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        name = max(_MIN_NAME, min(_MAX_NAME, cells - _FIGURES))
        lines = [line(Span(f"{'':<{name}} queue  sess    of     /s"[:cells], Role.DIM))]
        return lines + [self._row(each, name) for each in records[: max(1, rows - 1)]]

    def graph(self, records: Sequence[HaproxyRates], view: View, cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        queued = self.ring(view, "queued")
        if not any(queued.values):
            return []
        top = self.top(queued, cells, 10.0)
        return self.captioned(tr("queue, 0 to {top}", top=f"{top:.0f}"), queued, cells, rows, top)

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


def _rank(entry: HaproxyProxy) -> int:
    if entry.server == "BACKEND":
        return 0
    if entry.server == "FRONTEND":
        return 2 if entry.sessions else 4
    return 1 if _full(entry) else 3


def _full(entry: HaproxyProxy) -> bool:
    return entry.session_limit is not None and entry.sessions * 100.0 >= FULL_PCT * entry.session_limit > 0
