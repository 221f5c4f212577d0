"""The last line: keys to press or click, or a message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual import events
from textual.message import Message

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, length
from tui.drawing.text import safe, width
from tui.widgets.keys import KEYS, Key
from tui.widgets.lines import Lines

GAP = 2  # cells after a key with a label


def arrange(cells: int, keys: Iterable[Key] = KEYS, first: int = 1) -> list[tuple[Key, int, int]]:
    """The keys that fit between cell ``first`` and ``cells``, each with its cells (first, one past last)."""
    kept: list[Key] = [key for key in keys if key.footer]
    while kept and first + sum(map(_size, kept)) - GAP > cells:
        worst = max(key.rank for key in kept)
        kept = [key for key in kept if key.rank != worst]
    found: list[tuple[Key, int, int]] = []
    for key in kept:
        found.append((key, first, first + _size(key)))
        first += _size(key)
    return found


def _size(key: Key) -> int:
    return len(key.shown) + 1 + (width(tr(key.label)) + GAP if key.label else 0)


class KeyBar(Lines):
    """Shows what ``before`` says and the keys that fit; a message takes their place."""

    @dataclass
    class Pressed(Message):
        action: str

    def __init__(self, appearance: Appearance, keys: Sequence[Key] = KEYS) -> None:
        super().__init__(appearance, "keys")
        self._keys = keys
        self._message: tuple[str, Role] | None = None

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message; an empty one brings the keys back."""
        self._message = (safe(text), role) if text else None
        self.draw()

    def before(self) -> Line:
        return (Span(" "),)

    def draw(self) -> None:
        if self._message is not None:
            self.show([(Span(" "), Span(*self._message))])
            return
        spans = list(self.before())
        for key, _, _ in arrange(self.size.width, self._keys, length(spans)):
            spans += [Span(key.shown, Role.KEY), Span(f" {tr(key.label)}  " if key.label else " ", Role.DIM)]
        self.show([(*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].role))])

    def on_resize(self) -> None:
        self.draw()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if self._message is None:
            for key, start, end in arrange(self.size.width, self._keys, length(self.before())):
                if start <= event.x < end:
                    self.post_message(self.Pressed(key.action))
