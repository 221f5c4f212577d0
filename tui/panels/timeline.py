"""The time strip: the whole session at a glance, a letter of the verdict per stretch, with marks and steps."""

from collections.abc import Collection, Iterable, Sequence
from itertools import count, groupby
from operator import itemgetter

from loadtop.diagnosis.finding import NONE
from loadtop.i18n import clock, duration, tr
from tui.drawing.appearance import Appearance, Glyphs
from tui.drawing.line import Line, Role, Span, clip, line, safe, width
from tui.drawing.verdicts import UNSEEN, letter_of
from tui.state.view import View
from tui.widgets.panel import Panel

NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400)  # seconds that one cell may stand for

LABEL = 10  # cells from one label of the axis to the next, at least


def cell_seconds(seconds: float, cells: int, interval_s: float = 1.0) -> float:
    """Seconds per cell, so that ``seconds`` fit into ``cells``: a round number, not below the interval."""
    if cells <= 0:
        return float(NICE[-1])
    least = max(interval_s, seconds / cells)
    return float(next((nice for nice in NICE if nice >= least - 1e-9), -(-least // NICE[-1]) * NICE[-1]))


def names_in(spans: Sequence[tuple[float, float, str]], cells: int, per_cell: float, calm: str) -> list[str | None]:
    """What to print in each cell: the name of the span (start, end, name) that holds longest in it; ``calm`` only where
    nothing else holds, so that short limits are seen. ``None`` where nothing was measured."""
    found: list[str | None] = []
    index = 0
    for cell in range(cells):
        start, end = cell * per_cell, (cell + 1) * per_cell
        while index < len(spans) and spans[index][1] <= start:
            index += 1
        held: dict[str, float] = {}
        for began, ended, name in spans[index:]:
            if began >= end:
                break
            held[name] = held.get(name, 0.0) + max(0.0, min(end, ended) - max(start, began))
        held = {name: seconds for name, seconds in held.items() if seconds > 0.01 * per_cell}
        loud = {name: seconds for name, seconds in held.items() if name != calm}
        found.append(max(loud or held, key=lambda name: (loud or held)[name]) if held else None)
    return found


def axis(cells: int, per_cell: float, rail: str, marks: Collection[int] = (), sign: str = "") -> str:
    """Time labels on a rail of ``cells`` cells, each at the cell in which its time begins. A ``sign`` at each of the
    cells ``marks`` takes the place of the label there."""
    step = next((float(nice) for nice in NICE if nice >= LABEL * per_cell), LABEL * per_cell)
    drawn = ""
    for at in count(0.0, step):
        place, label = round(at / per_cell), clock(at)
        if place + len(label) > cells:
            break
        if not any(place <= mark < place + len(label) for mark in marks):
            drawn += rail * (place - len(drawn)) + label
    return "".join(sign if at in marks else cell for at, cell in enumerate(drawn.ljust(cells, rail)))


def notes(known: Iterable[tuple[float, str]], cells: int, per_cell: float, ellipsis: str) -> str:
    """Texts under their times, as far as there is room for each."""
    drawn = ""
    for at, text in known:
        place = int(at / per_cell)
        if place >= width(drawn) + bool(drawn):
            drawn += " " * (place - width(drawn)) + clip(text, max(0, cells - place), ellipsis)
    return drawn


def strip(names: Iterable[str | None], glyphs: Glyphs) -> Line:
    """The letters of verdicts."""
    runs = groupby((letter_of(name, glyphs) for name in names), key=lambda cell: cell[1])
    return tuple(Span("".join(letter for letter, _ in run), role) for role, run in runs)


def legend(names: Iterable[str | None], glyphs: Glyphs) -> Line:
    """Each letter of a strip with its verdict."""
    spans: list[Span] = []
    for name in dict.fromkeys(names):
        if name is not None:
            letter, role = letter_of(name, glyphs)
            spans += [Span(letter, role), Span(f" {tr('headroom' if name == NONE else name)}  ", Role.DIM)]
    return (*spans[:-1], Span(spans[-1].text.rstrip(), Role.DIM)) if spans else ()


class TimePanel(Panel):
    """Its lower frame line is the axis; marks stand on it."""

    KEY = "time"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._named: tuple[View | None, int, list[str | None]] = (None, 0, [])

    def title(self, view: View) -> Line:
        per_cell = _per_cell(view, self._cells())
        return line(Span(tr("time"), Role.TITLE), Span(tr(" 1 letter = {time}", time=duration(per_cell)), Role.DIM))

    def tag(self, view: View) -> Line:
        return legend(self._names(view, self._cells()), self.glyphs)

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        letters = strip(self._names(view, cells), self.glyphs)
        if rows < 2:
            return [letters]
        known = [(at, f"{self.glyphs.up} {safe(text)}") for at, text in view.history.marks]
        if len(view.history.steps) > 1:
            known += [(at, tr("step {step}", step=step)) for at, step in view.history.steps]
        noted = notes(sorted(known), cells, _per_cell(view, cells), self.glyphs.ellipsis)
        return [letters, line(Span(noted, Role.ACCENT))]

    def _names(self, view: View, cells: int) -> list[str | None]:
        """The verdict of each cell; kept for the tag and the content of one view."""
        if self._named[0] is view and self._named[1] == cells:
            return self._named[2]
        past = view.history
        spans = [(span.start, span.end, span.bottleneck) for span in past.timeline.spans]
        spans += [(start, end, UNSEEN) for start, end in past.unseen]
        names = names_in(sorted(spans, key=itemgetter(0)), cells, _per_cell(view, cells), NONE)
        self._named = (view, cells, names)
        return names

    def rails(self, view: View, ceiling: str, floor: str) -> tuple[str, str]:
        """The axis with the marks, in the lower frame line."""
        cells = len(ceiling) - 4
        per_cell = _per_cell(view, cells)
        marks = {int(at / per_cell) for at, _ in view.history.marks}
        below = axis(cells, per_cell, self.glyphs.rail, marks, self.glyphs.up)
        return ceiling, f"{floor[:2]}{below}{floor[-2:]}" if floor else floor

    def _cells(self) -> int:
        return 1 if self.placement is None else self.placement.inner[0] - 2


def _per_cell(view: View, cells: int) -> float:
    """Seconds per cell of a strip that holds the past and, where it is known, the rest of the load."""
    whole, load = 0.0 if view.snapshot is None else view.snapshot.at, view.load
    if load is not None and load.target_s is not None and not load.state.ended:
        whole = max(whole, whole - load.elapsed_s + load.target_s)
    return cell_seconds(whole, cells, view.interval_s)
