"""An app that shows one page: text in a frame that can be scrolled and saved as a picture."""

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from loadtop.i18n import Translatable, tr
from tui.apps.terminal import TerminalDriver
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line
from tui.widgets.lines import WheelScrolled
from tui.widgets.page import Page
from tui.widgets.screen import RedrawScreen

Answer = TypeVar("Answer")


class _PageScreen(RedrawScreen):
    """Draws the page for every size it gets."""

    def __init__(self, draw: Callable[[], None]) -> None:
        super().__init__()
        self._draw = draw

    def fill(self) -> None:
        self._draw()


class PageApp(WheelScrolled, App[Answer], Generic[Answer], inherit_bindings=False):
    """Subclasses say what ``HEADING``, ``text`` and ``footer`` are. ``Answer`` is what the page is left with."""

    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    TITLE = "loadtop"
    HEADING: Translatable = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,ctrl+c,ctrl+q", "leave", "quit", priority=True),
        Binding("p,ctrl+s", "picture", "picture"),
        Binding("pagedown", "scroll_by(15)", "down"),
        Binding("pageup", "scroll_by(-15)", "up"),
        Binding("home", "scroll_by(-100000)", "top"),
        Binding("end", "scroll_by(100000)", "end"),
    ]

    def __init__(self, *, appearance: Appearance | None = None) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.animation_level = "none"
        self.appearance = appearance or Appearance.of_terminal()
        self.glyphs = self.appearance.glyphs
        self.page = Page(self.appearance)
        self._message = ""

    def get_default_screen(self) -> Screen[None]:
        return _PageScreen(self.draw)

    def compose(self) -> ComposeResult:
        yield self.page

    def text(self, cells: int) -> Sequence[Line]:
        """The lines to show in this width."""
        raise NotImplementedError

    def footer(self) -> str:
        """The keys, for the last line."""
        raise NotImplementedError

    def draw(self) -> None:
        cells = self.page.size.width - 4
        self.page.draw(tr(self.HEADING), self.text(cells), self._message or self.footer())

    def say(self, text: str) -> None:
        """Show a message in the last line, until the next key."""
        self._message = text
        self.draw()

    def hang_up(self) -> None:
        """Leave because the terminal is gone."""
        self.exit()

    def on_key(self) -> None:
        self._message = ""

    def action_leave(self) -> None:
        self.exit()

    def action_scroll_by(self, lines: int) -> None:
        self.page.top += lines
        self.draw()

    def action_picture(self) -> None:
        from tui.widgets.picture import save_picture

        self.say(save_picture(self.screen, self.appearance, self.HEADING)[0])
