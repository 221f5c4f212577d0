"""nginx: connections that its workers hold, and those that it drops."""

from collections.abc import Sequence

from loadtop.i18n import pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.nginx.kind import NGINX, dropped
from loadtop.servers.nginx.record import NginxStatus
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, length, line, width
from tui.drawing.numbers import count, per_second
from tui.panels.server import ServerPanel, fullness, is_full
from tui.state.view import Curve, View


class NginxPanel(ServerPanel[NginxStatus]):
    KIND = NGINX
    KEY = NGINX.name
    CURVES = (Curve("nginx.active", NGINX.read("nginx.active"), "connections, 0 to {top}", 10.0),)

    def records(self, view: View) -> Sequence[ServerRates[NginxStatus]]:
        return sorted(NGINX.rates(view.rates), key=lambda each: (-(dropped(each) or 0.0), -(each.reading.full or 0.0)))

    def tag(self, view: View) -> Line:
        rates = [each.per_second["requests"] for each in self.records(view)[:1]]
        return line(*(Span(f"{per_second(rate, 5)}/s", Role.DIM) for rate in rates if rate is not None))

    def table(self, view: View, records: Sequence[ServerRates[NginxStatus]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        status, lost = records[0].reading, dropped(records[0])
        role = Role.BAD if lost or is_full(status.full) else Role.VALUE
        head = line(tr("used "), Span(count(status.used), role), tr(" of {all}  ", all=count(status.capacity)))
        figures = (
            (tr("writing"), count(status.writing, 6), Role.VALUE),
            (tr("keep-alive"), count(status.waiting, 6), Role.DIM),
            (tr("dropped/s"), per_second(lost, 6), Role.BAD if lost else Role.DIM),
            (tr("reading"), count(status.reading, 6), Role.VALUE),
        )
        name = max(width(text) for text, _, _ in figures) + 1
        lines = [(*head, *gauge(status.full, cells - length(head), fullness(status.full), self.glyphs))]
        return [*lines, *(line(pad(text, name), Span(value, look)) for text, value, look in figures)][:rows]
