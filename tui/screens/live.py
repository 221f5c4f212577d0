"""What all screens have in common: they are shown views, and say things in their last line."""

from textual.screen import Screen

from tui.compositor import SpanCompositor
from tui.drawing.line import Role
from tui.view import View


class LiveScreen(Screen[None]):
    """A screen that is shown each new view."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SpanCompositor()

    def show_view(self, view: View) -> None:
        """Draw this view."""
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one takes it back."""
        raise NotImplementedError
