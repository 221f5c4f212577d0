"""HAProxy: requests that wait for a server, and sessions, of each frontend, backend and server."""

from collections.abc import Mapping, Sequence

from loadtop.i18n import pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.haproxy.record import HaproxyProxy
from tui.drawing.line import Line, Role, Span, clip_middle, line, safe
from tui.drawing.numbers import count, per_second
from tui.panels.server import ServerPanel, is_full
from tui.state.view import Curve, View

_MIN_NAME, _MAX_NAME = 10, 30
_COLUMNS = (("queue", 6, 0), ("sess", 6, 29), ("of", 6, 35), ("/s", 7, 0))
"""Heading and width of each column, and the cells from which the table has it."""


class HaproxyPanel(ServerPanel[HaproxyProxy]):
    KIND = HAPROXY
    KEY = HAPROXY.name
    CURVES = (Curve("haproxy.queued", HAPROXY.read("haproxy.queue"), "queue, 0 to {top}", 10.0),)

    def records(self, view: View) -> Sequence[ServerRates[HaproxyProxy]]:
        """Those with a queue first; then backends, full servers, frontends, servers, and unused frontends."""
        return sorted(HAPROXY.rates(view.rates), key=lambda each: (-(each.reading.queue or 0), _rank(each.reading)))

    def tag(self, view: View) -> Line:
        known = [each.reading.queue or 0 for each in self.records(view) if each.reading.is_backend]
        role = Role.BAD if any(known) else Role.DIM
        return line(Span(tr("queue {number}", number=sum(known)), role)) if known else ()

    def table(self, view: View, records: Sequence[ServerRates[HaproxyProxy]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        columns = {heading: size for heading, size, least in _COLUMNS if cells >= least}
        name = max(_MIN_NAME, min(_MAX_NAME, cells - sum(columns.values())))
        head = "".join(heading.rjust(size) for heading, size in columns.items())
        lines = [line(" " * name, Span(head, Role.DIM))]
        return lines + [self._row(each, name, columns) for each in records[: max(1, rows - 1)]]

    def _row(self, rates: ServerRates[HaproxyProxy], room: int, columns: Mapping[str, int]) -> Line:
        entry = rates.reading
        server = safe(entry.server) if entry.is_server else entry.server.lower()
        name = clip_middle(f"{safe(entry.proxy)}/{server}", room, self.glyphs.ellipsis)
        down, full = not entry.is_up, is_full(entry.full)
        requests = rates.per_second["requests_total"]
        rate = rates.per_second["sessions_total"] if requests is None else requests
        figures = {
            "queue": Span(count(entry.queue), Role.BAD if entry.queue else Role.VALUE),
            "sess": Span(count(entry.sessions), Role.BAD if full else Role.VALUE),
            "of": Span(count(entry.session_limit), Role.DIM),
            "/s": Span("down" if down else per_second(rate), Role.BAD if down else Role.VALUE),
        }
        shown = (Span(figures[heading].text.rjust(size), figures[heading].role) for heading, size in columns.items())
        return line(Span(pad(name, room), Role.BAD if down else Role.TEXT), *shown)


def _rank(entry: HaproxyProxy) -> int:
    if entry.is_backend:
        return 0
    if entry.is_frontend:
        return 2 if entry.sessions else 4
    return 1 if is_full(entry.full) else 3
