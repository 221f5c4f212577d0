"""The list of recordings, to be replayed or compared."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple, cast

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType

from loadtop.i18n import Translatable, duration, pad, tr
from loadtop.recording.library import Recording
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, clip_middle, fit, line, message_text, safe
from tui.widgets.page import SCROLL_KEYS, PageScreen

STARTED, LASTED, LIMIT = 18, 14, 18  # cells of the columns; the target has the rest
ROOMY = 70  # cells from which on there is room for how long a test lasted
AROUND = 3  # lines of the page that are not recordings: the heading, a blank line, the path


class Chosen(NamedTuple):
    """What to do, as a verb of the command line, and with which recordings."""

    verb: str
    paths: tuple[Path, ...]


class SessionsPage(PageScreen, inherit_bindings=False):
    """Recordings, newest first. ``at`` is the one chosen at first."""

    HEADING: Translatable = "sessions"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,r", "replay", "replay"),
        Binding("space", "mark", "mark"),
        Binding("c", "compare", "compare"),
        Binding("pagedown", "scroll_by(10)", "down"),
        Binding("pageup", "scroll_by(-10)", "up"),
        *SCROLL_KEYS,
    ]

    def __init__(self, appearance: Appearance, found: Sequence[Recording], *, at: Path | None = None) -> None:
        super().__init__(appearance)
        self._found = sorted(found, key=lambda entry: entry.started, reverse=True)
        self._at = next((index for index, entry in enumerate(self._found) if entry.path == at), 0)
        self._top = 0
        self._marked: list[Path] = []

    def text(self, cells: int) -> Sequence[Line]:
        room = max(1, self.page.size.height - 3 - AROUND)
        self._top = max(self._at - room + 1, min(self._top, self._at), 0)
        lasted = pad(tr("duration"), LASTED) if cells >= ROOMY else ""
        heads = f"  {pad(tr('started'), STARTED)}{lasted}{pad(tr('limit'), LIMIT)}{tr('target')}"
        lines: list[Line] = [line(Span(heads, Role.DIM))]
        shown = range(self._top, self._top + room)
        lines += [self._row(index, cells) if index < len(self._found) else () for index in shown]
        path = clip_middle(safe(str(self._found[self._at].path)), cells - 2, self.glyphs.ellipsis)
        return [*lines, (), line(Span(f"  {path}", Role.DIM))]

    def _row(self, index: int, cells: int) -> Line:
        entry = self._found[index]
        number = self._marked.index(entry.path) if entry.path in self._marked else None
        mark = "  " if number is None else f"{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[number % 26]} "
        if entry.problem:
            row = line(Span(mark), Span(safe(entry.path.name)), Span(f"  {message_text(entry.problem)}", Role.WARN))
        else:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.started))
            calm = entry.verdict in ("", "none")
            row = line(
                Span(mark, Role.ACCENT), Span(pad(when, STARTED)),
                Span(pad(duration(entry.duration_s), LASTED) if cells >= ROOMY else ""),
                Span(pad(tr(safe(entry.verdict)), LIMIT), Role.GOOD if calm else Role.BAD), Span(safe(entry.what)),
            )  # fmt: skip
        if index != self._at:
            return row
        return tuple(Span(span.text, Role.SELECTED) for span in fit(row, cells, self.glyphs.ellipsis))

    def footer(self) -> str:
        return tr("enter replay  space select  c compare  p picture  q quit")

    def action_scroll_by(self, lines: int) -> None:
        self._at = max(0, min(self._at + lines, len(self._found) - 1))
        self.fill()

    def action_replay(self) -> None:
        entry = self._found[self._at]
        if entry.problem:
            self.say(message_text(entry.problem))
        else:
            self._leave(Chosen("replay", (entry.path,)))

    def _leave(self, chosen: Chosen) -> None:
        cast("App[Chosen]", self.app).exit(chosen)  # pyright: ignore[reportUnknownMemberType]

    def action_mark(self) -> None:
        entry = self._found[self._at]
        if entry.path in self._marked:
            self._marked.remove(entry.path)
        elif not entry.problem:
            self._marked.append(entry.path)
        self.action_scroll_by(1)

    def action_compare(self) -> None:
        if len(self._marked) < 2:
            self.say(tr("select two or more with space; the others are compared with the first"))
        else:
            self._leave(Chosen("compare", tuple(self._marked)))

    def on_click(self, event: events.Click) -> None:
        """A click chooses, a click on the chosen one replays it."""
        index = self._top + event.screen_y - 2
        if not self._top <= index < min(len(self._found), self._top + self.page.size.height - 3 - AROUND):
            return
        if index == self._at:
            self.action_replay()
        self._at = index
        self.fill()
