"""A screen of text: lines in a frame that can be scrolled, and closed with the key that opened it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.drawing.appearance import Appearance
from tui.drawing.line import Role
from tui.state.view import View
from tui.widgets.page import SCROLL_KEYS, Page, ScrolledPage
from tui.widgets.screen import LiveScreen


class PageScreen(ScrolledPage, LiveScreen, inherit_bindings=False):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "close"), *SCROLL_KEYS]

    def __init__(self, appearance: Appearance, view: View) -> None:
        super().__init__()
        self.glyphs = appearance.glyphs
        self.page = Page(appearance)
        self.view = view

    def compose(self) -> ComposeResult:
        yield self.page

    def show_view(self, view: View) -> None:
        self.view = view
        with self.together():
            self.draw()

    def say(self, text: str, role: Role = Role.VALUE) -> None:  # noqa: ARG002 (a page's last line has one role)
        self.message = text
        self.fill()

    def fill(self) -> None:
        self.show_view(self.view)

    def action_scroll_by(self, lines: int) -> None:
        with self.together():
            super().action_scroll_by(lines)

    def action_close(self) -> None:
        self.dismiss()
