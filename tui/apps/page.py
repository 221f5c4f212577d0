"""An app that shows one page: text in a frame that can be scrolled and saved as a picture."""

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.apps.terminal import TerminalDriver
from tui.drawing.appearance import Appearance
from tui.widgets.lines import RedrawScreen
from tui.widgets.page import SCROLL_KEYS, Page, ScrolledPage

Answer = TypeVar("Answer")


class _PageScreen(RedrawScreen):
    def __init__(self, draw: Callable[[], None]) -> None:
        super().__init__()
        self._draw = draw

    def fill(self) -> None:
        self._draw()


class PageApp(ScrolledPage, App[Answer], Generic[Answer], inherit_bindings=False):
    """An app that is a page. ``Answer`` is what the page is left with."""

    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    TITLE = "loadtop"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c,ctrl+q", "leave", "quit", priority=True),
        Binding("p,ctrl+s", "picture", "picture"),
        *SCROLL_KEYS,
    ]

    def __init__(self, *, appearance: Appearance | None = None) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.animation_level = "none"
        self.appearance = appearance or Appearance.of_terminal()
        self.glyphs = self.appearance.glyphs
        self.page = Page(self.appearance)

    def get_default_screen(self) -> Screen[None]:
        return _PageScreen(self.draw)

    def compose(self) -> ComposeResult:
        yield self.page

    def say(self, text: str) -> None:
        self.message = text
        self.draw()

    def hang_up(self) -> None:
        self.exit()

    def on_key(self) -> None:
        self.message = ""

    def action_leave(self) -> None:
        self.exit()

    def action_picture(self) -> None:
        from tui.widgets.picture import save_picture

        self.say(save_picture(self.screen, self.appearance, self.HEADING)[0])
