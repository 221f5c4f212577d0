"""The evidence: every finding that holds, each value against its threshold, the source of the threshold, and the
hottest functions where a CPU is the limit."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.diagnosis.cpu import PROFILED
from loadtop.diagnosis.finding import NONE, Evidence, Finding
from loadtop.i18n import Translatable, duration, pad, tr
from loadtop.servers.registry import evidence_title
from tui.drawing.graph import Ring, against, span_of, top_of
from tui.drawing.line import Line, Role, Span, beside, clip, fit, hanging, length, line, message_text, safe, width
from tui.drawing.numbers import quantity
from tui.drawing.verdicts import counts, named, sentence, threshold_of
from tui.screens.profile import hottest
from tui.state.view import View
from tui.widgets.page import PageScreen

NAME, MOST_NAME, VALUE = 26, 40, 12  # cells of a metric's name, least and most, and of its value
ROWS = 3  # rows of a plot


class EvidenceScreen(PageScreen):
    HEADING: Translatable = "evidence"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "close", "close")]

    def text(self, cells: int) -> Sequence[Line]:
        view = self.view
        if view.snapshot is None:
            return [line(tr("Waiting for the first figures."))]
        verdict = view.snapshot.diagnosis.verdict
        legend = tr(
            "Below each value: its threshold (the dotted line) and the source of the threshold. The newest value is at "
            "the right."
        )
        lines = [*hanging((), legend, cells, Role.DIM), (), *self._finding(verdict, view, cells, tr("verdict"))]
        symptoms = {(symptom.bottleneck, symptom.host) for symptom in verdict.symptoms}
        for finding in view.snapshot.diagnosis.findings:
            if (finding.bottleneck, finding.host) == (verdict.bottleneck, verdict.host):
                continue
            known = (finding.bottleneck, finding.host) in symptoms
            standing = tr("follows from the verdict") if known else tr("also a limit")
            lines += [(), *self._finding(finding, view, cells, standing, advised=not known)]
        return lines

    def _finding(self, finding: Finding, view: View, cells: int, standing: str, *, advised: bool = True) -> list[Line]:
        sure = tr("confidence {share} %", share=f"{100 * finding.confidence:.0f}")
        if finding.bottleneck != NONE:
            sure = f"{tr('for {time}', time=duration(finding.held_s))}, {sure}"
        head = sentence(finding)
        judged = Span(f"{standing}, {sure}", Role.DIM)
        lines: list[Line] = [(*head, Span("  "), judged)]
        if length(lines[0]) > cells:
            lines = [head, line("  ", judged)]
        if advised:
            lines += hanging((), message_text(finding.advice), cells)
        for item in finding.evidence:
            lines += [(), *self._plot(item, finding, view, cells)]
        if not finding.evidence:
            lines.append(line(Span(tr("not enough data for a verdict"), Role.DIM)))
        return [*lines, *self._functions(finding, view, cells)]

    def _functions(self, finding: Finding, view: View, cells: int) -> list[Line]:
        """Those of the newest profile of a host whose CPU is the limit."""
        at, profile = view.history.profiles.get(finding.host or "", (0.0, None))
        if finding.bottleneck not in PROFILED or profile is None or not profile.stacks:
            return []
        return [(), *hottest(at, profile, cells, self.glyphs.ellipsis)]

    def _plot(self, item: Evidence, finding: Finding, view: View, cells: int) -> list[Line]:
        """A value, its threshold and the source of that; beside them the past values, with the threshold as a line."""
        glyphs, telling = self.glyphs, counts(item)
        role = Role.FREE if finding.bottleneck == NONE or not telling else Role.FULL
        where = f"{safe(item.host)}: " if item.host != (finding.host or "") else ""
        longest = max(width(evidence_title(each.metric)) for each in finding.evidence)
        name_cells = max(NAME, min(MOST_NAME, max(longest, cells // 3)))
        left = name_cells + VALUE + 4
        name = named(where, item.metric, name_cells, glyphs.ellipsis)
        said = Span(quantity(item.value, item.unit).rjust(VALUE), Role.VALUE if telling else Role.DIM)
        beside_it = [
            (*fit(line(f"  {name}"), name_cells + 2), said),
            line(Span(pad(threshold_of(item), name_cells + VALUE + 2, right=True), Role.LIMIT)),
            line(Span(clip(f"  {safe(item.source)}", left - 1, glyphs.ellipsis), Role.DIM)),
        ]
        ring = view.history.evidence.get((item.host, item.metric), Ring[float]())
        share = item.unit == "%" and item.threshold <= 100.0
        room = cells - left
        top = 100.0 if share else top_of(ring, span_of(room, glyphs), 2.0 * item.threshold or 1.0)
        plot = against(ring, item.threshold, room, ROWS, top, glyphs, role)
        return beside(beside_it, plot, left, ROWS)
