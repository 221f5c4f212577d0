"""An app that shows one page."""

from typing import ClassVar, Generic, TypeVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.apps.terminal import TerminalDriver
from tui.widgets.page import PageScreen

Answer = TypeVar("Answer")


class PageApp(App[Answer], Generic[Answer], inherit_bindings=False):
    """``Answer`` is what the page is left with."""

    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    TITLE = "loadtop"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c,ctrl+q", "leave", "quit", priority=True),
        Binding("p,ctrl+s", "picture", "picture"),
    ]

    def __init__(self, page: PageScreen) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.animation_level = "none"
        self.shown = page

    def get_default_screen(self) -> Screen[None]:
        return self.shown

    def hang_up(self) -> None:
        self.exit()

    def on_key(self) -> None:
        """A message stays until the next key."""
        self.shown.message = ""

    def action_leave(self) -> None:
        self.exit()

    def action_picture(self) -> None:
        from tui.widgets.picture import save_picture

        self.shown.say(save_picture(self.screen, self.shown.appearance, self.shown.HEADING)[0])
