"""Apache: how many of its worker slots are taken, and by what."""

import re
from collections.abc import Sequence

from loadtop.i18n import Translatable, tr
from loadtop.model import SERVING
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import GROUP, ApacheStatus
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, flow, length, line, safe
from tui.drawing.numbers import per_second
from tui.panels.server import ServerPanel, fullness, highest_fullness, is_full
from tui.state.view import Curve, View

_SLOTS: dict[str, tuple[Translatable, Role]] = {
    "W": ("sending", Role.USER),
    "R": ("reading", Role.SYSTEM),
    "K": ("keep-alive", Role.IOWAIT),
    "D": ("DNS", Role.WARN),
    "C": ("closing", Role.STEAL),
    "L": ("logging", Role.SYSTEM),
    "G": ("finishing", Role.STEAL),
    "S": ("starting", Role.GOOD),
    "I": ("cleanup", Role.STEAL),
    "_": ("waiting", Role.DIM),
    ".": ("open", Role.EMPTY),
}
"""The states of a slot, as mod_status names them, in the order of drawing."""

_ORDER = "".join(_SLOTS)
_RUN = re.compile(r"(.)\1{0,9999}")
_UNKNOWN: tuple[Translatable, Role] = ("unknown", Role.WARN)


def counted(scoreboard: str) -> list[tuple[str, int]]:
    """Letters with their numbers, in the order of drawing; unknown letters first."""
    letters = sorted(set(scoreboard), key=lambda letter: (_ORDER.find(letter), letter))
    return [(letter, scoreboard.count(letter)) for letter in letters]


def slots(scoreboard: str, cells: int, rows: int) -> list[Line]:
    """The scoreboard; with more slots than cells each letter gets its share, and at least one cell."""
    if cells <= 0 or rows <= 0 or not scoreboard:
        return []
    groups, room = counted(scoreboard), cells * rows
    if len(scoreboard) > room:
        groups = _scaled(groups, len(scoreboard), room)
    drawn = "".join(letter * number for letter, number in groups)
    starts = range(0, min(len(drawn), room), cells)
    runs = (_RUN.finditer(drawn, at, at + cells) for at in starts)
    return [tuple(Span(run[0], _SLOTS.get(run[1], _UNKNOWN)[1]) for run in row) for row in runs]


def legend(scoreboard: str, cells: int, rows: int) -> list[Line]:
    """What the letters mean and how many there are of each, as many as fit into ``rows`` lines."""
    items: list[Line] = []
    for letter, number in counted(scoreboard):
        name, role = _SLOTS.get(letter, _UNKNOWN)
        items.append((Span(letter, role), Span(f" {number}", Role.VALUE), Span(f" {tr(name)}", Role.DIM)))
    return flow(items, (Span("  "),), cells, rows)


def _scaled(groups: list[tuple[str, int]], whole: int, room: int) -> list[tuple[str, int]]:
    sizes = [max(1, number * room // whole) for _, number in groups]
    while sum(sizes) > room:  # letters of few slots have taken more than their share
        sizes[sizes.index(max(sizes))] -= 1
    sizes[sizes.index(max(sizes))] += room - sum(sizes)
    return [(letter, size) for (letter, _), size in zip(groups, sizes, strict=True)]


class ApachePanel(ServerPanel[ApacheStatus]):
    KIND = APACHE
    KEY = APACHE.name
    CURVES = (Curve("apache.full", highest_fullness(APACHE), "slots in use, 0 to {most}"),)

    def wanted(self, view: View) -> bool:
        """Also where no server of requests is seen: the panel says how to enable a status page."""
        rates = view.past.rates
        others = rates is not None and any(group.group != GROUP for group in rates.of_role(*SERVING))
        return not others or super().wanted(view)

    def records(self, view: View) -> Sequence[ServerRates[ApacheStatus]]:
        return APACHE.rates(view.rates_with(self.KEY))

    def title(self, view: View) -> Line:
        mpm = next((f" {safe(page.reading.mpm)}" for page in self.records(view)[:1] if page.reading.mpm), "")
        return line(Span("apache", Role.TITLE), Span(mpm))

    def tag(self, view: View) -> Line:
        for page in self.records(view)[:1]:
            return line(Span(per_second(page.per_second["accesses"], 5) + tr(" req/s"), Role.DIM))
        return ()

    def table(self, view: View, records: Sequence[ServerRates[ApacheStatus]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        page = records[0].reading
        if not page.capacity:
            return self.words(tr("The status page shows no scoreboard: is it mod_status?"), cells, rows)
        taken, digits = page.busy + page.graceful, len(str(page.capacity))
        role = Role.BAD if is_full(page.full) else Role.VALUE
        head = line(tr("busy "), Span(f"{taken:>{digits}d}", role), tr(" of {all}  ", all=page.capacity))
        lines = [(*head, *gauge(page.full, cells - length(head), fullness(page.full), self.glyphs))]
        lines += slots(page.scoreboard, cells, max(1, min(8, rows - 2)))
        return lines + legend(page.scoreboard, cells, max(1, min(2, rows - len(lines))))

    def graph(self, view: View, records: Sequence[ServerRates[ApacheStatus]], cells: int, rows: int) -> list[Line]:
        most = records[0].reading.capacity
        return self.past(self.CURVES[0], view, cells, rows, most=most) if most else []

    @classmethod
    def help_lines(cls) -> list[Line]:
        lines: list[Line] = [line(Span(tr("Letters of Apache's scoreboard"), Role.TITLE))]
        return lines + [line("  ", Span(f"{key:<3}", role), tr(name)) for key, (name, role) in _SLOTS.items()]
