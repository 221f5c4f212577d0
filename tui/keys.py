"""Every key of the cockpit once: what it does, how the footer and the help screen call it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key: Textual's name for it, the action, what is written on the footer, and a sentence for the help screen.

    ``rank`` is who is left out of a narrow footer first (the highest).
    """

    key: str
    action: str
    shown: str
    label: str
    help: str
    rank: int


KEYS = (
    Key("q", "leave", "q", "quit", "quit; asks once while load is running", 0),
    Key("space", "pause", "space", "pause", "hold the picture still; measuring and recording go on", 3),
    Key("plus,equals_sign", "more", "+", "", "more connections (open model: a higher rate)", 1),
    Key("minus", "less", "-", "load", "fewer connections (open model: a lower rate)", 1),
    Key("s", "stop_load", "s", "stop", "stop the load; watching goes on", 2),
    Key("h", "next_host", "h", "host", "show the next machine", 4),
    Key("e", "evidence", "e", "evidence", "every measured value against its threshold", 2),
    Key("z", "zoom", "z", "zoom", "one panel on the whole screen, and back; tab chooses the panel", 5),
    Key("m", "mark", "m", "mark", "note this moment on the time line", 6),
    Key("p", "picture", "p", "picture", "save the screen as an SVG file in the working directory", 7),
    Key("question_mark", "help", "?", "help", "this page", 1),
)
