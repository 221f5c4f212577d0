"""What all screens have in common: they are shown views, and say things in their last line."""

from tui.drawing.line import Role
from tui.steady import SteadyScreen
from tui.view import View


class LiveScreen(SteadyScreen):
    """A screen that is shown each new view."""

    def show_view(self, view: View) -> None:
        """Draw this view."""
        raise NotImplementedError

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line; an empty one takes it back."""
        raise NotImplementedError
