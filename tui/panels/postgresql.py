"""PostgreSQL: sessions by what they do and wait for, and connections."""

from typing import ClassVar

from loadtop.i18n import Translatable, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.postgresql.record import PostgresqlStatus
from tui.drawing.line import Role, Span, safe
from tui.drawing.numbers import count
from tui.panels.server import Figures, ServicePanel
from tui.state.view import Curve


class PostgresqlPanel(ServicePanel[PostgresqlStatus]):
    KIND = POSTGRESQL
    KEY = POSTGRESQL.name
    CURVES = (Curve("postgresql.active", POSTGRESQL.read("postgresql.active"), "active sessions, 0 to {top}", 10.0),)
    RATE: ClassVar[Translatable] = "transactions"

    def figures(self, rates: ServerRates[PostgresqlStatus]) -> Figures:
        status = rates.reading
        figures = (
            (tr("executing"), status.active, Role.VALUE),
            (tr("lock waits"), status.lock_waits, Role.BAD if status.lock_waits else Role.DIM),
            (tr("blockers"), status.blockers, Role.DIM),
            (tr("idle in transaction"), status.idle_in_transaction, Role.VALUE),
            (tr("waits for files"), status.io_waits, Role.DIM),
            *([(safe(status.wait_event), status.wait_event_sessions, Role.DIM)] if status.wait_event else []),
        )
        return [(text, [Span(count(value, 6), role)]) for text, value, role in figures]
