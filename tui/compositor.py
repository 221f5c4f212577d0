"""Sends less: of a line that changed in part, only that part.

Textual's own update sends such a line from the left edge of its widget on. Everything here is a detail of Textual that
is not promised to stay; without it the cockpit looks the same and sends two to three times as much.
"""

from collections.abc import Iterable, Iterator

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from tui.text import narrow


class SpanUpdate(ChopsUpdate):
    """Cuts every piece of a line to the cells that changed, at both ends."""

    def render_segments(self, console: Console) -> str:
        """What is sent to the terminal."""
        sent: list[str] = []
        system = COLOR_SYSTEMS[console.color_system or "truecolor"]
        for y, first, last in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                if strip is not None and x < last and first < end:
                    start = max(x, first)
                    sent.append(f"\x1b[{y + 1};{start + 1}H")
                    sent += _cut(strip, start - x, min(end, last) - x, system)
        return "".join(sent)


class SpanCompositor(Compositor):
    """Textual's compositor with partial updates that are cut to what changed."""

    @property
    def is_dirty(self) -> bool:
        """Whether there is anything to paint."""
        return bool(self._dirty_regions)

    def touch(self, widget: Widget, regions: Iterable[Region]) -> None:
        """Paint these regions of a widget with the next update; none: all of it. One that is not shown has none."""
        if (found := self.visible_widgets.get(widget)) is None:
            return
        region, clip = found
        spans = [clip.intersection(part.translate(region.offset)) for part in regions] or [clip.intersection(region)]
        self._dirty_regions.update(part for part in spans if part)

    def render_partial_update(self) -> ChopsUpdate | None:
        """The spans that are to be drawn again."""
        update = super().render_partial_update()
        return None if update is None else SpanUpdate(update.chops, update.spans, update.chop_ends)


def _cut(strip: Strip, first: int, last: int, system: ColorSystem) -> Iterator[str]:
    """The strip from cell ``first`` up to ``last``, as the terminal gets it. No piece becomes a strip of its own."""
    x = 0
    if not all(narrow(text) for text, _, _ in strip):
        strip, first, last = strip.crop(first, last), 0, last - first
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
