"""MySQL and MariaDB: sessions at work, those that wait for row locks, and connections."""

from typing import ClassVar

from loadtop.i18n import Translatable, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.mysql.record import MysqlStatus
from tui.drawing.line import Role, Span
from tui.drawing.numbers import count, per_second
from tui.panels.server import Figures, ServicePanel
from tui.state.view import Curve


class MysqlPanel(ServicePanel[MysqlStatus]):
    KIND = MYSQL
    KEY = MYSQL.name
    CURVES = (Curve("mysql.running", MYSQL.read("mysql.running"), "running sessions, 0 to {top}", 10.0),)
    RATE: ClassVar[Translatable] = "questions"

    def figures(self, rates: ServerRates[MysqlStatus]) -> Figures:
        status, waits = rates.reading, rates.reading.lock_waits
        return (
            (tr("executing"), [Span(count(status.running, 6), Role.VALUE)]),
            (tr("row lock waits"), [Span(count(waits, 6), Role.BAD if waits else Role.DIM)]),
            (tr("lock ms/s"), [Span(count(rates.per_second["lock_ms"], 6), Role.VALUE)]),
            (tr("slow/s"), [Span(per_second(rates.per_second["slow_queries"], 6), Role.DIM)]),
        )
