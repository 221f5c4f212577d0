"""A question in the last line, answered with a line of text."""

from textual.message import Message
from textual.widgets import Input


class Question(Input):
    """Stands where the keys are. The picture above it goes on."""

    DEFAULT_CSS = """
    Question, Question:focus { height: 1; border: none; padding: 0 1; background: ansi_default; color: ansi_default; }
    """

    class Answered(Message):
        """Enter was pressed."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, words: str) -> None:
        super().__init__(placeholder=words, max_length=120, select_on_focus=False)
        self.cursor_blink = False

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Tell what was answered, blanks at the ends taken off."""
        event.stop()
        self.post_message(self.Answered(event.value.strip()))
