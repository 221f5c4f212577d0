"""The evidence: every finding that holds, each value against its threshold, and who published the threshold."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.diagnosis.finding import Bottleneck, Evidence, Finding
from tui.drawing.bars import meter
from tui.drawing.glyphs import Glyphs
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import duration, quantity
from tui.screens.page import PageScreen
from tui.text import clip, safe, wrap
from tui.view import View
from tui.words import HEADLINES, counts, metric, severity

NAME, VALUE, BAR = 24, 10, 26
"""Cells of a metric's name, its value and its gauge."""

WIDE = 116
"""Cells from which the source of a threshold has room in the same row."""


class EvidenceScreen(PageScreen):
    """Live: it goes on while it is read."""

    HEADING = "evidence"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "close", "close")]

    def text(self, view: View, cells: int) -> Sequence[Line]:
        if view.moment is None:
            return [line("Waiting for the first figures.")]
        diagnosis = view.moment.diagnosis
        lines = _finding(diagnosis.verdict, cells, self.look.glyphs, "the verdict")
        symptoms = {(symptom.bottleneck, symptom.host) for symptom in diagnosis.verdict.symptoms}
        verdict = diagnosis.verdict
        for finding in diagnosis.findings:
            if (finding.bottleneck, finding.host) == (verdict.bottleneck, verdict.host):
                continue
            known = (finding.bottleneck, finding.host) in symptoms
            lines += [(), *_finding(finding, cells, self.look.glyphs, "its symptom" if known else "full as well")]
        return lines


def _finding(finding: Finding, cells: int, glyphs: Glyphs, standing: str) -> list[Line]:
    name, rest = HEADLINES[finding.bottleneck]
    where = f" on {safe(finding.host)}" if finding.host else ""
    held = "" if finding.bottleneck is Bottleneck.NONE else f"for {duration(finding.held_s)}, "
    sure = f"{held}confidence {100 * finding.confidence:.0f} %"
    lines: list[Line] = [
        line(Span(name, severity(finding)), Span(f" {rest}{where}"), Span(f"  {standing}, {sure}", Role.DIM)),
        (),
    ]
    for item in finding.evidence:
        lines += _rows(item, finding, cells, glyphs)
    if not finding.evidence:
        lines.append(line(Span("nothing was measured that speaks for or against", Role.DIM)))
    lines.append(())
    lines += [line(text) for text in wrap(safe(finding.advice), cells, 4, glyphs.ellipsis)]
    return lines


def _rows(item: Evidence, finding: Finding, cells: int, glyphs: Glyphs) -> list[Line]:
    """A value, a gauge with a tick at its threshold, and who published that, in a row of its own where it is narrow."""
    telling = counts(item)
    role = Role.FREE if finding.bottleneck is Bottleneck.NONE else Role.FULL if telling else Role.DIM
    name = clip(metric(item.metric), NAME, glyphs.ellipsis).ljust(NAME)
    where = f"{safe(item.host)}: " if item.host != (finding.host or "") else ""
    source = Span(f"{where}{safe(item.source)}", Role.DIM)
    wide = cells >= WIDE
    row = line(
        Span(f"  {name} "),
        Span(quantity(item.value, item.unit).rjust(VALUE), Role.VALUE if telling else Role.DIM),
        Span(" "),
        *meter(item.value, item.threshold, item.unit, BAR if wide else max(4, cells - NAME - VALUE - 22), role, glyphs),
        Span(f" {'below' if item.below else 'limit'} {quantity(item.threshold, item.unit):<10}", Role.DIM),
    )
    return [(*row, Span("  "), source)] if wide else [row, line(Span(" " * (NAME + 4)), source)]
