"""The busiest processes of the chosen machine, in the order a person asked for."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from textual import events

from loadtop.i18n import Translatable, pad, tr
from loadtop.model import Role as ServerRole
from loadtop.rates.records import ProcessRates
from loadtop.servers.registry import PROCESS_GROUPS
from tui.drawing.appearance import Appearance
from tui.drawing.graph import gauge, utilisation
from tui.drawing.line import Line, Role, Span, clip, line, safe
from tui.drawing.numbers import percent, size
from tui.state.view import View
from tui.widgets.lines import WheelScrolled
from tui.widgets.panel import Panel

BUCKET_PCT = 5.0  # steps of a core's share by which processes are ordered, so that rows seldom move; in percent
BUCKET_KB = 256  # the same for memory
WIDE = 64  # cells from which there is room for threads, group and a bar beside a name

_STATES = {"R": Role.GOOD, "D": Role.BAD, "Z": Role.WARN}


_RANKS = {group: rank for rank, group in enumerate(PROCESS_GROUPS)}


def _rank(rates: ProcessRates) -> int:
    """The place of a process by its group. A recording of a later version may have groups that are unknown here."""
    return _RANKS.get(rates.process.group, len(_RANKS))


class Column(Struct, frozen=True):
    """A column of the table: its heading, its width, the cells from which a table has it, and the key it orders by."""

    name: str
    cells: int
    least: int = 0
    order: Callable[[ProcessRates], float | str] | None = None


COLUMNS = (  # each begins with a blank, in which the arrow of the column that orders has room
    Column("pid", 7, order=lambda p: p.process.pid),
    Column("s", 2),
    Column("thr", 5, WIDE, order=lambda p: -p.process.threads),
    Column("cpu%", 5, order=lambda p: -int((p.cpu or 0.0) / BUCKET_PCT)),
    Column("", 11, WIDE),
    Column("wait%", 6, 77, order=lambda p: -int((p.wait or 0.0) / BUCKET_PCT)),  # 77: names still have their 15 letters
    Column("rss", 7, 29, order=lambda p: -(p.process.rss_kb // BUCKET_KB)),
    Column("pss", 7, 36, order=lambda p: -((p.process.pss_kb or 0) // BUCKET_KB)),
    Column("group", 11, WIDE, order=_rank),
    Column("name", 5, order=lambda p: p.process.name),
)

LEFT = ("group", "name")  # columns of text

ORDERS = {column.name: column.order for column in COLUMNS if column.order is not None}
CYCLE = ("cpu%", "wait%", "rss", "pss", "name", "pid")  # the columns that the key goes through


class ProcessPanel(WheelScrolled, Panel):
    KEY = "processes"
    TAB: Translatable = "procs"

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self.column: str = "cpu%"
        self.reversed = False
        self.filter = ""
        self.first = 0
        self._heads: list[tuple[str, int, int]] = []

    def order_by(self, column: str = "") -> None:
        """Order by this column, or by the next one; the same column again reverses the order."""
        if column and column == self.column:
            self.reversed = not self.reversed
            return
        at = CYCLE.index(self.column) + 1 if self.column in CYCLE else 0
        self.column, self.reversed = column or CYCLE[at % len(CYCLE)], False

    def title(self, view: View) -> Line:  # noqa: ARG002 (the same whatever is shown)
        only = tr(" with {text}", text=safe(self.filter)) if self.filter else ""
        return line(Span(tr("processes"), Role.TITLE), Span(only, Role.WARN))

    def tag(self, view: View) -> Line:
        groups = () if view.rates is None else view.rates.of_role(ServerRole.WEB)
        web = max(groups, key=lambda group: group.cpu or 0.0, default=None)
        return () if web is None else line(Span(f"{web.processes} {web.group} {percent(web.cpu)} % cpu", Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        known = None if view.rates is None else view.rates.processes
        if known is None:
            return self.words(view.why_nothing("processes"), cells, rows)
        found = ordered([p for p in known if matches(p, self.filter)], self.column, reverse=self.reversed)
        self.first = max(0, min(self.first, len(found) - rows + 1))
        columns = shown_columns(cells, self.column)
        shown = [self._row(process, columns) for process in found[self.first : self.first + rows - 1]]
        return [self._head(columns), *shown, *([] if found else self.words(tr("No process matches."), cells, 1))]

    def on_click(self, event: events.Click) -> None:
        column = next((name for name, first, end in self._heads if event.y == 1 and first <= event.x < end), "")
        if column in ORDERS:
            event.stop()
            event.prevent_default()
            self.order_by(column)
            self.post_message(self.Picked(self.KEY, may_zoom=False))

    def action_scroll_by(self, lines: int) -> None:
        self.first = max(0, self.first + lines)
        self.post_message(self.Picked(self.KEY, may_zoom=False))

    def _head(self, columns: Sequence[Column]) -> Line:
        spans: list[Span] = []
        self._heads = []
        x = 2
        for column in columns:
            mine = column.name == self.column
            rising = (column.name in ("pid", *LEFT)) != self.reversed
            arrow = (self.glyphs.up if rising else self.glyphs.down) if mine else " "
            text = pad(f"{arrow}{column.name}", column.cells, right=column.name not in LEFT)
            spans.append(Span(text, Role.KEY if mine else Role.DIM))
            self._heads.append((column.name, x, x + len(text)))
            x += len(text)
        return tuple(spans)

    def _row(self, rates: ProcessRates, columns: Sequence[Column]) -> Line:
        process = rates.process
        bar = gauge(rates.cpu, 10, utilisation((rates.cpu or 0.0) / 100.0), self.glyphs)
        drawn: dict[str, Line] = {
            "pid": (Span(f"{process.pid:7d}", Role.DIM),),
            "s": (Span(f" {safe(process.state)[:1] or '?'}", _STATES.get(process.state, Role.DIM)),),
            "thr": (Span(f"{process.threads:5d}", Role.DIM),),
            "cpu%": (Span(percent(rates.cpu, 5), Role.VALUE),),
            "": (Span(" "), *bar),
            "wait%": (Span(percent(rates.wait, 6)),),
            "rss": (Span(size(process.rss_kb, 7)),),
            "pss": (Span(size(process.pss_kb, 7), Role.DIM),),
            "group": (Span(f" {pad(clip(safe(process.group), 10, self.glyphs.ellipsis), 10)}", Role.DIM),),
            "name": (Span(f" {safe(process.name)}"),),
        }
        return tuple(span for column in columns for span in drawn[column.name])


def shown_columns(cells: int, ordered_by: str) -> list[Column]:
    """The columns that have room, and the one that orders. If that has none, others make room, not the names."""
    room = cells - sum(column.cells for column in COLUMNS if column.name == ordered_by and cells < column.least)
    return [column for column in COLUMNS if room >= column.least or column.name == ordered_by]


def matches(rates: ProcessRates, text: str) -> bool:
    """Whether name, pid or group of a process contains the text, ignoring case."""
    process = rates.process
    wanted = text.casefold()
    return any(wanted in part for part in (process.name.casefold(), str(process.pid), process.group))


def ordered(processes: Sequence[ProcessRates], column: str = "cpu%", *, reverse: bool = False) -> list[ProcessRates]:
    key = ORDERS[column]
    quiet = sorted(processes, key=lambda p: (_rank(p), p.process.pid))
    return sorted(quiet, key=lambda p: (key(p),), reverse=reverse)
