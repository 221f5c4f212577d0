"""The steps of any load, those too that a person made by changing it: a row each, as in a sweep."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.analysis.tune.steady_state import LEAST_INTERVALS, SKIPPED
from loadtop.analysis.tune.step import Sweep
from loadtop.i18n import Translatable, tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, line
from tui.drawing.text import wrap
from tui.screens.page import PageScreen
from tui.screens.tune import TuneScreen
from tui.state.view import View

LEAST = SKIPPED + LEAST_INTERVALS
"""Intervals of a step from which it is measured."""

HEAD = 2
"""Lines above the table."""


class StepsScreen(TuneScreen):
    """Escape leads back. ``newest`` gives the sweep as it is now: a replay that jumps begins another."""

    HEADING: Translatable = "steps"
    CONCLUDES = False

    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "close", "cockpit")]

    def __init__(self, appearance: Appearance, view: View, newest: Callable[[], Sweep]) -> None:
        super().__init__(appearance, view, newest(), lambda: "")
        self._newest = newest

    def footer(self) -> Translatable:
        """The keys of this page."""
        return PageScreen.footer(self)

    def text(self, view: View, cells: int) -> Sequence[Line]:
        """What there is of the steps."""
        self._sweep = self._newest()
        if view.load is not None and view.load.rate is not None:
            words = tr("This table is about numbers of connections. Steps of a rate stand in the report.")
            return self._wrapped(words, cells)
        if view.load is None or view.load.concurrency is None:
            return self._wrapped(tr("There are no steps: no load of a number of connections was measured."), cells)
        lines = list(super().text(view, cells))
        if len(lines) <= HEAD and not view.load.state.ended:
            lines += self._wrapped(tr("A step has a row once it has lasted {number} intervals.", number=LEAST), cells)
        return lines

    def _wrapped(self, text: str, cells: int) -> list[Line]:
        return [line(part) for part in wrap(text, cells, 3, self.glyphs.ellipsis)]
