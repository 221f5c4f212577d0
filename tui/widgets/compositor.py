"""Partial updates of a screen: of a line that changed in part, only that part is sent.

Textual's own update sends such a line from the left edge of its widget on, and renders every line of each changed
widget before it cuts them. This uses private parts of Textual (see pyproject.toml for the version). Without it the
cockpit looks the same, sends two to three times as many bytes and costs more.
"""

from collections.abc import Iterable, Iterator

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console
from rich.segment import Segment
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.drawing.text import narrow

Stretch = tuple[int, int]
"""First column, and one past the last."""

Shown = tuple[Widget, Region, Region]
"""A widget in a row, the part of it that is not clipped, and all of it; those in front come first."""


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
    """The strip from cell ``first`` up to ``last``, as text for the terminal."""
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
