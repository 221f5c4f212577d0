"""What all screens have in common: they redraw little, are shown views, and say things in their last line."""

from textual.geometry import Size
from textual.screen import Screen

from tui.compositor import SpanCompositor
from tui.drawing.line import Role
from tui.view import View


class SteadyScreen(Screen[None]):
    """A screen that sends only what changed, and has the app's size.

    Textual lays a screen out again for each of its resize events, and sends it one for each layout. Two of different
    sizes on their way at once (a terminal of size 0x0, or one resized while the app starts) would chase each other for
    ever.
    """

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()

    def _screen_resized(self, size: Size) -> None:  # noqa: ARG002 (it may be an older one)
        super()._screen_resized(self.app.size)


class LiveScreen(SteadyScreen):
    """A screen that is shown each new view."""

    def show_view(self, view: View) -> None:
        """Draw this view."""
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one takes it back."""
        raise NotImplementedError
