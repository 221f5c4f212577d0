"""Lines as plain text."""

from collections.abc import Iterable

from tui.drawing.line import Span


def text_of(spans: Iterable[Span]) -> str:
    return "".join(span.text for span in spans)
