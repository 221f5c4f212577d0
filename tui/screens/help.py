"""The help screen: keys, the letters of the time strip, and what the bars are made of."""

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.diagnosis.finding import Bottleneck
from loadtop.words import pad, tr
from tui.drawing.line import Line, Role, Span, beside, line
from tui.drawing.scoreboard import NAMES, role_of
from tui.keys import ELSEWHERE, KEYS
from tui.screens.page import PageScreen
from tui.view import View
from tui.words import LETTERS, headline

WIDE = 130
"""Cells from which there is room for two columns."""


class HelpScreen(PageScreen):
    """The same whatever is measured."""

    HEADING = "help"

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark", "close", "close")]

    def text(self, view: View, cells: int) -> Sequence[Line]:  # noqa: ARG002 (help does not depend on it)
        ends = line(Span(tr('A value that was not measured is shown as "-", never as 0.'), Role.DIM))
        keys, letters = self._keys(), [*self._states(), (), *_limits(self.look.glyphs.dot), (), *_slots()]
        if cells < WIDE:
            return [*keys, (), *letters, (), ends]
        half = cells // 2
        return [*beside(keys, letters, half, max(len(keys), len(letters))), (), ends]

    def _keys(self) -> list[Line]:
        lines: list[Line] = [
            line(Span(tr("Keys"), Role.TITLE), Span(f"  {tr('(or click them in the last line)')}", Role.DIM))
        ]
        lines += [line("  ", Span(f"{key.shown:<7}", Role.KEY), tr(key.help)) for key in KEYS]
        return lines + [line("  ", Span(f"{name:<7}", Role.KEY), tr(help_)) for name, help_ in ELSEWHERE]

    def _states(self) -> list[Line]:
        states = zip(
            self.look.glyphs.shades,
            (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL),
            ("user", "system and interrupts", "iowait", "steal"),
            strict=True,
        )
        fillings = (span for shade, role, name in states for span in (Span(shade, role), f" {tr(name)}   "))
        return [line(Span(tr("Processor time"), Role.TITLE)), line("  ", *fillings)]


def _limits(calm: str) -> list[Line]:
    lines: list[Line] = [line(Span(tr("Letters of the time strip"), Role.TITLE))]
    for bottleneck in Bottleneck:
        letter = calm if bottleneck is Bottleneck.NONE else LETTERS[bottleneck]
        name, rest = headline(bottleneck)
        lines.append(line("  ", Span(f"{letter:<3}", Role.VALUE), f"{pad(name, 16)} ", Span(rest, Role.DIM)))
    return lines


def _slots() -> list[Line]:
    lines: list[Line] = [line(Span(tr("Letters of Apache's scoreboard"), Role.TITLE))]
    return lines + [line("  ", Span(f"{letter:<3}", role_of(letter)), tr(name)) for letter, name in NAMES.items()]
