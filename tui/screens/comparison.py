"""Runs side by side: their curves on one time axis, then every number with its direction."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.analysis.comparison import Comparison, Run
from loadtop.analysis.totals.settings import LOAD
from loadtop.diagnosis.finding import NONE
from loadtop.i18n import Translatable, tr
from loadtop.reports.compare import body, head, letter
from tui.drawing.appearance import Appearance
from tui.drawing.graph import ceiling, graph, span_of
from tui.drawing.line import Line, Role, Span, clip, line, safe, width
from tui.drawing.numbers import milliseconds, per_second
from tui.panels.timeline import axis, cell_seconds, legend, names_in, notes, strip
from tui.widgets.page import SCROLL_KEYS, PageScreen

_ROLES = {"better": Role.GOOD, "worse": Role.BAD, "higher": Role.ACCENT, "lower": Role.ACCENT}
_ROWS = 3  # of each graph
INDENT = " " * 6  # indent of all but the first line of a wrapped one
FINE = (0.1, 0.2, 0.5)  # seconds that a cell stands for in a comparison of short runs


class ComparisonPage(PageScreen, inherit_bindings=False):
    HEADING: Translatable = "compare"
    BINDINGS: ClassVar[list[BindingType]] = [*SCROLL_KEYS, Binding("a", "everything", "all numbers")]

    def __init__(self, appearance: Appearance, comparison: Comparison) -> None:
        super().__init__(appearance)
        self._comparison = comparison
        self._everything = False

    def action_everything(self) -> None:
        self._everything = not self._everything
        self.fill()

    def text(self, cells: int) -> Sequence[Line]:
        lines = _coloured(head(self._comparison), cells)
        lines += [(), *curves(self._comparison.runs, cells, self.appearance), ()]
        return [*lines, *_coloured(body(self._comparison, everything=self._everything, how=tr("key a")), cells)]

    def footer(self) -> str:
        more = tr("a differences only" if self._everything else "a all values")
        return f"{tr('q quit   up, down scroll   p picture')}   {more}"


def curves(runs: Sequence[Run], cells: int, appearance: Appearance) -> list[Line]:
    if cells < 20:
        return []
    whole = max(run.duration for run in runs)
    per_cell = next((fine for fine in FINE if fine * cells >= whole), cell_seconds(whole, cells))
    drawn: list[Line] = []
    for name, title, unit, show in (("rps", "requests", "/s", per_second), ("p99", "p99", "ms", milliseconds)):
        resampled = [_resampled(run, name, span_of(cells, appearance.glyphs), per_cell * cells) for run in runs]
        top = ceiling(max((value for values in resampled for value in values if value is not None), default=1.0))
        for number, values in enumerate(resampled):
            name_of = Span(f"{letter(number)} {tr(title)}", Role.TITLE)
            drawn.append(
                line(name_of, Span(tr("  graph: 0 to {most} {unit}", most=show(top).strip(), unit=unit), Role.DIM))
            )
            drawn += graph(values, cells, _ROWS, top, appearance.glyphs)
    for number, run in enumerate(runs):
        verdicts = names_in(_verdicts(run), cells, per_cell, NONE)
        name_of = Span(f"{letter(number)} {tr('limits over time')}", Role.TITLE)
        letters = line(Span(tr("  letters: "), Role.DIM), *legend(verdicts, appearance.glyphs))
        drawn += [line(name_of, *letters), strip(verdicts, appearance.glyphs)]
        drawn += _marks(run, cells, per_cell, appearance)
    drawn.append(line(Span(axis(cells, per_cell, appearance.glyphs.rail), Role.DIM)))
    return drawn


def _resampled(run: Run, name: str, points: int, seconds: float) -> list[float | None]:
    """The means of the intervals that end in each of ``points`` equal parts of the time; where none does, the last."""
    series = run.series
    measured = defaultdict[int, list[float]](list)
    for at, value, loaded in zip(series.at, series.of(LOAD, name), series.loaded, strict=True):
        if loaded:
            place = min(int((at - series.began) / seconds * points), points - 1)
            measured[place] += [] if value is None else [value]
    found: list[float | None] = [None] * points
    last: float | None = None
    for place in range(max(measured, default=-1) + 1):
        last = found[place] = fmean(measured[place]) if measured[place] else last
    return found


def _verdicts(run: Run) -> list[tuple[float, float, str]]:
    """Start, end and name of each, in seconds since the load began."""
    began = run.series.began
    return [
        (max(0.0, span["from_s"] - began), span["to_s"] - began, str(span["bottleneck"]))
        for span in run.summary["timeline"]
    ]


def _marks(run: Run, cells: int, per_cell: float, appearance: Appearance) -> list[Line]:
    glyphs, began = appearance.glyphs, run.series.began
    known = [(max(0.0, mark["at_s"] - began), f"{glyphs.up} {safe(mark['text'])}") for mark in run.summary["marks"]]
    return [line(Span(notes(known, cells, per_cell, glyphs.ellipsis), Role.ACCENT))] if known else []


def _coloured(text: Sequence[str], cells: int) -> list[Line]:
    roles = {tr(word): role for word, role in _ROLES.items()}
    known = re.compile(f"({'|'.join(map(re.escape, roles))})")
    drawn = [part for words in map(safe, text) for part in (_broken(words, cells) if width(words) > cells else [words])]
    return [tuple(Span(part, roles.get(part, Role.TEXT)) for part in known.split(each) if part) for each in drawn]


def _broken(words: str, cells: int) -> list[str]:
    if words.isascii():
        return textwrap.wrap(words, max(20, cells), subsequent_indent=INDENT, drop_whitespace=False) or [""]
    found: list[str] = []
    while width(words) > max(20, cells):
        head = clip(words, max(20, cells), "")
        found.append(head)
        words = INDENT + words[len(head) :].lstrip()
    return [*found, words]
