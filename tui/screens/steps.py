"""The steps of any load, those too that a person made by changing it: a row each, as in a sweep."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.tuning.sweep import Sweep
from loadtop.words import tr
from tui.drawing.line import Line, line
from tui.look import Look
from tui.screens.page import PageScreen
from tui.screens.tune import TuneScreen
from tui.view import View


class StepsScreen(TuneScreen):
    """Escape leads back. ``newest`` gives the sweep as it is now: a replay that jumps begins another."""

    HEADING = "steps"
    CONCLUDES = False

    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "close", "cockpit")]

    def __init__(self, look: Look, view: View, newest: Callable[[], Sweep]) -> None:
        super().__init__(look, view, newest(), lambda: "")
        self._newest = newest

    def footer(self) -> str:
        """The keys of this page."""
        return PageScreen.footer(self)

    def text(self, view: View, cells: int) -> Sequence[Line]:
        """What there is of the steps."""
        self._sweep = self._newest()
        if view.load is None or view.load.concurrency is None:
            return [line(tr("There are no steps: no load of a number of connections was measured."))]
        return super().text(view, cells)
