"""An experiment while it runs: how far it is, the cell that is measured, and the table as it grows."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.analysis.experiment.runner import Progress
from loadtop.i18n import Translatable, duration, tr
from tui.drawing.appearance import Appearance
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, line, message_text, safe
from tui.drawing.numbers import per_second
from tui.state.view import Phase, View
from tui.widgets.page import PageScreen

BAR = 24
WIDE_CELLS = 112


class ExperimentScreen(PageScreen):
    """``progress`` and ``table`` are asked at each drawing; ``table`` gets whether there is room for all columns."""

    HEADING: Translatable = "experiment"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.leave", "quit"), Binding("t", "close", "cockpit")]

    def __init__(
        self,
        appearance: Appearance,
        view: View,
        progress: Callable[[], Progress | None],
        table: Callable[[bool], Sequence[str]],
    ) -> None:
        super().__init__(appearance, view)
        self._progress = progress
        self._table = table

    def footer(self) -> str:
        return tr("escape cockpit   t back here   up, down scroll   q quit")

    def text(self, cells: int) -> Sequence[Line]:
        heading, *rows = self._table(cells >= WIDE_CELLS)
        return [*self._state(), (), line(Span(safe(heading), Role.DIM)), *(line(safe(row)) for row in rows)]

    def _state(self) -> list[Line]:
        view = self.view
        title = Span(f"{safe(view.title)}  ", Role.VALUE)
        if view.phase is Phase.BROKEN:
            return [line(title, Span(message_text(view.detail), Role.BAD))]
        if view.phase is Phase.DONE:
            return [line(title, Span(tr("done"), Role.GOOD), f"  {tr('press q for the table')}")]
        progress = self._progress()
        if progress is None:
            return [line(title, tr("starting"))]
        share = 100.0 * (progress.number - 1) / progress.of
        bar = gauge(share, BAR, Role.ACCENT, self.glyphs)
        left = "" if progress.left_s is None else tr("  about {time} left", time=duration(progress.left_s))
        rates = None if view.snapshot is None else view.snapshot.measured.load_rates
        now = "" if rates is None else f"   {per_second(rates.rps)} {tr('requests/s')}"
        return [
            line(title),
            line(*bar, tr("  cell {number} of {of}", number=progress.number, of=progress.of), left),
            line(f"{tr('now')}  ", Span(safe(progress.cell.label), Role.VALUE), now),
        ]
