"""The keys of the cockpit, and the last line, which shows them, a message or a question."""

from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Struct
from textual import events

from loadtop.i18n import Translatable, tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, length, safe, width
from tui.widgets.lines import Lines

GAP = 2  # cells after a key with a label


class Key(Struct, frozen=True):
    """A key: Textual's name for it, the action, its texts in the footer, and a sentence for help and palette.

    A narrow footer leaves out the highest ``rank`` first. A key without a ``label`` shares the label of the next key.
    ``of_load``: it is offered only where load is generated.
    """

    key: str
    action: str
    shown: str
    label: Translatable
    help: Translatable
    rank: int
    footer: bool = True
    of_load: bool = False


KEYS = (
    Key("q", "leave", "q", "quit", "quit (asks first while a load is running)", 0),
    Key("space", "pause", "space", "hold", "freeze the display; measurement and recording continue", 3),
    Key(
        "plus,equals_sign",
        "turn_load(True)",
        "+",
        "",
        "more connections, or with --rate more requests/s",
        1,
        of_load=True,
    ),
    Key(
        "minus", "turn_load(False)", "-", "load", "fewer connections, or with --rate fewer requests/s", 1, of_load=True
    ),
    Key(
        "1",
        "type_load",
        "1..9",
        "set",
        "enter the number of connections, or with --rate the requests/s",
        12,
        of_load=True,
    ),
    Key("s", "stop_load", "s", "stop", "stop the load; keep watching", 2, of_load=True),
    Key("r", "restart_load", "r", "restart", "restart the load", 9, of_load=True),
    Key("n", "next_step", "n", "next step", "continue with the next step", 14, of_load=True),
    Key("t", "first_page", "t", "steps", "table of load steps, with the knee", 15, of_load=True),
    Key("e", "evidence", "e", "why", "evidence: each value and its threshold, over time", 2),
    Key("b", "screen.zoom('breakdown')", "b", "breakdown", "where the response time goes", 7),
    Key("w", "requests", "w", "slowest", "slowest requests and first failures", 13, of_load=True),
    Key("P", "profile", "P", "profile", "profile the host: where its CPU time goes", 15),
    Key("m", "mark", "m", "mark", "mark this moment on the timeline", 5),
    Key("p", "picture", "p", "picture", "save the screen as an SVG file in the working directory", 6),
    Key("z", "screen.zoom", "z", "zoom", "show one panel full screen, and back", 8),
    Key("h", "next_host", "h", "host", "show the next host", 10),
    Key("o", "screen.order", "o", "order", "sort the processes by the next column", 13, footer=False),
    Key("O", "screen.reverse", "O", "reverse", "reverse the order of the processes", 13, footer=False),
    Key("slash", "screen.filter", "/", "filter", "show only processes that match the text you enter", 11),
    Key("y", "copy", "y", "copy", "copy the report so far to the clipboard (OSC 52)", 12),
    Key("colon,ctrl+p", "palette", ":", "cmd", "search all commands", 4),
    Key("question_mark", "help", "?", "help", "show this help", 1),
)

INTERRUPT = Key("ctrl+c", "interrupt", "ctrl+c", "", "stop the load and quit at once", 0)  # also in the command palette

ELSEWHERE: tuple[tuple[str, Translatable], ...] = (  # keys that are in the help but not in the footer
    ("tab", "show the next host (with one host, the next panel)"),
    ("arrows", "choose a panel (or click it; click again to zoom)"),
    ("escape", "close, cancel, or show all panels"),
    (INTERRUPT.shown, INTERRUPT.help),
    ("ctrl+s", "save a picture of the screen"),
    ("ctrl+z", "suspend"),
)


def arrange(cells: int, keys: Iterable[Key] = KEYS, first: int = 1) -> list[tuple[Key, int, int]]:
    """The keys that fit between cell ``first`` and ``cells``, each with its cells (first, one past last)."""
    kept: list[Key] = [key for key in keys if key.footer]
    while kept and first + sum(map(_size, kept)) - GAP > cells:
        worst = max(key.rank for key in kept)
        kept = [key for key in kept if key.rank != worst]
    starts = list(accumulate(map(_size, kept), initial=first))
    return list(zip(kept, starts, starts[1:], strict=False))


def _size(key: Key) -> int:
    return len(key.shown) + 1 + (width(tr(key.label)) + GAP if key.label else 0)


class KeyBar(Lines):
    """Shows what ``before`` says and the keys that fit; a message or a question takes their place."""

    def __init__(self, appearance: Appearance, keys: Sequence[Key] = KEYS) -> None:
        super().__init__(appearance, "keys")
        self._keys = keys
        self._message: Line = ()
        self._load = True
        self.question: Line = ()

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        self._message = (Span(" "), Span(safe(text), role)) if text else ()
        self.draw()

    def offer(self, *, load: bool) -> None:
        """Show the keys that change the load only where there is one."""
        if load != self._load:
            self._load = load
            self.draw()

    def before(self) -> Line:
        return (Span(" "),)

    def draw(self) -> None:
        if said := self.question or self._message:
            self.show([said])
            return
        spans = list(self.before())
        for key, _, _ in self._placed(spans):
            spans += [Span(key.shown, Role.KEY), Span(f" {tr(key.label)}  " if key.label else " ", Role.DIM)]
        self.show([(*spans[:-1], Span(spans[-1].text.rstrip(), spans[-1].role))])

    def _placed(self, before: Sequence[Span]) -> list[tuple[Key, int, int]]:
        offered = [key for key in self._keys if self._load or not key.of_load]
        return arrange(self.size.width, offered, length(before))

    def on_resize(self) -> None:
        self.draw()

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        if not self.question and not self._message:
            for key, start, end in self._placed(self.before()):
                if start <= event.x < end:
                    await self.app.run_action(key.action)  # pyright: ignore[reportUnknownMemberType]
