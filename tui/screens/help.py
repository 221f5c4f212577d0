"""The help screen: keys, the letters of the time strip, and what the bars are made of."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.diagnosis.finding import Bottleneck
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.scoreboard import NAMES, role_of
from tui.keys import KEYS
from tui.screens.page import PageScreen
from tui.view import View
from tui.words import HEADLINES, LETTERS


class HelpScreen(PageScreen):
    """The same whatever is measured."""

    HEADING = "help"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark", "close", "close")]

    def text(self, view: View, cells: int) -> Sequence[Line]:  # noqa: ARG002 (help does not depend on it)
        glyphs = self.look.glyphs
        lines: list[Line] = [line(Span("Keys", Role.TITLE), Span("  (or click them in the last line)", Role.DIM))]
        lines += [line("  ", Span(f"{key.shown:<7}", Role.KEY), key.help) for key in KEYS]
        lines += [
            line("  ", Span(f"{'tab':<7}", Role.KEY), "choose a panel (or click it; click again to zoom)"),
            line("  ", Span(f"{'ctrl+c':<7}", Role.KEY), "stop the load and quit at once"),
            (),
            line(Span("Processor time", Role.TITLE)),
        ]
        states = zip(
            glyphs.shades,
            (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL),
            ("user", "system and interrupts", "iowait", "steal"),
            strict=True,
        )
        lines.append(line("  ", *(span for shade, role, name in states for span in (Span(shade, role), f" {name}   "))))
        lines += [(), line(Span("Letters of the time strip", Role.TITLE))]
        entries = [(glyphs.dot if b is Bottleneck.NONE else LETTERS[b], HEADLINES[b]) for b in Bottleneck]
        for letter, (name, rest) in entries:
            lines.append(line("  ", Span(f"{letter:<3}", Role.VALUE), f"{name:<16} ", Span(rest, Role.DIM)))
        lines += [(), line(Span("Letters of Apache's scoreboard", Role.TITLE))]
        for letter, name in NAMES.items():
            lines.append(line("  ", Span(f"{letter:<3}", role_of(letter)), name))
        lines += [(), line(Span('A value that was not measured is shown as "-", never as 0.', Role.DIM))]
        return lines
