"""Screens that redraw little: all that one view changes goes to the terminal at once, and nothing twice.

Textual's own way: each widget learns of its changed spans and tells the screen, which paints at its next refresh; and a
new arrangement is painted blank before the widgets know their new size. This relies on private parts of Textual (see
pyproject.toml for the version). Without it the cockpit looks the same and costs more.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

from textual.app import App
from textual.geometry import Region, Size
from textual.screen import Screen
from textual.widget import Widget

from tui.drawing.line import Role
from tui.state.view import View
from tui.widgets.compositor import SpanCompositor


class RedrawScreen(Screen[None]):
    """Sends only what changed, and has the app's size.

    With each update, Textual forgets which of its own widgets (the answer to a question) have something to show: they
    are painted with it.

    Textual lays a screen out again for each of its resize events, and sends it one for each layout. Two different
    sizes at once (a terminal of size 0x0, or one resized while the app starts) would alternate forever.
    """

    ALLOW_SELECT = False
    """Textual's selection of text breaks where a click meets no widget; the terminal's own works with shift."""

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


class LiveScreen(RedrawScreen):
    """A screen that is given each new view, and can show a message in its last line."""

    def show_view(self, view: View) -> None:
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one removes it."""
        raise NotImplementedError
