"""A screen that redraws little: all that one picture changes goes to the terminal at once, and nothing twice.

Textual would tell each widget of its changed spans, have each tell the screen, and paint at its next beat; and it would
paint a new arrangement blank before its widgets are told that they have a new size. That is a detail of Textual that
is not promised to stay; without it the cockpit looks the same and costs more.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget

from tui.widgets.compositor import SpanCompositor


class RedrawScreen(Screen[None]):
    """Sends only what changed, and has the app's size.

    Textual forgets with each update which of its own widgets (a question's answer) have something to show: they are
    painted with it.

    Textual lays a screen out again for each of its resize events, and sends it one for each layout. Two of different
    sizes on their way at once (a terminal of size 0x0, or one resized while the app starts) would chase each other for
    ever.
    """

    ALLOW_SELECT = False
    """Textual's selection of text breaks where a click meets no widget; the terminal's own works with shift held."""

    def __init__(self) -> None:
        super().__init__()
        self._spans = SpanCompositor()
        self._compositor = self._spans
        self._together = False
        self._laid_out: bool = False

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
        if self._batches:
            return
        self._spans.update_widgets(self._dirty_widgets)
        if self._spans.is_dirty:
            super()._compositor_refresh()

    def takes(self, widget: Widget, regions: Iterable[Region]) -> bool:
        """Whether these regions of a widget will be painted at the end of :meth:`together`."""
        if self._together:
            self._spans.touch(widget, regions)
        return self._together

    @property
    def _batches(self) -> bool:
        """Whether Textual holds paint back; it paints at the end of that."""
        return bool(self._whole._batch_count)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

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
