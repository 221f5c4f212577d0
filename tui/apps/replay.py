"""The cockpit of a recording: the same screens, with keys to move in time instead of keys that change the load."""

import re
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import Binding, BindingType

from loadtop.i18n import Translatable, clock, tr
from loadtop.recording.player import SessionPlayer
from tui.apps.cockpit import COMMON_KEYS, Cockpit
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, line, safe
from tui.screens.help import HelpScreen
from tui.screens.profile import ProfileScreen
from tui.widgets import keybar
from tui.widgets.keybar import Key, KeyBar

if TYPE_CHECKING:
    from tui.widgets.question import Question

_SAME = {key.action: key for key in keybar.KEYS}  # keys as in the cockpit
_RANKS = {
    "evidence": 6,
    "requests": 11,
    "profile": 11,
    "next_host": 8,
    "screen.zoom": 7,
    "screen.zoom('breakdown')": 8,
    "picture": 10,
    "copy": 10,
}  # of those in the last line
_HIDDEN = ("screen.order", "screen.reverse", "screen.filter", "palette")
KEYS = (
    Key("q", "leave", "q", "quit", "quit", 0),
    Key("space", "play", "space", "play", "pause or continue", 1),
    Key("left", "step(-1)", "<-", "", "the previous interval", 2),
    Key("right", "step(1)", "->", "move", "the next interval", 2),
    Key("minus", "speed(False)", "-", "", "play slower", 3),
    Key("plus,equals_sign", "speed(True)", "+", "speed", "play faster, up to 64 times normal speed", 3),
    Key("t", "ask_time", "t", "go to time", "jump to a time that you enter: 1:30, 95 (seconds) or 50%", 4),
    Key("m", "to_mark(True)", "m", "next mark", "the next mark", 5),
    Key("M", "to_mark(False)", "M", "", "the previous mark", 9, footer=False),
    Key("v", "to_change(True)", "v", "next verdict", "the next change of the verdict", 5),
    Key("V", "to_change(False)", "V", "", "the previous change of the verdict", 9, footer=False),
    Key("T", "first_page", "T", "steps", "table of load steps, with the knee", 11),
    *(replace(_SAME[action], rank=rank) for action, rank in _RANKS.items()),
    *(replace(_SAME[action], footer=False) for action in _HIDDEN),
    _SAME["help"],
)

ELSEWHERE: tuple[tuple[str, Translatable], ...] = (  # keys that are in the help but not in the last line
    ("home end", "go to the start or to the end"),
    ("tab", "show the next host (with one host, the next panel)"),
    ("up down", "choose a panel (or click it; click again to zoom)"),
    ("escape", "close, cancel, or show all panels"),
    ("ctrl+s", "save a picture of the screen"),
    ("ctrl+z", "suspend"),
)

_SHARE = re.compile(r"(\d{1,3}(?:\.\d+)?)\s*%", re.ASCII)
_TIME = re.compile(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9}(?:\.\d+)?)", re.ASCII)


class ReplayCockpit(Cockpit, inherit_bindings=False):
    PALETTE_KEYS = KEYS
    ONE_HOST: Translatable = "this recording has only one host"
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.key, key.action, key.label) for key in KEYS),
        Binding("home", "go_to(0)", "to the beginning"),
        Binding("end", "go_to(1)", "to the end"),
        Binding("down", "screen.choose(1)", "next panel"),
        Binding("up", "screen.choose(-1)", "previous panel"),
        *COMMON_KEYS,
    ]

    def __init__(self, player: SessionPlayer, *, appearance: Appearance | None = None) -> None:
        super().__init__(player, appearance=appearance)
        self.player = player
        self.bar = ReplayBar(self.appearance, player)
        self._cockpit.keys = self.bar
        self._cockpit.verdict.reports = False
        self._cockpit.header.timed = False
        player.restarted = self.reader.restart
        player.hold_screen = self.reader.freeze
        player.changed = self._draw_soon

    def _draw(self) -> None:
        super()._draw()
        self.bar.draw()

    def action_leave(self) -> None:
        self.exit()

    def action_play(self) -> None:
        self.player.toggle()

    def action_step(self, intervals: int) -> None:
        self.player.step(intervals)

    def action_speed(self, up: bool) -> None:
        self.player.faster(up=up)

    def action_go_to(self, share: float) -> None:
        self.player.seek(share * self.player.duration)

    async def action_ask_time(self) -> None:
        await self._cockpit_alone().ask("time", tr("jump to (1:30, 95 or 50%)"))

    def action_to_mark(self, after: bool) -> None:
        if not self.player.seek_mark(after=after):
            self.say(tr("no later mark" if after else "no earlier mark"))

    def action_to_change(self, after: bool) -> None:
        if not self.player.seek_change(after=after):
            self.say(tr("no later change of the verdict" if after else "no earlier change of the verdict"))

    def action_evidence(self) -> None:
        self._read_profiles()
        super().action_evidence()

    def action_profile(self) -> None:
        self._read_profiles()
        self._open(ProfileScreen(self.appearance, self.reader.view, live=False))

    def _read_profiles(self) -> None:
        """Add those of the intervals that a jump passed over."""
        self.reader.view.history.profiles |= self.player.profiles()

    def action_help(self) -> None:
        self._open(ReplayHelp(self.appearance, self.reader.view))

    def on_question_answered(self, event: "Question.Answered") -> None:
        if event.purpose != "time":
            super().on_question_answered(event)
        elif event.final:
            self._cockpit.stop_asking()
            at = time_of(event.text, self.player.duration)
            if at is None:
                self.say(
                    tr("enter a time such as 1:30, 1:02:03 or 95 (seconds), or a percentage such as 50%"), Role.WARN
                )
            else:
                self.player.seek(at)


class ReplayBar(KeyBar):
    def __init__(self, appearance: Appearance, player: SessionPlayer) -> None:
        super().__init__(appearance, KEYS)
        self._player = player

    def before(self) -> Line:
        player = self._player
        word = tr("seeking" if player.seeking else "play" if player.playing else "paused")
        calm = player.playing and not player.seeking
        badge = Span(f" {word} ", Role.GOOD_BADGE if calm else Role.WARN_BADGE)
        speed = "" if player.speed == 1 else f" x{player.speed:g}"
        grows = "+" if player.growing else ""
        place = tr("{done} of {all}", done=clock(player.at), all=clock(player.duration))
        state = line(badge, Span(f"{speed} {place}{grows}  ", Role.VALUE))
        if not player.live:
            return state
        return (*state, Span(tr("live: {verdict}  ", verdict=safe(tr(player.live)).upper()), Role.WARN))


class ReplayHelp(HelpScreen):
    KEYS = KEYS
    ELSEWHERE = ELSEWHERE


def time_of(text: str, duration: float) -> float | None:
    """Seconds for ``1:30``, ``1:02:03``, ``95`` or ``50%`` of ``duration``; ``None`` for anything else."""
    share = _SHARE.fullmatch(text.strip())
    if share is not None:
        return min(100.0, float(share[1])) / 100 * duration
    found = _TIME.fullmatch(text.strip())
    return None if found is None else 3600.0 * int(found[1] or 0) + 60.0 * int(found[2] or 0) + float(found[3])
