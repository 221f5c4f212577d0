"""A widget that is a list of lines and redraws only what changed in them."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, changed, fit
from tui.widgets.screen import RedrawScreen


class WheelScrolled:
    """Scrolls by three lines at each step of the mouse wheel."""

    def action_scroll_by(self, lines: int) -> None:
        raise NotImplementedError

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_scroll_by(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_scroll_by(-3)


class Lines(Widget, inherit_bindings=False):
    """Keeps its lines. :meth:`show` compares new ones with them and refreshes only the spans that differ.

    Sending whole widgets again at every tick costs ten times the bytes and twice the processor time.
    """

    ALLOW_SELECT = False

    def __init__(self, appearance: Appearance, name: str) -> None:
        super().__init__(name=name)
        self.appearance = appearance
        self.glyphs = appearance.glyphs
        self._lines: list[Line] = []
        self._strips: dict[int, tuple[Line, Strip]] = {}

    @property
    def lines(self) -> Sequence[Line]:
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from the top, cut or padded to the widget's width; missing ones are blank."""
        cells, rows = self.size
        ellipsis = self.glyphs.ellipsis
        self.show_fitted([fit(lines[y] if y < len(lines) else (), cells, ellipsis) for y in range(rows)])

    def show_fitted(self, lines: list[Line]) -> None:
        """Show these lines, which are as many and as long as the widget has room for."""
        old = self._lines
        self._lines = lines
        if len(old) != len(lines):
            self._paint(())
            return
        regions: list[Region] = []
        for y, (before, after) in enumerate(zip(old, lines, strict=True)):
            if before != after:
                regions += [Region(first, y, last - first, 1) for first, last in changed(before, after)]
        if regions:
            self._paint(regions)

    def _paint(self, regions: Sequence[Region]) -> None:
        """Paint these regions; no regions: all of it."""
        screen = self.screen
        if not (isinstance(screen, RedrawScreen) and screen.takes(self, regions)):
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        if y >= len(self._lines):
            return Strip.blank(self.size.width)
        line = self._lines[y]
        known = self._strips.get(y)
        if known is None or known[0] is not line:
            palette = self.appearance.palette
            known = line, Strip([Segment(text, palette[role]) for text, role in line])
            self._strips[y] = known
        return known[1]

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines in ``crop``. Textual would look up borders, padding and filters for each: there are none here."""
        lines = [self.render_line(y) for y in crop.line_range]
        whole = crop.x == 0 and crop.width >= self.outer_size.width
        return lines if whole else [strip.crop(crop.x, crop.right) for strip in lines]
