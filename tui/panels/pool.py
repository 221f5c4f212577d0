"""Pools of application workers: how many of each serve a request, and how many requests wait for one."""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from loadtop.i18n import pad
from loadtop.rates.records import ServerRates
from loadtop.servers.worker_processes import WorkerProcesses
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, clip, clip_middle, line, safe, width
from tui.drawing.numbers import count, per_second
from tui.panels.server import R, ServerPanel, fullness, is_full
from tui.state.view import View

_FIGURES = 5 + 5 + 6
_GAUGE = 8
_MIN_NAME, _MAX_NAME = 8, 20


class PoolFigures(NamedTuple):
    """What is shown of one pool; ``full`` is in percent."""

    name: str
    active: int | None
    most: int | None
    queue: int | None
    full: float | None
    served: float | None  # requests per second


class PoolPanel(ServerPanel[R]):
    """A row per pool of the chosen machine, those with a queue first, then the fullest."""

    def figures(self, rates: ServerRates[R]) -> PoolFigures:
        raise NotImplementedError

    def short(self, name: str, cells: int) -> str:
        """A name in at most ``cells`` cells."""
        return clip(name, cells, self.glyphs.ellipsis)

    def records(self, view: View) -> Sequence[ServerRates[R]]:
        def order(rates: ServerRates[R]) -> tuple[float, float, str]:
            pool = self.figures(rates)
            return -(pool.queue or 0), -(pool.full or 0.0), pool.name

        return sorted(self.KIND.rates(view.rates), key=order)

    def tag(self, view: View) -> Line:
        known = [rate for each in self.records(view) if (rate := self.figures(each).served) is not None]
        return line(Span(f"{per_second(sum(known), 5)}/s", Role.DIM)) if known else ()

    def table(self, view: View, records: Sequence[ServerRates[R]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        room = cells - _FIGURES - _GAUGE
        name = min(_MAX_NAME, room) if room >= _MIN_NAME else max(_MIN_NAME, cells - _FIGURES)
        head = line(Span(clip(f"{'pool':<{name}} busy   of queue", cells, ""), Role.DIM))
        return [head, *(self._row(self.figures(each), name, cells) for each in records[: max(1, rows - 1)])]

    def _row(self, pool: PoolFigures, room: int, cells: int) -> Line:
        spans = [
            Span(pad(self.short(safe(pool.name), room), room)),
            Span(count(pool.active, 5), Role.BAD if is_full(pool.full) else Role.VALUE),
            Span(count(pool.most, 5)),
            Span(count(pool.queue, 6), Role.BAD if pool.queue else Role.VALUE),
        ]
        spare = cells - room - _FIGURES - 2
        if spare >= _GAUGE - 2:
            spans += [Span("  "), *gauge(pool.full, spare, fullness(pool.full), self.glyphs)]
        return tuple(spans)


W = TypeVar("W", bound=WorkerProcesses)


class WorkerPanel(PoolPanel[W]):
    """A panel for one kind of server with pools of worker processes, which are named after their addresses."""

    def figures(self, rates: ServerRates[W]) -> PoolFigures:
        pool, served = rates.reading, rates.per_second.get("requests")
        return PoolFigures(pool.address, pool.active, pool.slots, pool.queued, pool.full, served)

    def short(self, name: str, cells: int) -> str:
        host, colon, port = name.rpartition(":")
        if not colon or not port.isdecimal():
            return clip_middle(name, cells, self.glyphs.ellipsis)
        return clip(f"{clip(host, cells - width(port) - 1, self.glyphs.ellipsis)}:{port}", cells, self.glyphs.ellipsis)
