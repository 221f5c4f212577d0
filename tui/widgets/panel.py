"""A framed part of the cockpit: a title in its upper frame line, and content that is a function of the view."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.message import Message

from loadtop.i18n import Translatable, pad, tr
from tui.drawing.appearance import Appearance
from tui.drawing.graph import Ring, ceiling, graph, span_of, top_of, utilisation
from tui.drawing.layout import Placement
from tui.drawing.line import Line, Role, Span, clip_middle, fit, length, line, safe, width, wrap
from tui.state.view import Curve, View
from tui.widgets.lines import Lines

MOST_NAME = 16  # cells of a machine's name in a title


class Panel(Lines):
    """Draws its content in a frame. Subclasses define ``title`` and ``content`` as pure functions."""

    @dataclass
    class Picked(Message):
        """The panel was clicked; a panel that is already chosen is zoomed, if it ``may_zoom``."""

        panel: str
        may_zoom: bool = True

    KEY = ""  # the panel's name in the layout
    TAB: Translatable = ""  # its title where it shares its place with others; ``KEY`` where this is empty
    TITLE: Translatable = ""  # its title, where that is another one and always the same

    CURVES: ClassVar[Sequence[Curve]] = ()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, self.KEY)
        self.placement: Placement | None = None
        self.tabs: tuple[tuple[str, str], ...] = ()
        self._tabs_at: list[tuple[str, int, int]] = []
        self.chosen = False
        self.shown: frozenset[str] = frozenset()
        """The panels that have a place now."""

    @property
    def title_cells(self) -> int:
        """Room for the title in the upper frame line, between two cells of that line and a blank at each end."""
        return 0 if self.placement is None else self.placement.region.width - 6

    def wanted(self, view: View) -> bool:  # noqa: ARG002 (most are always wanted)
        return True

    def title(self, view: View) -> Line:  # noqa: ARG002 (many are always the same)
        return line(Span(tr(self.TITLE or self.TAB or self.KEY), Role.TITLE))

    def tag(self, view: View) -> Line:  # noqa: ARG002 (few panels want it)
        return ()

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        """The lines inside the frame, at most ``rows`` of them."""
        raise NotImplementedError

    def frame_role(self, view: View) -> Role:  # noqa: ARG002 (few panels want it)
        """The role of the frame lines that belong to this panel."""
        return Role.CHOSEN if self.chosen else Role.FRAME

    def rails(self, view: View, ceiling: str, floor: str) -> tuple[str, str]:  # noqa: ARG002 (as above)
        """Upper and lower frame line (empty where the lower neighbour draws it), for panels that write into them."""
        return ceiling, floor

    @classmethod
    def help_lines(cls) -> list[Line]:
        """What the help screen says about this panel: a title and lines; nothing for most."""
        return []

    def draw(self, view: View) -> None:
        placement = self.placement
        if placement is None or not self.size:
            return
        cells, rows = placement.inner
        frame = self.frame_role(view)
        ellipsis = self.glyphs.ellipsis
        content = self.content(view, cells - 2, rows)
        ceiling, floor = self.rails(view, placement.ceiling, placement.floor)
        drawn = [self._ceiling(view, ceiling, frame)]
        for y in range(rows):
            inside = fit(content[y] if y < len(content) else (), cells - 2, ellipsis)
            right = (Span(placement.edge[y], frame),) if placement.edge else ()
            drawn.append((Span(placement.walls[y], frame), Span(" "), *inside, Span(" "), *right))
        if floor:
            drawn.append((Span(floor, frame),))
        if self.size == placement.region.size:
            self.show_fitted(drawn)

    def past(self, curve: Curve, view: View, cells: int, rows: int, **figures: object) -> list[Line]:
        """The graph of one of the panel's ``CURVES``, of the chosen machine, below its caption."""
        ring = view.past.curves[curve.name]
        top = 100.0 if curve.least is None else self.top(ring, cells, curve.least, curve.round_up)
        role = utilisation if curve.least is None else curve.role
        words = tr(curve.caption, top=curve.show(top), **figures)
        return [self.caption(words, cells), *graph(ring, cells, rows - 1, top, self.glyphs, role)]

    def top(self, ring: Ring[float], cells: int, least: float, round_up: Callable[[float], float] = ceiling) -> float:
        return top_of(ring, span_of(cells, self.glyphs), least, round_up)

    def machine(self, view: View) -> str:
        host = view.host
        return "" if host is None else f"{clip_middle(safe(host.name), MOST_NAME, self.glyphs.ellipsis)} "

    def caption(self, words: str, cells: int) -> Line:
        return line(Span(pad(words, cells, right=True), Role.DIM))

    def words(self, text: str, cells: int, rows: int, role: Role = Role.DIM) -> list[Line]:
        return [line(Span(part, role)) for part in wrap(text, cells, rows, self.glyphs.ellipsis)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        tab = next((name for name, first, end in self._tabs_at if event.y == 0 and first <= event.x < end), self.KEY)
        self.post_message(self.Picked(tab))

    def _ceiling(self, view: View, rail: str, frame: Role) -> Line:
        """The upper frame line with title and, where there is room for both, tag; the line shows at both ends."""
        room = len(rail) - 4
        title, tag = self._with_tabs(self.title(view), room), self.tag(view)
        right = length(tag) + 2 if tag and length(title) + length(tag) + 4 <= room else 0
        left = min(length(title) + 2, room - right) if title else 0
        if left < 3:
            return (Span(rail, frame),)
        spans = [Span(rail[:2], frame), *fit((Span(" "), *title), left - 1, self.glyphs.ellipsis), Span(" ")]
        spans.append(Span(rail[2 + left : len(rail) - 2 - right], frame))
        if right:
            spans += [Span(" "), *fit(tag, right - 2), Span(" ")]
        spans.append(Span(rail[len(rail) - 2 :], frame))
        return tuple(spans)

    def _with_tabs(self, title: Line, room: int) -> Line:
        """The title, and the names of the panels behind this one, as far as there is room for them."""
        self._tabs_at = []
        for name, label in ((name, tr(label)) for name, label in self.tabs):
            if name != self.KEY and length(title) + width(label) + 4 <= room:
                first = 3 + length(title) + 2
                self._tabs_at.append((name, first, first + width(label)))
                title = (*title, Span(" |", Role.FRAME), Span(label, Role.TAB))
        return title
