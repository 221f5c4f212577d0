"""The command palette: everything that can be done, found by typing a part of its name."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct
from textual import events
from textual.geometry import Region
from textual.message import Message

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, clip, fit, safe, spread, width
from tui.widgets.lines import Lines, WheelScrolled

WIDE, HIGH = 72, 18  # cells and rows of the palette where there is room


class Entry(Struct, frozen=True):
    """Something to do: what it is called, its key (empty: it has none), and the action."""

    title: str
    key: str
    action: str


def matching(entries: Sequence[Entry], typed: str) -> list[Entry]:
    """The entries that contain every word typed: first those that start with it, then those in which a word does."""
    wanted = typed.casefold().split()
    found = [entry for entry in entries if all(word in entry.title.casefold() or word == entry.key for word in wanted)]
    if not wanted:
        return found

    def distance(entry: Entry) -> tuple[bool, bool]:
        title = entry.title.casefold()
        return not title.startswith(wanted[0]), f" {wanted[0]}" not in f" {title}"

    return sorted(found, key=distance)


class Palette(WheelScrolled, Lines):
    """Lies over the panels, which are still updated. It gets every key while it is open."""

    can_focus = True

    @dataclass
    class Done(Message):
        """An action was chosen; an empty one: nothing was."""

        action: str

    def __init__(self, appearance: Appearance, entries: Sequence[Entry]) -> None:
        super().__init__(appearance, "palette")
        self._entries = entries
        self._typed = ""
        self._at = 0
        self._top = 0

    def place(self, columns: int, rows: int) -> Region:
        cells, high = min(WIDE, columns - 4), max(3, min(HIGH, rows - 4))
        return Region((columns - cells) // 2, min(2, rows - high), cells, high)

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        cells, rows = self.size
        if cells < 10 or rows < 3:
            return
        found, room = matching(self._entries, self._typed), rows - 3
        self._at = max(0, min(self._at, len(found) - 1))
        self._top = max(min(self._top, self._at, len(found) - room), self._at - room + 1, 0)
        typed = (Span("> ", Role.KEY), Span(clip(self._typed, cells - 8, ""), Role.VALUE), Span(" ", Role.SELECTED))
        hint = () if self._typed else (Span(tr(" type to filter"), Role.DIM),)
        content = [(Span(" "), *fit((*typed, *hint), cells - 4), Span(" "))]
        content += [self._row(found, index, cells - 2) for index in range(self._top, self._top + room)]
        count = tr(" {shown} of {all} ", shown=len(found), all=len(self._entries))
        self.show(self.framed(content, Role.CHOSEN, tr("commands"), above=(Span(count, Role.DIM),)))

    def _row(self, found: Sequence[Entry], index: int, cells: int) -> Line:
        if index >= len(found):
            return (Span(" " * cells),)
        entry = found[index]
        key = f" {entry.key} "
        title = clip(safe(entry.title), cells - 1 - width(key), self.glyphs.ellipsis)
        drawn = spread((Span(f" {title}"),), (Span(key, Role.KEY),), cells)
        return tuple(Span(span.text, Role.SELECTED) for span in drawn) if index == self._at else drawn

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        page = self.size.height - 3
        steps = {"down": 1, "tab": 1, "ctrl+n": 1, "up": -1, "shift+tab": -1, "ctrl+p": -1}
        steps |= {"pagedown": page, "pageup": -page}
        typed = {"backspace": self._typed[:-1], "ctrl+u": ""}
        if event.key in ("escape", "enter"):
            found = matching(self._entries, self._typed)
            self.post_message(self.Done(found[self._at].action if found and event.key == "enter" else ""))
            return
        if event.key in steps:
            self._at += steps[event.key]
        elif event.key in typed:
            self._typed, self._at = typed[event.key], 0
        elif event.character is not None and event.character.isprintable():
            self._typed, self._at = self._typed + event.character, 0
        self.draw()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        found = matching(self._entries, self._typed)
        index = self._top + event.y - 2
        if 2 <= event.y < self.size.height - 1 and index < len(found):
            self.post_message(self.Done(found[index].action))

    def on_blur(self) -> None:
        self.post_message(self.Done(""))

    def action_scroll_by(self, lines: int) -> None:
        self._at += lines // abs(lines)
        self.draw()
