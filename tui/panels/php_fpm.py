"""php-fpm: how many children of each pool serve a request, and how many requests wait for one."""

from collections.abc import Sequence

from loadtop.i18n import Translatable, duration, pad, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, clip, line, safe
from tui.drawing.numbers import count, per_second
from tui.panels.server import ServerPanel, fullest, fullness, is_full
from tui.state.view import Curve, View

_FIGURES = 5 + 5 + 6
_GAUGE = 8
_MIN_NAME, _MAX_NAME = 8, 20


class FpmPanel(ServerPanel[FpmPool]):
    """A row per pool of the chosen machine, those with a queue first, then the fullest."""

    KIND = PHP_FPM
    KEY = PHP_FPM.name
    TAB: Translatable = "php-fpm"
    CURVES = (Curve("fpm.full", fullest(PHP_FPM), "busy children, 0 to 100 %"),)

    def records(self, view: View) -> Sequence[ServerRates[FpmPool]]:
        return sorted(
            PHP_FPM.rates(view.rates),
            key=lambda pool: (-(pool.reading.listen_queue or 0), -(pool.reading.full or 0.0), pool.reading.pool),
        )

    def title(self, view: View) -> Line:
        pools = self.records(view)
        manager = f" {safe(pools[0].reading.manager)}" if len(pools) == 1 and pools[0].reading.manager else ""
        several = tr(" {number} pools", number=len(pools)) if len(pools) > 1 else manager
        return line(Span("php-fpm", Role.TITLE), several)

    def tag(self, view: View) -> Line:
        known = [rate for pool in self.records(view) if (rate := pool.per_second["accepted"]) is not None]
        return line(Span(f"{per_second(sum(known), 5)}/s", Role.DIM)) if known else ()

    def table(self, view: View, records: Sequence[ServerRates[FpmPool]], cells: int, rows: int) -> list[Line]:
        room = cells - _FIGURES - _GAUGE
        name = min(_MAX_NAME, room) if room >= _MIN_NAME else max(_MIN_NAME, cells - _FIGURES)
        lines = [line(Span(clip(f"{'pool':<{name}} busy   of queue", cells, ""), Role.DIM))]
        lines += [self._row(pool, name, cells) for pool in records[: max(1, rows - 1)]]
        if all(pool.reading.active is None for pool in records):
            silent_s = max((pool.reading.silent_s or 0.0 for pool in records), default=0.0)
            why = tr("No status page for {time}. All children may be busy.", time=duration(silent_s))
            why = why if silent_s >= 1 else view.why_nothing(self.KEY)
            lines += self.words(why, cells, max(0, min(3, rows - len(lines))))
        return lines

    def _row(self, rates: ServerRates[FpmPool], room: int, cells: int) -> Line:
        pool, full = rates.reading, rates.reading.full
        name = clip(safe(pool.pool), room, self.glyphs.ellipsis)
        spans = [
            Span(pad(name, room)),
            Span(count(pool.active, 5), Role.BAD if is_full(full) else Role.VALUE),
            Span(count(pool.max_children, 5)),
            Span(count(pool.listen_queue, 6), Role.BAD if pool.listen_queue else Role.VALUE),
        ]
        spare = cells - room - _FIGURES - 2
        if spare >= _GAUGE - 2:
            spans += [Span("  "), *gauge(full, spare, fullness(full), self.glyphs)]
        return tuple(spans)
