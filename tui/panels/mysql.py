"""MySQL and MariaDB: sessions at work, those that wait for row locks, and connections."""

from collections.abc import Sequence

from loadtop.i18n import pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.mysql.record import MysqlStatus
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, length, line, width
from tui.drawing.numbers import count, per_second
from tui.panels.server import ServerPanel, blocking, fullness, is_full
from tui.state.view import Curve, View


class MysqlPanel(ServerPanel[MysqlStatus]):
    KIND = MYSQL
    KEY = MYSQL.name
    CURVES = (Curve("mysql.running", MYSQL.read("mysql.running"), "running sessions, 0 to {top}", 10.0),)

    def records(self, view: View) -> Sequence[ServerRates[MysqlStatus]]:
        """Those with waits for locks first, then the fullest."""
        return sorted(
            MYSQL.rates(view.rates), key=lambda each: (-(each.reading.lock_waits or 0), -(each.reading.full or 0.0))
        )

    def tag(self, view: View) -> Line:
        rates = [each.per_second["questions"] for each in self.records(view)[:1]]
        return line(*(Span(f"{per_second(rate, 5)}/s", Role.DIM) for rate in rates if rate is not None))

    def table(self, view: View, records: Sequence[ServerRates[MysqlStatus]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        status, rates = records[0].reading, records[0].per_second
        if status.refuses:
            lost = tr("{address} refuses connections: max_connections is reached", address=status.address)
            return self.words(lost, cells, rows, Role.BAD)
        taken = Role.BAD if rates["refused"] or is_full(status.full) else Role.VALUE
        limit = tr(" of {all}  ", all=count(status.max_connections))
        head = line(tr("connected "), Span(count(status.connected), taken), limit)
        figures = (
            (tr("executing"), count(status.running, 6), Role.VALUE),
            (tr("row lock waits"), count(status.lock_waits, 6), Role.BAD if status.lock_waits else Role.DIM),
            (tr("lock ms/s"), count(rates["lock_ms"], 6), Role.VALUE),
            (tr("slow/s"), per_second(rates["slow_queries"], 6), Role.DIM),
        )
        name = max(width(text) for text, _, _ in figures) + 1
        lines = [(*head, *gauge(status.full, cells - length(head), fullness(status.full), self.glyphs))]
        shown = [*lines, *(line(pad(text, name), Span(value, role)) for text, value, role in figures)]
        return [*shown[:3], *blocking(status.blocker), *shown[3:]][:rows]
