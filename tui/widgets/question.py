"""A question in the last line, answered with a line of text."""

import re
from dataclasses import dataclass

from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from tui.drawing.appearance import Appearance
from tui.drawing.line import Role, Span, width
from tui.widgets.lines import Lines


class Question(Input):
    DEFAULT_CSS = """
    Question, Question:focus { height: 1; border: none; padding: 0; background: ansi_default; color: ansi_default; }
    """

    @dataclass
    class Answered(Message):
        """What was typed, without blanks at its ends; ``final`` once enter was pressed. ``purpose``: what was asked."""

        purpose: str
        text: str
        final: bool

    def __init__(self, purpose: str, text: str, *, number: bool) -> None:
        super().__init__(text, max_length=120, select_on_focus=False, restrict="[0-9]*[.]?[0-9]*" if number else None)
        self.purpose = purpose
        self.cursor_blink = False

    def take_early(self, character: str) -> None:
        """Take a character that was typed before the question had the focus."""
        if self.restrict is None or re.fullmatch(self.restrict, self.value + character):
            self.insert_text_at_cursor(character)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Answered(self.purpose, event.value.strip(), final=False))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Answered(self.purpose, event.value.strip(), final=True))


class _Words(Lines):
    def __init__(self, appearance: Appearance, words: str) -> None:
        super().__init__(appearance, "question")
        self.words = words

    def on_resize(self) -> None:
        self.show([(Span(f" {self.words} ", Role.KEY),)])


class QuestionLine:
    """A question in the place of the keys; the panels above are still updated."""

    def __init__(
        self, screen: "Screen[None]", appearance: Appearance, purpose: str, words: str, text: str, *, number: bool
    ) -> None:
        self._words = _Words(appearance, f"{words}:")
        self._question = Question(purpose, text, number=number)
        self._screen = screen

    async def begin(self) -> None:
        await self._screen.mount(self._words, self._question)
        self._question.cursor_position = len(self._question.value)
        self._screen.set_focus(self._question)

    def places(self, line: Region) -> list[tuple[Widget, Region]]:
        asked = min(width(self._words.words) + 2, max(0, line.width - 10))
        return [
            (self._words, Region(line.x, line.y, asked, 1)),
            (self._question, Region(line.x + asked, line.y, line.width - asked, 1)),
        ]

    def remove(self) -> None:
        self._words.remove()
        self._question.remove()
