"""php-fpm: how many children of each pool serve a request, and how many requests wait for one."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.model import Group
from loadtop.rates.records import FpmRates
from tui.drawing.bars import gauge
from tui.drawing.graph import utilisation
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import count, duration, per_second
from tui.drawing.text import clip, safe, width
from tui.panels.wanted import has_server
from tui.state.view import View
from tui.widgets.panel import Panel

FULL_PCT = 95.0
"""Percent of a pool's children from which it is shown as full."""

_FIGURES = 5 + 5 + 6
_GAUGE = 8
_LEAST, _MOST = 8, 20


class FpmPanel(Panel):
    """A row per pool of the chosen machine, fullest first."""

    KEY = "fpm"
    TAB = "php-fpm"

    def wanted(self, view: View) -> bool:
        rates = view.past.rates
        return has_server(view, "fpm", Group.FPM) or bool(rates and rates.fpm)

    def title(self, view: View) -> Line:
        pools = _pools(view)
        manager = f" {safe(pools[0].pool.manager)}" if len(pools) == 1 and pools[0].pool.manager else ""
        return line(
            Span("php-fpm", Role.TITLE), Span(tr(" {number} pools", number=len(pools)) if len(pools) > 1 else manager)
        )

    def tag(self, view: View) -> Line:
        known = [pool.requests for pool in _pools(view) if pool.requests is not None]
        return line(Span(f"{per_second(sum(known), 5)}/s", Role.DIM)) if known else ()

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        pools = _pools(view)
        if not pools:
            return self.words(view.why_nothing("fpm"), cells, rows)
        room = cells - _FIGURES - _GAUGE
        name = min(_MOST, room) if room >= _LEAST else max(_LEAST, cells - _FIGURES)
        lines = [line(Span(clip(f"{'pool':<{name}} busy   of queue", cells, ""), Role.DIM))]
        lines += [self._row(pool, name, cells) for pool in pools[: max(1, rows - 1)]]
        if all(pool.pool.active is None for pool in pools):
            why = _silence(pools) or view.why_nothing("fpm")
            lines += self.words(why, cells, max(0, min(3, rows - len(lines))))
        spare = rows - len(lines)
        if spare >= 3:
            lines.append(self.caption(tr("children busy, 0 to 100 %"), cells))
            lines += self.curve(view.past.pools, cells, spare - 1, role=utilisation)
        return lines[:rows]

    def _row(self, rates: FpmRates, room: int, cells: int) -> Line:
        pool, full = rates.pool, rates.full
        bad = full is not None and full >= FULL_PCT
        name = clip(safe(pool.pool), room, self.glyphs.ellipsis)
        spans = [
            Span(name + " " * (room - width(name))),
            Span(count(pool.active, 5), Role.BAD if bad else Role.VALUE),
            Span(count(pool.max_children, 5)),
            Span(count(pool.listen_queue, 6), Role.BAD if pool.listen_queue else Role.VALUE),
        ]
        spare = cells - room - _FIGURES - 2
        if spare >= _GAUGE - 2:
            role = Role.FULL if bad else Role.FILLING if full is not None and full > 60.0 else Role.FREE
            spans += [Span("  "), *gauge(full, spare, role, self.glyphs)]
        return tuple(spans)


def _pools(view: View) -> list[FpmRates]:
    """The pools, those with a queue first, then the fullest."""
    pools = () if view.rates is None else view.rates.fpm or ()
    return sorted(pools, key=lambda found: (-(found.pool.listen_queue or 0), -(found.full or 0.0), found.pool.pool))


def _silence(pools: Sequence[FpmRates]) -> str:
    silent = max((found.pool.silent_s or 0.0 for found in pools), default=0.0)
    if silent < 1:
        return ""
    return tr("The status page is silent for {time}: every child may be busy.", time=duration(silent))
