"""Redis: how busy its thread is, and its clients."""

from collections.abc import Sequence

from loadtop.i18n import pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.redis.record import RedisStatus
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, length, line, width
from tui.drawing.numbers import count, per_second, percent
from tui.panels.server import ServerPanel, fullness, is_full
from tui.state.view import Curve, View


class RedisPanel(ServerPanel[RedisStatus]):
    KIND = REDIS
    KEY = REDIS.name
    CURVES = (Curve("redis.cpu_pct", REDIS.read("redis.cpu_pct"), "CPU of its thread, 0 to {top} %", 100.0),)

    def records(self, view: View) -> Sequence[ServerRates[RedisStatus]]:
        """The busiest first."""
        return sorted(
            REDIS.rates(view.rates), key=lambda each: (-(each.reading.full or 0.0), -(each.per_second["cpu"] or 0.0))
        )

    def tag(self, view: View) -> Line:
        rates = [each.per_second["commands"] for each in self.records(view)[:1]]
        return line(*(Span(f"{per_second(rate, 5)}/s", Role.DIM) for rate in rates if rate is not None))

    def table(self, view: View, records: Sequence[ServerRates[RedisStatus]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        status, busy, refused = records[0].reading, records[0].per_second["cpu"], records[0].per_second["rejected"]
        if status.refuses:
            lost = tr("{address} refuses connections: maxclients is reached", address=status.address)
            return self.words(lost, cells, rows, Role.BAD)
        head = line(tr("thread "), Span(f"{percent(busy)} %", Role.BAD if is_full(busy) else Role.VALUE), " ")
        clients = Span(count(status.clients, 6), Role.BAD if refused or is_full(status.full) else Role.VALUE)
        limit = Span(tr(" of {number}", number=count(status.max_clients)), Role.DIM)
        figures = (
            (tr("clients"), (clients, limit)),
            (tr("blocked clients"), (Span(count(status.blocked, 6), Role.VALUE),)),
            (tr("slow log"), (Span(count(status.slowlog, 6), Role.DIM),)),
            (tr("refused/s"), (Span(per_second(refused, 6), Role.BAD if refused else Role.DIM),)),
        )
        name = max(width(text) for text, _ in figures) + 1
        share = None if busy is None else min(100.0, busy)
        lines = [(*head, *gauge(share, cells - length(head), fullness(busy), self.glyphs))]
        return [*lines, *(line(pad(text, name), *spans) for text, spans in figures)][:rows]
