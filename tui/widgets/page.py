"""A framed text that can be scrolled, with a line below it."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from loadtop.i18n import Translatable, tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, fit, width
from tui.state.view import View
from tui.widgets.lines import Lines, LiveScreen, WheelScrolled

SCROLL_KEYS: tuple[BindingType, ...] = (
    Binding("down,j", "scroll_by(1)", "down"),
    Binding("up,k", "scroll_by(-1)", "up"),
    Binding("pagedown,space", "scroll_by(15)", "down"),
    Binding("pageup", "scroll_by(-15)", "up"),
    Binding("home", "scroll_by(-1000000)", "top"),
    Binding("end", "scroll_by(1000000)", "end"),
)


class PageScreen(WheelScrolled, LiveScreen, inherit_bindings=False):
    """Shows a page. Subclasses define ``HEADING`` and ``text``; those over the cockpit are given its view."""

    HEADING: Translatable = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "close"), *SCROLL_KEYS]
    view: View

    def __init__(self, appearance: Appearance, view: View | None = None) -> None:
        super().__init__()
        self.appearance = appearance
        self.glyphs = appearance.glyphs
        self.page = Lines(appearance, "page")
        self.top = 0
        self.message = ""
        if view is not None:
            self.view = view

    def text(self, cells: int) -> Sequence[Line]:
        raise NotImplementedError

    def footer(self) -> str:
        return tr("escape back   up, down scroll")

    def compose(self) -> ComposeResult:
        yield self.page

    def show_view(self, view: View) -> None:
        self.view = view
        self.fill()

    def say(self, text: str, role: Role = Role.VALUE) -> None:  # noqa: ARG002 (a page's last line has one role)
        self.message = text
        self.fill()

    def fill(self) -> None:
        cells, rows = self.page.size
        if cells < 8 or rows < 4:
            return
        text, room = self.text(cells - 4), rows - 3
        self.top = max(0, min(self.top, len(text) - room))
        shown = [*text[self.top : self.top + room], *[()] * (room - len(text))]
        content = ((Span(" "), *fit(each, cells - 4, self.glyphs.ellipsis), Span(" ")) for each in shown)
        hidden = len(text) - self.top - room
        words = f" {self.glyphs.down} {tr('{number} more', number=hidden)} "
        more = (Span(words, Role.DIM),) if hidden > 0 and width(words) <= cells - 6 else ()
        drawn = self.page.framed(content, Role.FRAME, tr(self.HEADING), below=more)
        with self.together():
            self.page.show([*drawn, (Span(f" {self.message or self.footer()}", Role.DIM),)])

    def action_scroll_by(self, lines: int) -> None:
        self.top += lines
        self.fill()

    def action_close(self) -> None:
        self.dismiss()
