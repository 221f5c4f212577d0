"""The slowest requests and the first of each kind of failure, with the times of their phases."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.i18n import Translatable, pad, rendered, tr
from loadtop.model import RequestRecord
from loadtop.reports.requests import PHASES, called, clock_of, heads_of, kind_of, noted, times_of
from tui.drawing.line import Line, Role, Span, clip, clip_middle, hanging, line, safe
from tui.widgets.page import PageScreen

CLOCK, TIME, STATUS = 12, 10, 11  # cells of the columns, with their Japanese titles
LEFT = CLOCK + (1 + len(PHASES)) * TIME + STATUS
INDENT = "    "


class RequestsScreen(PageScreen):
    HEADING: Translatable = "requests"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("w", "close", "close")]

    def text(self, cells: int) -> Sequence[Line]:
        load = self.view.load
        if load is None:
            return hanging((), tr("There are no requests: no load is generated."), cells)
        if load.noted is None:
            words = tr("{engine} does not report individual requests.", engine=safe(tr(load.engine)))
            return hanging((), words, cells)
        found = noted(load)
        if not found.slowest and not found.failures:
            return [line(tr("No request has ended yet."))]
        lines: list[Line] = [line(Span(tr("Slowest requests in ms (start times in UTC)"), Role.TITLE))]
        lines += self._slowest(found.slowest, cells)
        if found.failures:
            lines += [(), line(Span(tr("First failures (start times in UTC)"), Role.TITLE))]
            for record in found.failures:
                lines += self._failure(record, cells)
        return lines

    def _slowest(self, records: Sequence[RequestRecord], cells: int) -> list[Line]:
        phases = PHASES if cells >= LEFT else ()
        names = "".join(pad(tr(name), TIME, right=True) for name in ("total", *phases))
        lines = [line(Span(f"{' ' * CLOCK}{names}{pad(tr('status'), STATUS, right=True)}", Role.DIM))]
        for record in records:
            times = "".join(text.rjust(TIME) for text in times_of(record)[: 1 + len(phases)])
            bad = record.status is not None and not 200 <= record.status < 300
            status = Span(str(record.status or "-").rjust(STATUS), Role.BAD if bad else Role.TEXT)
            row = (Span(clock_of(record).ljust(CLOCK), Role.DIM), Span(times, Role.VALUE), status)
            lines += [line(*row), self._called(record, cells), *self._heads(record, cells)]
        return lines

    def _failure(self, record: RequestRecord, cells: int) -> list[Line]:
        after = tr("after {ms} ms", ms=times_of(record)[0])
        head = line(Span(f"{clock_of(record)}  ", Role.DIM), Span(kind_of(record), Role.BAD), f"  {after}")
        reason = hanging(line(INDENT), safe(rendered(record.reason)), cells) if record.reason else []
        return [head, self._called(record, cells), *reason, *self._heads(record, cells)]

    def _called(self, record: RequestRecord, cells: int) -> Line:
        return line(
            INDENT, Span(clip_middle(safe(called(record)), cells - len(INDENT), self.glyphs.ellipsis), Role.TEXT)
        )

    def _heads(self, record: RequestRecord, cells: int) -> list[Line]:
        return [
            line(Span(clip(f"{INDENT}  {safe(text)}", cells, self.glyphs.ellipsis), Role.DIM))
            for text in heads_of(record)
        ]
