"""A screen of text: lines in a frame that can be scrolled, and closed with the key that opened it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from loadtop.i18n import Translatable, tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role
from tui.state.view import View
from tui.widgets.lines import WheelScrolled
from tui.widgets.page import Page
from tui.widgets.screen import LiveScreen


class PageScreen(WheelScrolled, LiveScreen, inherit_bindings=False):
    """Subclasses say what ``HEADING`` and ``text`` are."""

    HEADING: Translatable = ""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "close"),
        Binding("down,j", "scroll_by(1)", "down"),
        Binding("up,k", "scroll_by(-1)", "up"),
        Binding("pagedown,space", "scroll_by(15)", "down"),
        Binding("pageup", "scroll_by(-15)", "up"),
        Binding("home", "scroll_by(-100000)", "top"),
        Binding("end", "scroll_by(100000)", "end"),
    ]

    def __init__(self, appearance: Appearance, view: View) -> None:
        super().__init__()
        self.appearance = appearance
        self.glyphs = appearance.glyphs
        self._page = Page(appearance)
        self._view = view
        self._message: str = ""

    def compose(self) -> ComposeResult:
        yield self._page

    def text(self, view: View, cells: int) -> Sequence[Line]:
        """The lines to show in this width."""
        raise NotImplementedError

    def footer(self) -> Translatable:
        """The keys, for the last line."""
        return "escape back   up, down scroll"

    def show_view(self, view: View) -> None:
        self._view = view
        footer = self._message or tr(self.footer())
        with self.together():
            self._page.draw(tr(self.HEADING), self.text(view, self._page.size.width - 4), footer)

    def say(self, text: str, role: Role = Role.VALUE) -> None:  # noqa: ARG002 (a page's last line has one role)
        self._message = text
        self.show_view(self._view)

    def fill(self) -> None:
        self.show_view(self._view)

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll_by(self, lines: int) -> None:
        self._page.top += lines
        self.show_view(self._view)
