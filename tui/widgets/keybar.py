"""The last line: keys to press or click, or what there is to say just now."""

from textual import events
from textual.message import Message

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role, Span
from tui.drawing.text import safe, width
from tui.widgets.keys import KEYS, Key
from tui.widgets.lines import Lines


def arrange(cells: int) -> list[tuple[Key, int, int]]:
    """The keys that fit into a line, each with the cells (first, one past last) it takes."""
    kept: list[Key] = [key for key in KEYS if key.footer]
    while kept and sum(_size(key) for key in kept) - 1 > cells:  # a blank before, none after the last
        worst = max(key.rank for key in kept)
        kept = [key for key in kept if key.rank != worst]
    found: list[tuple[Key, int, int]] = []
    x = 1
    for key in kept:
        found.append((key, x, x + _size(key)))
        x += _size(key)
    return found


def _size(key: Key) -> int:
    return len(key.shown) + 1 + (width(tr(key.label)) + 2 if key.label else 0)


class KeyBar(Lines):
    """Shows the keys; a message takes their place until it is taken back."""

    class Pressed(Message):
        """A key was clicked."""

        def __init__(self, action: str) -> None:
            super().__init__()
            self.action = action

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, "keys")
        self._said: tuple[str, Role] | None = None

    @property
    def says(self) -> bool:
        """Whether a message is in the place of the keys."""
        return self._said is not None

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in place of the keys; an empty one brings them back."""
        self._said = (safe(text), role) if text else None
        self.draw()

    def draw(self) -> None:
        """Show what there is to show."""
        if self._said is not None:
            self.show([(Span(" "), Span(*self._said))])
            return
        spans: list[Span] = [Span(" ")]
        for key, _, _ in arrange(self.size.width):
            spans += [Span(key.shown, Role.KEY), Span(f" {tr(key.label)}" if key.label else "", Role.DIM)]
            spans.append(Span("  " if key.label else " ", Role.DIM))
        spans = spans[:-1]
        self.show([tuple(spans)])

    def on_resize(self) -> None:
        """Other keys may fit now."""
        self.draw()

    def on_click(self, event: events.Click) -> None:
        """A click on a key does what the key does."""
        event.stop()
        if self._said is not None:
            return
        for key, start, end in arrange(self.size.width):
            if start <= event.x < end:
                self.post_message(self.Pressed(key.action))
                return
