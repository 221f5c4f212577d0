"""Redis: how busy its thread is, and its clients."""

from typing import ClassVar

from loadtop.i18n import Translatable, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.redis.record import RedisStatus
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count, per_second, percent
from tui.panels.server import Figures, ServicePanel, is_full
from tui.state.view import Curve


class RedisPanel(ServicePanel[RedisStatus]):
    KIND = REDIS
    KEY = REDIS.name
    CURVES = (Curve("redis.cpu_pct", REDIS.read("redis.cpu_pct"), "thread's CPU, 0 to {top} %", 100.0),)
    RATE: ClassVar[Translatable] = "commands"

    @staticmethod
    def rank(rates: ServerRates[RedisStatus]) -> tuple[float, float]:
        """The fullest first, then the busiest."""
        return -(rates.reading.full or 0.0), -(rates.per_second["cpu"] or 0.0)

    def gauge(self, rates: ServerRates[RedisStatus]) -> tuple[Line, float | None]:
        busy = rates.per_second["cpu"]
        return line(tr("thread "), Span(f"{percent(busy)} %", Role.BAD if is_full(busy) else Role.VALUE), " "), busy

    def figures(self, rates: ServerRates[RedisStatus]) -> Figures:
        status, refused = rates.reading, rates.per_second["rejected"]
        clients = Span(count(status.clients, 6), Role.BAD if refused or is_full(status.full) else Role.VALUE)
        return (
            (tr("clients"), [clients, Span(tr(" of {number}", number=count(status.max_clients)), Role.DIM)]),
            (tr("blocked clients"), [Span(count(status.blocked, 6), Role.VALUE)]),
            (tr("slow log"), [Span(count(status.slowlog, 6), Role.DIM)]),
            (tr("refused/s"), [Span(per_second(refused, 6), Role.BAD if refused else Role.DIM)]),
        )
