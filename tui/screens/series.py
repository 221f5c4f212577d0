"""Series of measurements as tables that grow: a sweep with a row per step and what to set, and an experiment."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from loadtop.analysis.tune.knee import Knee, find_knee
from loadtop.analysis.tune.sizing import TuneResult
from loadtop.analysis.tune.step import LEAST_INTERVALS, SKIPPED, StepResult, Sweep
from loadtop.i18n import Message, Translatable, duration, pad, tr
from loadtop.model.histogram import mean, percentile
from loadtop.reports.tune import busy_means, conclusion
from tui.drawing.appearance import Appearance, Glyphs
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, clip_title, fitting, hanging, length, line, message_text, safe, width
from tui.drawing.numbers import ABSENT, count, milliseconds, per_second, percent
from tui.state.view import Phase, View
from tui.widgets.page import PageScreen

if TYPE_CHECKING:
    from loadtop.analysis.experiment.runner import Progress

TINY: tuple[tuple[Translatable, int], ...] = (("c", 4), ("req/s", 7), ("mean", 7), ("p99", 7))
NARROW: tuple[tuple[Translatable, int], ...] = (*TINY, ("iowait%", 8), ("swap%", 6), ("busy", 5))
_STEP: tuple[tuple[Translatable, int], ...] = (("c", 5), ("s", 5), ("req/s", 8))
_TIMES: tuple[tuple[Translatable, int], ...] = (("ms mean", 8), ("p50", 8), ("p90", 8), ("p99", 8), ("failed", 7))
_SHARES: tuple[tuple[Translatable, int], ...] = (("idle%", 6), ("%iowait", 8), ("%swpused", 9), ("busy", 5))
WIDE = (*_STEP, *_TIMES, *_SHARES)
LIMIT = 18  # cells of the verdict's name
MARK = 7  # cells of what may stand behind a bar

NARROW_CELLS, WIDE_CELLS = 76, 116  # cells from which some columns more, and all of them, have room beside a bar

LEAST_BAR = 4
BAR = 24  # cells of the bar of an experiment
LEAST_NAME = 8  # cells of the address that are always shown
LEAST = SKIPPED + LEAST_INTERVALS  # intervals of a step from which it is measured
HEAD = 2  # lines above the table


def table(
    results: Sequence[StepResult], running: StepResult | None, knee: Knee | None, cells: int, glyphs: Glyphs
) -> list[Line]:
    """Heading and rows, fewest connections first; the step that runs is dim and has no mark yet."""
    columns = WIDE if cells >= WIDE_CELLS else NARROW if cells >= NARROW_CELLS else TINY
    heading = "".join(pad(tr(name), size, right=True) for name, size in columns)
    head = line(Span(f"{heading}  {pad(tr('limit'), LIMIT)}", Role.DIM))
    found = [fitting(cells, (*head, Span(tr("throughput"), Role.DIM)), head)]
    known = list(results) if running is None else [*results, running]
    known.sort(key=lambda result: (result.concurrency, result.at_s))
    top = max((result.rps for result in known), default=0.0)
    room = max(LEAST_BAR, cells - sum(size for _, size in columns) - 2 - LIMIT - MARK)
    for result in known:
        runs, values = result is running, _values(result)
        text = "".join(values[name].rjust(size) for name, size in columns)
        bad = result.fails or result.swaps
        at_knee = knee is not None and not runs and result.concurrency == knee.concurrency
        role = Role.DIM if runs else Role.BAD if bad else Role.GOOD if at_knee else Role.GRAPH
        full = result.fails or str(result.bottleneck) != "none"
        said = tr("fails" if result.fails else str(result.bottleneck))
        settled = f" {tr('knee')}" if at_knee else "" if result.steady else f" {glyphs.unsure}"
        found.append(
            line(
                Span(text, Role.DIM if runs else Role.VALUE if at_knee else Role.TEXT),
                Span(f"  {pad(said, LIMIT)}", Role.DIM if runs or not full else Role.BAD if bad else Role.WARN),
                *gauge(100.0 * result.rps / top if top > 0 else None, room, role, glyphs),
                Span(f" {tr('now')}" if runs else settled, Role.GOOD if at_knee else Role.DIM),
            )
        )
    return found


def _values(result: StepResult) -> dict[str, str]:
    latency = result.latency
    p50, p90, p99 = (percentile(latency, share) / 1000 if latency.count else None for share in (50.0, 90.0, 99.0))
    each = milliseconds(mean(latency) / 1000) if latency.count else ABSENT
    iowait, swap = percent(result.iowait), percent(result.swap_used)
    return {
        "c": str(result.concurrency),
        "s": f"{result.seconds:.0f}",
        "req/s": per_second(result.rps),
        "mean": each,
        "ms mean": each,
        "p50": milliseconds(p50),
        "p90": milliseconds(p90),
        "p99": milliseconds(p99),
        "failed": count(result.failed),
        "idle%": percent(result.idle),
        "iowait%": iowait,
        "%iowait": iowait,
        "swap%": swap,
        "%swpused": swap,
        "busy": count(result.busy),
    }


class TuneScreen(PageScreen):
    """Shown at once; escape shows the cockpit behind it, ``t`` this table again.

    ``why`` says why the sweep ended; with it, what to set follows at the end.
    """

    HEADING: Translatable = "tune"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.leave", "quit"), Binding("t", "close", "cockpit")]

    def __init__(
        self,
        appearance: Appearance,
        view: View,
        sweep: Callable[[], Sweep],
        why: Callable[[], Message | None] | None = None,
    ) -> None:
        super().__init__(appearance, view)
        self._sweep = sweep
        self._why = why

    def footer(self) -> str:
        return tr("escape back  up, down scroll  s stop  q quit")

    def text(self, cells: int) -> Sequence[Line]:
        view, sweep = self.view, self._sweep()
        results = sweep.results
        over = view.phase is not Phase.STARTING and (view.load is None or view.load.state.ended)
        running = None if over else sweep.running
        stand = self._stand(sweep, over)
        title = clip_title(safe(view.title), max(LEAST_NAME, cells - length(stand) - 2), self.glyphs.ellipsis)
        lines = [line(Span(f"{title}  ", Role.VALUE), *stand)]
        if view.phase is Phase.BROKEN:
            lines += hanging((), message_text(view.detail), cells, Role.BAD)
        elif over and view.load is not None and view.load.message:
            lines += hanging((), message_text(view.load.message), cells, Role.WARN)
        lines.append(())
        if results or running is not None:
            lines += table(results, running, find_knee(results), cells, self.glyphs)
            if cells >= NARROW_CELLS:
                busy = busy_means([*results, *([] if running is None else [running])])
                legend = filter(None, (tr("c: connections"), tr("s: seconds measured"), busy))
                lines += hanging(line("  "), "; ".join(legend), cells, Role.DIM)
        if over and results and self._why is not None:
            said = conclusion(TuneResult.of(results, self._why()))
            lines.append(())
            for text, is_main in said:
                role, indent = Role.TITLE if is_main else Role.TEXT, " " * (len(text) - len(text.lstrip()))
                whole = line(Span(safe(text), role))
                lines += [whole] if length(whole) <= cells else hanging(line(indent), safe(text), cells, role)
        return lines

    def _stand(self, sweep: Sweep, over: bool) -> Line:
        view = self.view
        done = len(sweep.results)
        measured = tr("1 step measured") if done == 1 else tr("{steps} steps measured", steps=done)
        if over or view.phase is Phase.BROKEN:
            return line(measured)
        if view.load is None or view.snapshot is None or not sweep.intervals:
            return line(tr("starting") if not done else f"{measured}{tr(', the next one starts')}")
        spent = view.snapshot.at - sweep.step_at
        return line(
            f"{measured}{tr(', now ')}", Span(tr("{c} connections", c=view.load.concurrency), Role.VALUE),
            f" {tr('for {time}', time=duration(spent))}",
        )  # fmt: skip


class StepsScreen(TuneScreen):
    """The steps of any load."""

    HEADING: Translatable = "steps"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("T", "close", "cockpit")]

    def footer(self) -> str:
        return PageScreen.footer(self)

    def text(self, cells: int) -> Sequence[Line]:
        view = self.view
        if view.load is not None and view.load.rate is not None:
            words = tr("This table shows steps by connections. See the report for steps by rate.")
            return hanging((), words, cells)
        if view.only_watches:
            return hanging((), tr("Watching only: no load is generated."), cells)
        if view.load is not None and view.load.concurrency is None:
            return hanging((), tr("No steps: loadtop did not set the number of connections."), cells)
        lines = list(super().text(cells))
        if len(lines) <= HEAD and (view.load is None or not view.load.state.ended):
            lines += hanging((), tr("A step appears after {number} intervals.", number=LEAST), cells)
        return lines


class ExperimentScreen(PageScreen):
    """How far it is, the cell that is measured, and the table as it grows.

    ``progress`` and ``table`` are asked at each drawing; ``table`` gets whether there is room for all columns.
    """

    HEADING: Translatable = "experiment"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "app.leave", "quit"), Binding("t", "close", "cockpit")]

    def __init__(
        self,
        appearance: Appearance,
        view: View,
        progress: "Callable[[], Progress | None]",
        table: Callable[[bool], Sequence[str]],
    ) -> None:
        super().__init__(appearance, view)
        self._progress = progress
        self._table = table

    def footer(self) -> str:
        return tr("escape back  up, down scroll  q quit")

    def text(self, cells: int) -> Sequence[Line]:
        heading, *rows = self._table(cells >= WIDE_CELLS)
        return [*self._state(cells), (), line(Span(safe(heading), Role.DIM)), *(line(safe(row)) for row in rows)]

    def _state(self, cells: int) -> list[Line]:
        view = self.view
        title = Span(f"{safe(view.title)}  ", Role.VALUE)
        if view.phase is Phase.BROKEN:
            return [line(title), *hanging((), message_text(view.detail), cells, Role.BAD)]
        if view.phase is Phase.DONE:
            return [line(title, Span(tr("done"), Role.GOOD), f"  {tr('press q for the table')}")]
        progress = self._progress()
        if progress is None:
            return [line(title, tr("starting"))]
        share = 100.0 * (progress.number - 1) / progress.of
        done = tr("  measurement {number} of {of}", number=progress.number, of=progress.of)
        left = "" if progress.left_s is None else tr("  about {time} left", time=duration(progress.left_s))
        bar = gauge(share, max(0, min(BAR, cells - width(done + left))), Role.ACCENT, self.glyphs)
        rates = view.load_rates
        now = "" if rates is None else f"   {per_second(rates.rps)} {tr('requests/s')}"
        return [
            line(title),
            line(*bar, done, left),
            line(f"{tr('now')}  ", Span(safe(progress.cell.label), Role.VALUE), now),
        ]
