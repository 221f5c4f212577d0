"""What all screens have in common: they are shown views, and say things in their last line."""

from tui.drawing.line import Role
from tui.state.view import View
from tui.widgets.screen import RedrawScreen


class LiveScreen(RedrawScreen):
    """A screen that is shown each new view."""

    def show_view(self, view: View) -> None:
        """Draw this view."""
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one takes it back."""
        raise NotImplementedError
