"""PostgreSQL: sessions by what they do and wait for, and connections."""

from loadtop.i18n import tr
from loadtop.rates.records import ServerRates
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.postgresql.record import PostgresqlStatus
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count
from tui.panels.server import Figures, ServicePanel, is_full
from tui.state.view import Curve


class PostgresqlPanel(ServicePanel[PostgresqlStatus]):
    KIND = POSTGRESQL
    KEY = POSTGRESQL.name
    CURVES = (Curve("postgresql.active", POSTGRESQL.read("postgresql.active"), "active sessions, 0 to {top}", 10.0),)
    RATE = "transactions"

    @staticmethod
    def rank(rates: ServerRates[PostgresqlStatus]) -> tuple[float, float]:
        """Those with waits for locks first, then the fullest."""
        return -(rates.reading.lock_waits or 0), -(rates.reading.full or 0.0)

    def gauge(self, rates: ServerRates[PostgresqlStatus]) -> tuple[Line, float | None]:
        status = rates.reading
        connected = Span(count(status.connected), Role.BAD if is_full(status.full) else Role.VALUE)
        return line(tr("connected "), connected, tr(" of {all}  ", all=count(status.usable))), status.full

    def figures(self, rates: ServerRates[PostgresqlStatus]) -> Figures:
        status = rates.reading
        figures = (
            (tr("executing"), status.active, Role.VALUE),
            (tr("lock waits"), status.lock_waits, Role.BAD if status.lock_waits else Role.DIM),
            (tr("blockers"), status.blockers, Role.DIM),
            (tr("idle in transaction"), status.idle_in_transaction, Role.VALUE),
            (tr("waits for files"), status.io_waits, Role.DIM),
        )
        return [(text, [Span(count(value, 6), role)]) for text, value, role in figures]
