"""nginx: connections that its workers hold, and those that it drops."""

from typing import ClassVar

from loadtop.i18n import Translatable, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.nginx.kind import NGINX, dropped
from loadtop.servers.nginx.record import NginxStatus
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count, per_second
from tui.panels.server import Figures, GaugePanel, is_full
from tui.state.view import Curve


class NginxPanel(GaugePanel[NginxStatus]):
    KIND = NGINX
    KEY = NGINX.name
    CURVES = (Curve("nginx.active", NGINX.read("nginx.active"), "connections, 0 to {top}", 10.0),)
    RATE: ClassVar[Translatable] = "requests"

    @staticmethod
    def rank(rates: ServerRates[NginxStatus]) -> tuple[float, float]:
        """Those that drop connections first, then the fullest."""
        return -(dropped(rates) or 0.0), -(rates.reading.full or 0.0)

    def gauge(self, rates: ServerRates[NginxStatus]) -> tuple[Line, float | None]:
        status = rates.reading
        role = Role.BAD if dropped(rates) or is_full(status.full) else Role.VALUE
        head = line(tr("connections "), Span(count(status.used), role), tr(" of {all}  ", all=count(status.capacity)))
        return head, status.full

    def figures(self, rates: ServerRates[NginxStatus]) -> Figures:
        status, lost = rates.reading, dropped(rates)
        return (
            (tr("writing"), [Span(count(status.writing, 6), Role.VALUE)]),
            (tr("keep-alive"), [Span(count(status.waiting, 6), Role.DIM)]),
            (tr("dropped/s"), [Span(per_second(lost, 6), Role.BAD if lost else Role.DIM)]),
            (tr("reading"), [Span(count(status.reading, 6), Role.VALUE)]),
        )
