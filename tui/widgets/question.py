"""The answer to a question in the last line. The key bar shows the question."""

import re
from dataclasses import dataclass

from textual.message import Message
from textual.widgets import Input


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
