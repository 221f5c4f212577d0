"""php-fpm: how many children of each pool serve a request, and how many requests wait for one."""

from collections.abc import Sequence

from loadtop.i18n import Translatable, duration, tr
from loadtop.rates.records import ServerRates
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from tui.drawing.line import Line, Role, Span, line, safe
from tui.panels.pool import PoolFigures, PoolPanel
from tui.panels.server import highest_fullness
from tui.state.view import Curve, View


class FpmPanel(PoolPanel[FpmPool]):
    KIND = PHP_FPM
    KEY = PHP_FPM.name
    TAB: Translatable = "php-fpm"
    CURVES = (Curve("fpm.full", highest_fullness(PHP_FPM), "busy children, 0 to 100 %"),)

    def figures(self, rates: ServerRates[FpmPool]) -> PoolFigures:
        pool = rates.reading
        served = rates.per_second["accepted"]
        return PoolFigures(pool.pool, pool.active, pool.max_children, pool.listen_queue, pool.full, served)

    def title(self, view: View) -> Line:
        pools = self.records(view)
        manager = f" {safe(pools[0].reading.manager)}" if len(pools) == 1 and pools[0].reading.manager else ""
        several = tr(" {number} pools", number=len(pools)) if len(pools) > 1 else manager
        return line(Span("php-fpm", Role.TITLE), several)

    def table(self, view: View, records: Sequence[ServerRates[FpmPool]], cells: int, rows: int) -> list[Line]:
        lines = super().table(view, records, cells, rows)
        if all(pool.reading.active is None for pool in records):
            silent_s = max((pool.reading.silent_s or 0.0 for pool in records), default=0.0)
            why = tr("No response from the status page for {time}. All children may be busy.", time=duration(silent_s))
            why = why if silent_s >= 1 else view.why_nothing(self.KEY)
            lines += self.words(why, cells, max(0, min(3, rows - len(lines))))
        return lines
