"""What the panels of all kinds of servers have in common."""

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from loadtop.model import State
from tui.drawing.line import Line, Role
from tui.state.view import View
from tui.widgets.panel import Panel

FULL_PCT = 95.0
"""Percent of a server's workers or connections from which it is shown as full: the threshold of the verdicts."""

FILLING_PCT = 60.0
"""Percent above which it is shown as filling up; our own."""

R = TypeVar("R")


def fullness(percent: float | None) -> Role:
    """The role of a gauge of workers or connections."""
    if percent is None or percent <= FILLING_PCT:
        return Role.FREE
    return Role.FULL if percent >= FULL_PCT else Role.FILLING


def is_full(percent: float | None) -> bool:
    return percent is not None and percent >= FULL_PCT


class ServerPanel(Panel, Generic[R]):
    """A panel for one kind of server. ``KEY`` is the name of the kind.

    Subclasses say what ``records`` are shown, as which ``table``, and which ``graph`` is drawn where there is room.
    One line in :mod:`tui.panels.registry` registers a panel.
    """

    GROUP: ClassVar[str]
    """The group of its processes."""

    def wanted(self, view: View) -> bool:
        """Whether such a server runs on the chosen machine, has records, or should answer and does not."""
        rates, sample = view.past.rates, view.sample
        known = view.past.servers.get(self.KEY)
        if rates is not None and (rates.group(self.GROUP) is not None or (known is not None and known[1] is rates)):
            return True
        outcomes = () if sample is None else sample.outcomes
        return any(found.collector == self.KEY and found.state is State.FAILED for found in outcomes)

    def records(self, view: View) -> Sequence[R]:
        """What is known of these servers on the chosen machine, fullest first."""
        raise NotImplementedError

    def table(self, records: Sequence[R], view: View, cells: int, rows: int) -> list[Line]:
        """The records, in at most ``rows`` lines."""
        raise NotImplementedError

    def graph(self, records: Sequence[R], view: View, cells: int, rows: int) -> list[Line]:
        """A past value in exactly ``rows`` lines, or nothing."""
        raise NotImplementedError

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        records = self.records(view)
        if not records:
            return self.words(view.why_nothing(self.KEY), cells, rows)
        lines = self.table(records, view, cells, rows)
        spare = rows - len(lines)
        return [*lines, *(self.graph(records, view, cells, spare) if spare >= 3 else [])][:rows]
