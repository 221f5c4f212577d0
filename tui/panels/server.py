"""What the panels of all kinds of servers have in common."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from loadtop.i18n import Translatable, pad, tr
from loadtop.model import State
from loadtop.model.server import FULL_PCT, Blocker, ServerReading, ServiceReading
from loadtop.rates.measured import HostView
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import AnyKind
from tui.drawing.graph import gauge
from tui.drawing.line import Line, Role, Span, length, line, message_text, width
from tui.drawing.numbers import count, per_second
from tui.state.view import View
from tui.widgets.panel import Panel

FILLING_PCT = 60.0  # percent above which it is shown as filling up; our own

R = TypeVar("R", bound=ServerReading)


def fullness(percent: float | None) -> Role:
    if percent is None or percent <= FILLING_PCT:
        return Role.FREE
    return Role.FULL if percent >= FULL_PCT else Role.FILLING


def is_full(percent: float | None) -> bool:
    return percent is not None and percent >= FULL_PCT


def highest_fullness(kind: AnyKind) -> Callable[[HostView], float | None]:
    """How full the fullest server of a kind is, in percent."""

    def value(host: HostView) -> float | None:
        known = (each.reading.full for each in kind.rates(host.rates))
        return max((full for full in known if full is not None), default=None)

    return value


def blocking(blocker: Blocker | None) -> list[Line]:
    """The session of a database that blocks most others: how many, what it does, and the lock."""
    if blocker is None:
        return []
    by = tr("blocked by {session} ", session=blocker.session)
    return [
        line(by, Span(count(blocker.blocked), Role.BAD)),
        line(Span(f"{message_text(blocker.activity)}: {message_text(blocker.lock)}", Role.DIM)),
    ]


Figures = Sequence[tuple[str, Sequence[Span]]]  # a title and its value, each in a line


class ServerPanel(Panel, Generic[R]):
    """A panel for one kind of server.

    A subclass sets ``KIND`` and ``KEY`` (the name of the kind), and says as which ``table`` its ``records`` are shown,
    and which ``graph`` is drawn where there is room. One line in :mod:`tui.panels.registry` registers it.
    """

    KIND: ClassVar[AnyKind]

    def wanted(self, view: View) -> bool:
        """Whether such a server runs on the chosen machine, has records, or should answer and does not."""
        rates, sample = view.past.rates, view.sample
        if rates is not None and (rates.servers.get(self.KEY) or rates.group(self.KIND.group) is not None):
            return True
        outcomes = () if sample is None else sample.outcomes
        return any(found.collector == self.KEY and found.state is State.FAILED for found in outcomes)

    def records(self, view: View) -> Sequence[ServerRates[R]]:
        """What is known of these servers on the chosen machine, in the order in which it is shown."""
        return self.KIND.rates(view.rates)

    def table(self, view: View, records: Sequence[ServerRates[R]], cells: int, rows: int) -> list[Line]:
        raise NotImplementedError

    def graph(self, view: View, records: Sequence[ServerRates[R]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        """The past of these servers in exactly ``rows`` lines, or nothing."""
        (curve,) = self.CURVES
        shown = curve.least is None or any(view.past.curves[curve.name])
        return self.past(curve, view, cells, rows) if shown else []

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        records = self.records(view)
        if not records:
            return self.words(view.why_nothing(self.KEY), cells, rows)
        lines = self.table(view, records, cells, rows)
        spare = rows - len(lines)
        return [*lines, *(self.graph(view, records, cells, spare) if spare >= 3 else [])][:rows]


class GaugePanel(ServerPanel[R]):
    """A panel that shows one server: a gauge, and figures below each other. ``RATE`` is the counter in its title."""

    RATE: ClassVar[Translatable]

    def records(self, view: View) -> Sequence[ServerRates[R]]:
        return sorted(super().records(view), key=self.rank)

    @staticmethod
    def rank(rates: ServerRates[R]) -> tuple[float, float]:
        """The least is that of the server to show."""
        raise NotImplementedError

    def tag(self, view: View) -> Line:
        rates = [each.per_second[self.RATE] for each in self.records(view)[:1]]
        return line(*(Span(f"{per_second(rate, 5)} {tr(self.RATE)}/s", Role.DIM) for rate in rates if rate is not None))

    def gauge(self, rates: ServerRates[R]) -> tuple[Line, float | None]:
        """What is before the gauge, and what it shows in percent."""
        raise NotImplementedError

    def figures(self, rates: ServerRates[R]) -> Figures:
        raise NotImplementedError

    def table(self, view: View, records: Sequence[ServerRates[R]], cells: int, rows: int) -> list[Line]:  # noqa: ARG002
        (head, share), figures = self.gauge(records[0]), self.figures(records[0])
        bar = gauge(None if share is None else min(100.0, share), cells - length(head), fullness(share), self.glyphs)
        rows_below = [(text, line(*spans)) for text, spans in figures]
        longest = max(length(value) for _, value in rows_below)
        name = min(max(width(text) for text, _ in rows_below) + 1, cells - longest)
        return [(*head, *bar), *(_labelled(text, name, value) for text, value in rows_below)][:rows]


def _labelled(text: str, cells: int, value: Line) -> Line:
    """A label of this width and its figure. A longer label takes from the spaces before the figure."""
    excess = min(width(text) - cells, len(value[0].text) - len(value[0].text.lstrip()) - 1) if value else 0
    if excess > 0:
        value = (value[0]._replace(text=value[0].text[excess:]), *value[1:])
    return line(pad(text, cells), *value)


S = TypeVar("S", bound=ServiceReading)


class ServicePanel(GaugePanel[S]):
    """A panel for databases or caches: also says where connections are refused, and which session blocks others."""

    @staticmethod
    def rank(rates: ServerRates[S]) -> tuple[float, float]:
        """Those with waits for locks first, then the fullest."""
        return -(rates.reading.service(rates.per_second).lock_waits or 0), -(rates.reading.full or 0.0)

    def gauge(self, rates: ServerRates[S]) -> tuple[Line, float | None]:
        """Connections of those that may be open."""
        status = rates.reading.service(rates.per_second)
        role = Role.BAD if status.refuses or is_full(rates.reading.full) else Role.VALUE
        limit = tr(" of {all}  ", all=count(status.connection_limit))
        return line(tr("connected "), Span(count(status.connected), role), limit), rates.reading.full

    def table(self, view: View, records: Sequence[ServerRates[S]], cells: int, rows: int) -> list[Line]:
        status = records[0].reading
        if status.refusal is not None:
            return self.words(message_text(status.refusal), cells, rows, Role.BAD)
        shown = super().table(view, records, cells, rows)
        return [*shown[:3], *blocking(status.blocker), *shown[3:]][:rows]
