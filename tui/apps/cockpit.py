"""The cockpit: the wiring between a feed, the keys and the screens. It draws nothing itself."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.binding import Binding, BindingType
from textual.timer import Timer

from loadtop.i18n import Translatable, tr
from loadtop.pipeline.feed import Feed, Mark, TakeProfile
from tui.apps.load_control import LoadControl, LoadOwner
from tui.apps.terminal import TerminalApp, abandon, clipboard
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role
from tui.panels.processes import ORDERS
from tui.panels.registry import CURVES
from tui.screens.cockpit import CockpitScreen
from tui.state.view import FeedReader, View
from tui.widgets.keybar import INTERRUPT, KEYS, Key
from tui.widgets.lines import LiveScreen
from tui.widgets.palette import Entry, Palette

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from tui.panels.header import Caption
    from tui.widgets.question import Question

MESSAGE_S = 4.0  # seconds that a message stays in the last line
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that end the cockpit

COMMON_KEYS: tuple[BindingType, ...] = (  # keys of every cockpit that are not in its last line
    Binding("tab", "tab(1)", "next host or panel"),
    Binding("shift+tab", "tab(-1)", "previous host or panel"),
    Binding("escape", "step_back", "back"),
    Binding("ctrl+s", "picture", "picture", priority=True),
    Binding("ctrl+c,ctrl+q", "interrupt", "quit at once", priority=True),
    Binding("ctrl+z", "suspend_process", "suspend"),
)

FirstPage = Callable[[Appearance, View], LiveScreen]  # makes a page that is shown before the panels


class Cockpit(TerminalApp[signal.Signals], inherit_bindings=False):
    """Shows a feed. Its first screen is painted before the feed is started."""

    PALETTE_KEYS: ClassVar[Sequence[Key]] = (*KEYS, INTERRUPT)  # besides machines, panels and columns

    ONE_HOST: Translatable = "only one host is watched: add more with --host NAME=ssh://HOST"

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.key, key.action, key.label) for key in KEYS if key.key != "1"),
        *(Binding(digit, f"type_load('{digit}')", "set the load") for digit in "123456789"),
        Binding("right,down", "screen.choose(1)", "next panel"),
        Binding("left,up", "screen.choose(-1)", "previous panel"),
        *COMMON_KEYS,
    ]

    def __init__(
        self,
        feed: Feed,
        *,
        appearance: Appearance | None = None,
        first: FirstPage | None = None,
        program: "CommandLoad | None" = None,
        caption: "Caption | None" = None,
        load_owner: LoadOwner = "hand",
        most: int | None = None,
    ) -> None:
        """``first`` is the page to begin with, ``program`` a command that the feed runs, ``caption`` what is said above
        the panels, ``most`` how many connections may be set by hand."""
        self.appearance = appearance or Appearance.of_terminal()
        self._cockpit = CockpitScreen(self.appearance, program, caption)
        super().__init__(self._cockpit)
        self.reader = FeedReader(feed, self._draw_soon, CURVES)
        self.load_control = LoadControl(feed.command, load_owner if program is None else "command", most)
        self._first = first
        self._program = program
        self.panels = self._cockpit.panels
        self._message_ends: Timer | None = None
        self._asked_to_leave = False
        self._draw_is_due = False
        self._terminals = [number for number in (0, 1, 2) if os.isatty(number)]  # of the standard files

    @property
    def live_screen(self) -> LiveScreen:
        """The cockpit, or the page over it: the only screens that this app opens."""
        return cast("LiveScreen", self.screen)

    @property
    def _load_runs(self) -> bool:
        """Whether there is something to stop. A command that is no known tool gives no samples of a load."""
        program = self._program
        return self.reader.load_runs or (program is not None and program.exit_code is None and not program.problem)

    def on_mount(self) -> None:
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.end_by, number)
        self._draw()
        if self._first is not None:
            self.action_first_page()
        self.call_after_refresh(self.reader.start)

    def end_by(self, number: signal.Signals) -> None:
        """Leave because of a signal. After a hang-up nothing may be written to the terminal."""
        if number is signal.SIGHUP:
            abandon(self._terminals)
        self.exit(number)

    def hang_up(self) -> None:
        self.end_by(signal.SIGHUP)

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line for a while."""
        self.live_screen.say(text, role)
        if self._message_ends is not None:
            self._message_ends.stop()
        self._message_ends = self.set_timer(MESSAGE_S, self._end_message)

    def _end_message(self) -> None:
        self._asked_to_leave = False
        for screen in self.screen_stack:  # a page may have been opened since; none is left while the app ends
            cast("LiveScreen", screen).say("")

    def _draw_soon(self) -> None:
        """Draw once the terminal has taken what was sent: a slow one gets the newest view, and nothing queues up."""
        if not self._draw_is_due and self.is_running:
            self._draw_is_due = True
            self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        self._draw_is_due = False
        self.live_screen.show_view(self.reader.view)

    async def on_key(self, event: events.Key) -> None:
        """Give the question what was typed before it was mounted."""
        take = getattr(self.focused, "take_early", None)
        if take is not None and event.is_printable and event.character:
            event.prevent_default()
            take(event.character)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While keys go to a command, ctrl+c is one of them."""
        typing = getattr(self.focused, "typing", False)
        return not (typing and action == "interrupt") and super().check_action(action, parameters)

    # Actions, one per key.

    def action_leave(self) -> None:
        if self._load_runs and not self._asked_to_leave:
            self.say(tr("a load is running: press q again to stop it and quit"), Role.WARN)
            self._asked_to_leave = True
            return
        self.exit()

    def action_interrupt(self) -> None:
        self.exit(signal.SIGINT)

    def action_pause(self) -> None:
        self.reader.hold()

    def action_turn_load(self, up: bool) -> None:
        self.say(self.load_control.turn(self.reader.load, up=up))

    async def action_type_load(self, digit: str = "") -> None:
        load = self.reader.load
        problem = self.load_control.why_fixed(load)
        if load is None or problem:
            self.say(problem)
        else:
            words = tr("requests per second") if load.rate is not None else tr("connections")
            await self._cockpit_alone().ask("load", words, digit, number=True)

    def action_stop_load(self) -> None:
        self.say(self.load_control.stop(runs=self._load_runs))

    def action_restart_load(self) -> None:
        self.say(self.load_control.restart(self.reader.load))

    def action_next_step(self) -> None:
        self.say(self.load_control.next_step(self.reader.load))

    def action_next_host(self, step: int = 1) -> None:
        if not self.reader.next_host(step):
            self.say(tr(self.ONE_HOST))

    def action_show_host(self, name: str) -> None:
        self.reader.show_host(name)

    def action_tab(self, step: int) -> None:
        if not self.reader.next_host(step) and isinstance(self.screen, CockpitScreen):
            self.screen.action_choose(step)

    def action_step_back(self) -> None:
        if self._cockpit.question is not None:
            self._cockpit.stop_asking()
        elif self._cockpit.zoomed:
            self._cockpit.action_zoom()
        elif self._cockpit.processes.filter:
            self._cockpit.filter("")

    async def action_palette(self) -> None:
        await self._cockpit_alone().show_palette(self._entries())

    def _entries(self) -> list[Entry]:
        watches = self.reader.view.only_watches
        keys = [key for key in self.PALETTE_KEYS if key.action != "palette" and not (watches and key.of_load)]
        found = [Entry(tr(key.help), key.shown, key.action) for key in keys]
        hosts = [host.name for host in self.reader.view.hosts]
        if len(hosts) > 1:
            found += [Entry(tr("show host {host}", host=name), "", f"show_host({name!r})") for name in hosts]
        for name in self._cockpit.panel_names:
            found.append(Entry(tr("zoom panel {panel}", panel=tr(name)), "", f"screen.zoom({name!r})"))
        for name in ORDERS:
            found.append(Entry(tr("sort processes by {column}", column=name), "", f"screen.order({name!r})"))
        return sorted(found, key=lambda entry: entry.action == "interrupt")

    def action_first_page(self) -> None:
        from tui.screens.series import StepsScreen

        steps = partial(StepsScreen, sweep=lambda: self.reader.sweep)
        self._open((self._first or steps)(self.appearance, self.reader.view))

    def action_evidence(self) -> None:
        from tui.screens.evidence import EvidenceScreen

        self._open(EvidenceScreen(self.appearance, self.reader.view))

    def action_requests(self) -> None:
        from tui.screens.requests import RequestsScreen

        self._open(RequestsScreen(self.appearance, self.reader.view))

    def action_profile(self) -> None:
        """Show the host's profile; take one where there is none, or it is shown already."""
        from tui.screens.profile import ProfileScreen

        profiles, host = self.reader.view.history.profiles, self.reader.view.host
        if host is not None and (host.name not in profiles or isinstance(self.screen, ProfileScreen)):
            profiles.pop(host.name, None)
            self.reader.feed.command(TakeProfile(host.name))
        self._open(ProfileScreen(self.appearance, self.reader.view, live=True))

    def action_help(self) -> None:
        from tui.screens.help import HelpScreen

        self._open(HelpScreen(self.appearance, self.reader.view))

    def _open(self, screen: LiveScreen) -> None:
        self._cockpit_alone()
        self.push_screen(screen, lambda _: self._draw_soon())

    async def action_mark(self) -> None:
        await self._cockpit_alone().ask("mark", tr("text of the mark (enter: save, escape: cancel)"))

    def action_copy(self) -> None:
        text = self.reader.report()
        if not text:
            self.say(tr("nothing measured yet"))
            return
        self.copy_to_clipboard(text)
        lines = len(text.splitlines())
        self.say(tr("copied the report so far, {lines} lines (if the terminal supports OSC 52)", lines=lines))

    def copy_to_clipboard(self, text: str) -> None:
        """Textual's own method does not work through GNU screen."""
        if self._driver is not None:
            self._driver.write(clipboard(text, os.environ))

    def _cockpit_alone(self) -> CockpitScreen:
        """The cockpit's screen, with the page over it closed."""
        if not isinstance(self.screen, CockpitScreen):
            self.screen.dismiss()
        return self._cockpit

    def on_question_answered(self, event: "Question.Answered") -> None:
        """Do what was answered; a filter is applied while it is typed."""
        if event.purpose == "filter":
            self._cockpit.filter(event.text)
        if not event.final:
            return
        self._cockpit.stop_asking()
        if event.purpose == "load" and event.text:
            self.say(self.load_control.set(self.reader.load, event.text))
        elif event.purpose == "mark" and event.text:
            self.reader.feed.command(Mark(event.text))
            self.say(tr("marked: {text}", text=event.text))

    async def on_palette_done(self, event: Palette.Done) -> None:
        self._cockpit.close_palette()
        if event.action:
            await self.run_action(event.action)

    def action_picture(self) -> None:
        from tui.widgets.picture import save_picture

        self.say(*save_picture(self.screen, self.appearance, self.reader.feed.title))


async def run_cockpit(app: Cockpit, seconds: float | None = None) -> signal.Signals | None:
    """Show a cockpit until a person or a signal ends it, or ``seconds`` are over, and stop its feed.

    Returns the signal that ended it (ctrl+c counts as SIGINT), or ``None`` after ``q``. After a hang-up, the standard
    files that were terminals are /dev/null.

    :raises BaseException: what broke the feed, once the screen is closed
    """
    loop = asyncio.get_running_loop()
    end = None if seconds is None else loop.call_later(seconds, app.exit)
    try:
        ended_by = await app.run_async()
    finally:
        if end is not None:
            end.cancel()
        await app.reader.close()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if app.reader.failure is not None:
        raise app.reader.failure
    return ended_by
