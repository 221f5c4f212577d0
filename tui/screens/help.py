"""The help screen: keys, the letters of the time strip, and what the bars are made of."""

from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

from textual.binding import Binding, BindingType

from loadtop.diagnosis.diagnoser import HEADROOM
from loadtop.i18n import Translatable, pad, tr
from loadtop.servers.registry import VERDICTS
from tui.drawing.line import Line, Role, Span, beside, hanging, length, line, width
from tui.drawing.verdicts import headline
from tui.panels.machine import ROLES
from tui.panels.registry import PANELS
from tui.widgets.keybar import ELSEWHERE, KEYS, Key
from tui.widgets.page import PageScreen

WIDE = 130  # cells from which there is room for two columns
KEY = 8  # cells of a key's name

WORDS: tuple[tuple[Translatable, Translatable], ...] = (  # abbreviations and terms on the screen
    ("8 connections", "the load: each connection sends again after its response (closed model)"),
    ("50 requests/s", "the load: sent at this rate, however slow the responses (open model)"),
    ("read in 20 ms", "time that reading the host's figures took"),
    ("connections ", "open connections, and how many nginx allows; a proxied request uses two"),
    ("| disk", "panels in the same place; up, down or a click shows them"),
    ("in flight", "sent, without a complete response yet"),
    ("p50 p90 p99", "50 %, 90 %, 99 % of the responses took at most this long"),
    ("measured twice", "time that counts in two parts of the response time, so that their sum is too large"),
    ("status request", "loadtop's own request for php-fpm's status page, which needs a free child too"),
    ("failed", "no response, an invalid one, or one that is longer or shorter than the first response"),
    ("not 2xx", "responses that are not a success: errors, redirects"),
    ("run, load", "runnable tasks now, and the 1-minute load average"),
    ("stall (memory)", "share of the time that tasks waited for memory"),
    ("major faults ", "memory pages read from disk, per second"),
    ("overflows ", "connections dropped because the accept queue was full"),
    ("TIME_WAIT", "closed connections that the kernel has not released yet"),
    ("wait%", "time that a process's threads were ready to run but had no CPU, in % of a core"),
    ("swap (of a disk)", "this disk holds swap space"),
    ("rss, pss", "memory of a process; pss divides shared pages among processes"),
    ("knee", "the fewest connections that reach 97 % of the best throughput"),
)

PROCESSOR_STATES: tuple[Translatable, ...] = ("user", "system and interrupts", "iowait", "steal")


class HelpScreen(PageScreen):
    HEADING: Translatable = "help"
    KEYS: ClassVar[Sequence[Key]] = KEYS
    ELSEWHERE: ClassVar[Sequence[tuple[str, str]]] = ELSEWHERE

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark", "close", "close")]

    def text(self, cells: int) -> Sequence[Line]:
        ends = hanging((), tr('Unmeasured values are shown as "-", never as 0.'), cells, Role.DIM)
        room = cells // 2 - 2 if cells >= WIDE else cells
        keys = [*self._keys(room), (), *_words(room)]
        letters = [*self._states(room), (), *_limits(self.glyphs.dot, room)]
        for panel in PANELS:
            if section := panel.help_lines():
                letters += [(), *section]
        if cells < WIDE:
            return [*keys, (), *letters, (), *ends]
        half = cells // 2
        return [*beside(keys, letters, half, max(len(keys), len(letters))), (), *ends]

    def _keys(self, cells: int) -> list[Line]:
        known = [*((key.shown, key.help) for key in self.KEYS), *self.ELSEWHERE]
        rows = (hanging(line("  ", Span(pad(name, KEY), Role.KEY)), tr(help_), cells) for name, help_ in known)
        note = Span(f"  {tr('(or click them in the last line)')}", Role.DIM)
        return [line(Span(tr("Keys"), Role.TITLE), note), *chain.from_iterable(rows)]

    def _states(self, cells: int) -> list[Line]:
        states = zip(self.glyphs.shades, ROLES, PROCESSOR_STATES, strict=True)
        items = [line("  ", Span(shade, role), f" {tr(name)}") for shade, role, name in states]
        abreast = line(*(span for item in items for span in item))
        return [line(Span(tr("Processor time"), Role.TITLE)), *([abreast] if length(abreast) <= cells else items)]


def _words(cells: int) -> list[Line]:
    known = [(tr(name).strip(), tr(meant)) for name, meant in WORDS]
    room = max(width(name) for name, _ in known) + 2
    rows = (hanging(line("  ", Span(pad(name, room), Role.VALUE)), meant, cells) for name, meant in known)
    return [line(Span(tr("Terms"), Role.TITLE)), *chain.from_iterable(rows)]


def _limits(calm: str, cells: int) -> list[Line]:
    known = [(calm, *headline(HEADROOM.name)), *((verdict.letter, *headline(verdict.name)) for verdict in VERDICTS)]
    room = max(width(name) for _, name, _ in known)
    rows = (
        hanging(line("  ", Span(f"{letter:<3}", Role.VALUE), f"{pad(name, room)}  "), rest, cells, Role.DIM)
        for letter, name, rest in known
    )
    return [line(Span(tr("Letters of the timeline"), Role.TITLE)), *chain.from_iterable(rows)]
