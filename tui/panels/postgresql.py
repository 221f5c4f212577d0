"""PostgreSQL: sessions by what they do and wait for, and connections."""

from collections.abc import Sequence

from loadtop.i18n import pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.postgresql.record import PostgresqlStatus
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, length, line, width
from tui.drawing.numbers import count, per_second
from tui.panels.server import ServerPanel, blocking, fullness, is_full
from tui.state.view import Curve, View


class PostgresqlPanel(ServerPanel[PostgresqlStatus]):
    KIND = POSTGRESQL
    KEY = POSTGRESQL.name
    CURVES = (Curve("postgresql.active", POSTGRESQL.read("postgresql.active"), "active sessions, 0 to {top}", 10.0),)

    def records(self, view: View) -> Sequence[ServerRates[PostgresqlStatus]]:
        """Those with waits for locks first, then the fullest."""
        return sorted(
            POSTGRESQL.rates(view.rates),
            key=lambda each: (-(each.reading.lock_waits or 0), -(each.reading.full or 0.0)),
        )

    def tag(self, view: View) -> Line:
        rates = [each.per_second["transactions"] for each in self.records(view)[:1]]
        return line(*(Span(f"{per_second(rate, 5)}/s", Role.DIM) for rate in rates if rate is not None))

    def table(
        self,
        view: View,  # noqa: ARG002
        records: Sequence[ServerRates[PostgresqlStatus]],
        cells: int,
        rows: int,
    ) -> list[Line]:
        status = records[0].reading
        if status.refuses:
            lost = tr("{address} refuses connections: max_connections is reached", address=status.address)
            return self.words(lost, cells, rows, Role.BAD)
        head = line(
            tr("connected "),
            Span(count(status.connected), Role.BAD if is_full(status.full) else Role.VALUE),
            tr(" of {all}  ", all=count(status.usable)),
        )
        figures = (
            (tr("executing"), status.active, Role.VALUE),
            (tr("lock waits"), status.lock_waits, Role.BAD if status.lock_waits else Role.DIM),
            (tr("blockers"), status.blockers, Role.DIM),
            (tr("idle in transaction"), status.idle_in_transaction, Role.VALUE),
            (tr("waits for files"), status.io_waits, Role.DIM),
        )
        name = min(max(width(text) for text, _, _ in figures) + 1, cells - 6)  # a long label loses its own figure
        lines = [(*head, *gauge(status.full, cells - length(head), fullness(status.full), self.glyphs))]
        shown = [*lines, *(line(pad(text, name), Span(count(value, 6), role)) for text, value, role in figures)]
        return [*shown[:3], *blocking(status.blocker), *shown[3:]][:rows]
