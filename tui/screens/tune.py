"""A sweep, running or replayed: a row per step, the curve, and at the end what to set."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.analysis.tune.knee import find_knee
from loadtop.analysis.tune.result import TuneResult
from loadtop.analysis.tune.steady_state import LEAST_INTERVALS, SKIPPED
from loadtop.analysis.tune.step import Sweep
from loadtop.i18n import Message, Translatable, duration, tr
from loadtop.reports.tune import conclusion
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, length, line
from tui.drawing.sweep import table
from tui.drawing.text import clip_middle, message_text, safe, wrap
from tui.screens.page import PageScreen
from tui.state.view import Phase, View

LEAST_NAME = 8  # cells of the address that are always shown
LEAST = SKIPPED + LEAST_INTERVALS  # intervals of a step from which it is measured
HEAD = 2  # lines above the table


class TuneScreen(PageScreen):
    """Shown at once; escape shows the cockpit behind it, ``t`` this table again."""

    HEADING: Translatable = "tune"
    CONCLUDES = True
    """Whether what to set follows at the end."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.leave", "quit"), Binding("t", "close", "cockpit")]

    def __init__(self, appearance: Appearance, view: View, sweep: Sweep, why: Callable[[], Message | None]) -> None:
        super().__init__(appearance, view)
        self._sweep = sweep
        self._why = why

    def footer(self) -> str:
        return tr("escape cockpit   t back here   up, down scroll   s stop   q quit")

    def text(self, cells: int) -> Sequence[Line]:
        view = self.view
        results = self._sweep.results
        over = view.phase is not Phase.STARTING and (view.load is None or view.load.state.ended)
        running = None if over else self._sweep.running
        lines = [self._heading(over, cells), ()]
        if results or running is not None:
            lines += table(results, running, find_knee(results), cells, self.glyphs)
        if over and results and self.CONCLUDES:
            tuned = TuneResult.of(results, self._why())
            said = conclusion(tuned)
            lines += [(), *(line(Span(safe(text), Role.TITLE if is_main else Role.TEXT)) for text, is_main in said)]
        return lines

    def _heading(self, over: bool, cells: int) -> Line:
        """The progress, after as much of the address as there is room for."""
        stand = self._stand(over)
        room = max(LEAST_NAME, cells - length(stand) - 2)
        return line(Span(f"{clip_middle(safe(self.view.title), room, self.glyphs.ellipsis)}  ", Role.VALUE), *stand)

    def _stand(self, over: bool) -> Line:
        view = self.view
        done = len(self._sweep.results)
        measured = tr("1 step measured") if done == 1 else tr("{steps} steps measured", steps=done)
        if view.phase is Phase.BROKEN:
            return line(Span(message_text(view.detail), Role.BAD))
        if over:
            message = "" if view.load is None else message_text(view.load.message)
            return line(measured, Span(f"  {message}", Role.WARN))
        if view.load is None or view.snapshot is None or not self._sweep.intervals:
            return line(tr("starting") if not done else f"{measured}{tr(', the next one begins')}")
        spent = view.snapshot.at - self._sweep.step_at
        return line(
            f"{measured}{tr(', now ')}", Span(tr("{c} connections", c=view.load.concurrency), Role.VALUE),
            f" {tr('for {time}', time=duration(spent))}",
        )  # fmt: skip


class StepsScreen(TuneScreen):
    """The steps of any load. ``newest`` gives the sweep: a replay that jumps starts a new one."""

    HEADING: Translatable = "steps"
    CONCLUDES = False

    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "close", "cockpit")]

    def __init__(self, appearance: Appearance, view: View, newest: Callable[[], Sweep]) -> None:
        super().__init__(appearance, view, newest(), lambda: None)
        self._newest = newest

    def footer(self) -> str:
        return PageScreen.footer(self)

    def text(self, cells: int) -> Sequence[Line]:
        view = self.view
        self._sweep = self._newest()
        if view.load is not None and view.load.rate is not None:
            words = tr("This table is about numbers of connections. Steps of a rate stand in the report.")
            return self._wrapped(words, cells)
        if view.load is None or view.load.concurrency is None:
            return self._wrapped(tr("There are no steps: no load of a number of connections was measured."), cells)
        lines = list(super().text(cells))
        if len(lines) <= HEAD and not view.load.state.ended:
            lines += self._wrapped(tr("A step has a row once it has lasted {number} intervals.", number=LEAST), cells)
        return lines

    def _wrapped(self, text: str, cells: int) -> list[Line]:
        return [line(part) for part in wrap(text, cells, 3, self.glyphs.ellipsis)]
