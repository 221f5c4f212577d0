"""Widgets that are lists of lines, on screens that redraw only what changed in them.

Of a line that changed in part, only that part is sent, and all that one view changes goes to the terminal at once.
Textual's own update sends such a line from the left edge of its widget on, renders every line of each changed widget
before it cuts them, and paints a new arrangement blank before the widgets know their new size. This uses private parts
of Textual (version: pyproject.toml). Without it the cockpit looks the same and sends two to three times the bytes.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console
from rich.segment import Segment
from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, changed, fit, length, narrow, width
from tui.state.view import View

Stretch = tuple[int, int]  # first column, and one past the last
Shown = tuple[Widget, Region, Region]  # a widget in a row, what of it is not clipped, all of it; those in front first


class SpanUpdate(ChopsUpdate):
    def __init__(self, spans: list[tuple[int, int, int]], layers: list[list[Shown]]) -> None:
        super().__init__([], spans, [])
        self._layers = layers

    def render_segments(self, console: Console) -> str:
        sent: list[str] = []
        system = COLOR_SYSTEMS[console.color_system or "truecolor"]
        for y, first, last in self.spans:
            for start, end, widget, region in _in_front(self._layers[y], (first, last)):
                sent.append(f"\x1b[{y + 1};{start + 1}H")
                (strip,) = widget.render_lines(Region(0, y - region.y, region.width, 1))
                sent += _cut(strip, start - region.x, end - region.x, system)
        return "".join(sent)


class SpanCompositor(Compositor):
    """Textual's compositor with partial updates that are cut to what changed."""

    @property
    def is_dirty(self) -> bool:
        return bool(self._dirty_regions)

    def touch(self, widget: Widget, regions: Iterable[Region]) -> None:
        """Paint these regions of a widget with the next update; no regions: all of it."""
        if (found := self.visible_widgets.get(widget)) is None:
            return
        region, clip = found
        spans = [clip.intersection(part.translate(region.offset)) for part in regions] or [clip.intersection(region)]
        self._dirty_regions.update(part for part in spans if part)

    def render_partial_update(self) -> ChopsUpdate | None:
        """The spans that changed; ``None`` where nothing did."""
        screen = self.size.region
        dirty = [part for each in self._dirty_regions if (part := screen.intersection(each))]
        self._dirty_regions.clear()
        return SpanUpdate(list(self._regions_to_spans(dirty)), self.layers_visible) if dirty else None


def _in_front(row: list[Shown], stretch: Stretch) -> Iterator[tuple[int, int, Widget, Region]]:
    """The visible parts of a stretch of a row: first and last column, widget, and the widget's region."""
    free = [stretch]
    for widget, seen, region in row:
        left: list[Stretch] = []
        for first, last in free:
            start, end = max(first, seen.x), min(last, seen.right)
            if start >= end:
                left.append((first, last))
                continue
            yield start, end, widget, region
            left += [part for part in ((first, start), (end, last)) if part[0] < part[1]]
        free = left
        if not free:
            return


def _cut(strip: Iterable[Segment], first: int, last: int, system: ColorSystem) -> Iterator[str]:
    x = 0
    if not all(narrow(text) for text, _, _ in strip):
        strip, first, last = Strip(strip).crop(first, last), 0, last - first
    for text, style, control in strip:
        if control:
            continue
        begin, x = x, x + len(text)
        if x <= first:
            continue
        if begin >= last:
            return
        part = text[max(0, first - begin) : last - begin]
        yield part if style is None else Strip.render_style(style, part, color_system=system)


class LiveScreen(Screen[None]):
    """A screen that is given each new view. It sends only what changed, and has the app's size.

    With each update, Textual forgets which of its widgets (the answer to a question) have something to show: they are
    painted with it.

    Textual lays a screen out again for each of its resize events, and sends it one for each layout. Two different
    sizes at once (a terminal of size 0x0, or one resized while the app starts) would alternate forever.
    """

    ALLOW_SELECT = False  # Textual's breaks where a click meets no widget; the terminal's own works with shift

    def __init__(self) -> None:
        super().__init__()
        self._spans = SpanCompositor()
        self._compositor = self._spans
        self._together = False
        self._laid_out: bool = False

    def show_view(self, view: View) -> None:
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one removes it."""
        raise NotImplementedError

    def fill(self) -> None:
        """Draw everything: called when the widgets have new sizes, before they are painted."""

    @contextmanager
    def together(self) -> Generator[None]:
        """What is drawn within this goes to the terminal at its end."""
        if self._together or not self.is_current:
            yield
            return
        self._together = True
        try:
            yield
        finally:
            self._together = False
        if self._whole._batch_count:  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
            return  # Textual holds paint back, and paints at the end of that
        self._spans.update_widgets(self._dirty_widgets)
        if self._spans.is_dirty:
            super()._compositor_refresh()

    def takes(self, widget: Widget, regions: Iterable[Region]) -> bool:
        """Whether these regions of a widget will be painted at the end of :meth:`together`."""
        if self._together:
            self._spans.touch(widget, regions)
        return self._together

    @property
    def _whole(self) -> App[object]:
        return self.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002 (it may be an older one)
        super()._screen_resized(self._whole.size)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
        self._laid_out = True
        super()._refresh_layout(size, scroll)

    def _compositor_refresh(self) -> None:
        if self._laid_out and not self._together:
            self._laid_out, self._together = False, True
            try:
                self.fill()
            finally:
                self._together = False
        self._spans.update_widgets(self._dirty_widgets)
        super()._compositor_refresh()


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

    Sending whole widgets again at every tick costs ten times the bytes and twice the CPU time.
    """

    ALLOW_SELECT = False

    def __init__(self, appearance: Appearance, name: str) -> None:
        super().__init__(name=name)
        self.appearance = appearance
        self.glyphs = appearance.glyphs
        self.lines: list[Line] = []
        self._strips: dict[int, tuple[Line, Strip]] = {}

    def framed(self, content: Iterable[Line], role: Role, title: str, above: Line = (), below: Line = ()) -> list[Line]:
        """Lines that fill the widget's width but for a frame, in one; ``above`` and ``below`` are at its right."""
        joint, rail = self.glyphs.junctions, self.glyphs.rail
        cells, wall = self.size.width, Span(joint[5], role)
        name = fit((Span(f" {title} ", Role.TITLE),), min(cells - 4, width(title) + 2), self.glyphs.ellipsis)
        upper = Span(rail * (cells - 4 - length(name) - length(above)), role)
        lower = Span(joint[3] + rail * (cells - 3 - length(below)), role)
        return [
            (Span(joint[6] + rail, role), *name, upper, *above, Span(rail + joint[12], role)),
            *((wall, *each, wall) for each in content),
            (lower, *below, Span(rail + joint[9], role)),
        ]

    def show(self, lines: Sequence[Line]) -> None:
        """Show these lines from the top, cut or padded to the widget's width; missing ones are blank."""
        cells, rows = self.size
        ellipsis = self.glyphs.ellipsis
        self.show_fitted([fit(lines[y] if y < len(lines) else (), cells, ellipsis) for y in range(rows)])

    def show_fitted(self, lines: list[Line]) -> None:
        """Show these lines, which are as many and as long as the widget has room for."""
        old = self.lines
        self.lines = lines
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
        screen = self.screen
        if not (isinstance(screen, LiveScreen) and screen.takes(self, regions)):
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        if y >= len(self.lines):
            return Strip.blank(self.size.width)
        line = self.lines[y]
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
