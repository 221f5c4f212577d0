"""The screen of the command that makes the load. Keys go to it once it is entered."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import events

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, line, message_text, safe, width
from tui.state.view import View
from tui.widgets.lines import WheelScrolled
from tui.widgets.panel import Panel

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from loadtop.engines.terminal import Terminal

LEAVE = "ctrl+right_square_bracket"  # the key that returns to the cockpit, as in telnet
LOOK_S = 0.1  # seconds between two checks of the screen for changes
ROLES = {(False, False): Role.TEXT, (False, True): Role.VALUE, (True, False): Role.ACCENT, (True, True): Role.ACCENT}
"""Of what the command shows, by whether it is reversed and bold."""

KEYS = {
    "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[1~", "end": "\x1b[4~",
    "insert": "\x1b[2~", "delete": "\x1b[3~", "pageup": "\x1b[5~", "pagedown": "\x1b[6~", "shift+tab": "\x1b[Z",
    "f1": "\x1b[[A", "f2": "\x1b[[B", "f3": "\x1b[[C", "f4": "\x1b[[D", "f5": "\x1b[[E", "f6": "\x1b[17~",
    "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
    "enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f", "ctrl+@": "\0",
}  # fmt: skip
"""What the keys without a character send, as the Linux console does (terminfo ``linux``)."""


class CommandPanel(WheelScrolled, Panel, can_focus=True):
    """What the command shows. A chosen panel scrolls; ``enter`` sends keys to the command until ``ctrl+]``."""

    KEY = "command"

    def __init__(self, appearance: Appearance, program: "CommandLoad", terminal: "Terminal") -> None:
        super().__init__(appearance)
        self.typing = False
        self._program = program
        self._terminal = terminal
        self._back = 0
        self._shown = -1
        self._finished: bool = False
        self._view: View | None = None

    def title(self, view: View) -> Line:  # noqa: ARG002 (the command is known without)
        return line(Span(safe(self._program.name), Role.TITLE))

    def tag(self, view: View) -> Line:  # noqa: ARG002 (as above)
        code = self._program.exit_code
        if self.typing:
            return line(Span(tr("ctrl+] back to the cockpit"), Role.ACCENT))
        if self._back:
            return line(Span(tr("{lines} lines back", lines=self._back), Role.WARN))
        if self._program.problem:
            return line(Span(tr("cannot run"), Role.BAD))
        if code is not None:
            return line(Span(tr("exit code {code}", code=code), Role.BAD if code else Role.GOOD))
        return line(Span(tr("press enter to type" if self.chosen else "arrows: choose panel; enter: type"), Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:  # noqa: ARG002 (as above)
        if self._program.problem:
            return self.words(message_text(self._program.problem), cells, rows, Role.BAD)
        self._terminal.resize(cells, rows)
        screen = self._terminal.screen
        self._shown = screen.changes
        self._back = min(self._back, screen.scrollback)
        lines = screen.lines(self._back)
        drawn = [tuple(Span(run.text, ROLES[run.reverse, run.bold]) for run in runs) for runs in lines]
        if self.typing and not self._back and screen.cursor is not None:
            x, y = screen.cursor
            drawn[y] = _marked(drawn[y], x)
        return drawn

    def draw(self, view: View) -> None:
        self._view = view
        super().draw(view)

    def on_mount(self) -> None:
        self.set_interval(LOOK_S, self._look)

    def on_key(self, event: events.Key) -> None:
        page = max(1, self._terminal.screen.size[1] - 1)
        scrolled = {"pageup": -page, "pagedown": page, "up": -1, "down": 1, "home": -1_000_000, "end": 1_000_000}
        if self.typing:
            event.stop()
            event.prevent_default()
            if event.key == LEAVE or self._program.exit_code is not None:
                self.on_blur()
            else:
                self._terminal.type(_sent(event).encode())
        elif step := scrolled.get(event.key):
            event.stop()
            self.action_scroll_by(step)
        elif event.key == "enter" and self._program.exit_code is None:
            event.stop()
            self.typing, self._back = True, 0
            self._draw_again()

    def on_paste(self, event: events.Paste) -> None:
        if self.typing:
            event.stop()
            self._terminal.type(event.text.encode())

    def on_blur(self) -> None:
        self.typing = False
        self._draw_again()

    def action_scroll_by(self, lines: int) -> None:
        self._back = max(0, self._back - lines)
        self._draw_again()

    def _look(self) -> None:
        over = self._program.exit_code is not None
        if over != self._finished or self._terminal.screen.changes != self._shown:
            self._finished = over
            self.typing = self.typing and not over
            self._draw_again()

    def _draw_again(self) -> None:
        if self._view is not None and not self._view.paused:
            self.draw(self._view)


def _sent(event: events.Key) -> str:
    known = KEYS.get(event.key) or event.character
    letter = event.key.removeprefix("ctrl+")
    if known is None and len(letter) == 1 and event.key != letter:
        return chr(ord(letter) & 0x1F)
    return known or ""


def _marked(spans: Line, x: int) -> Line:
    """The line with the character in cell ``x`` marked as the cursor."""
    found: list[Span] = []
    for text, role in spans:
        if 0 <= x < width(text):
            at = next(at for at in range(len(text)) if width(text[: at + 1]) > x)
            found += [Span(text[:at], role), Span(text[at], Role.WARN_BADGE), Span(text[at + 1 :], role)]
        else:
            found.append(Span(text, role))
        x -= width(text)
    return tuple(span for span in found if span.text)
