"""The cockpit: wiring between a feed, the keys and the screens. It draws nothing itself."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.screen import Screen

from loadtop.i18n import tr
from loadtop.pipeline.commands import Mark
from loadtop.pipeline.feed import Feed
from tui.apps.load_control import LoadControl, LoadOwner
from tui.apps.terminal import TerminalDriver, abandon, clipboard, terminals
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role
from tui.load_actions import LoadActions
from tui.panels.registry import curves
from tui.screens.cockpit import CockpitScreen
from tui.screens.live import LiveScreen
from tui.state.feed_reader import FeedReader
from tui.state.view import View
from tui.widgets.keybar import KeyBar
from tui.widgets.keys import INTERRUPT, KEYS, Key
from tui.widgets.panel import Panel

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from tui.widgets.palette import Palette
    from tui.widgets.question import Question

SAID_S = 4.0
"""Seconds that a message stays in the last line."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends the cockpit from outside."""


FirstPage = Callable[[Appearance, View], LiveScreen]
"""Makes a page that is shown before the panels."""


class Cockpit(LoadActions, App[signal.Signals], inherit_bindings=False):
    """Shows a feed. Its first screen is painted before the feed is started.

    Longer than 200 lines: Textual wants an action per key in the app; each is a line or two of wiring.
    """

    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    TITLE = "loadtop"
    OFFERED: ClassVar[Sequence[Key]] = (*KEYS, INTERRUPT)
    """What the command palette offers besides machines, panels and columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key.key, key.action, key.label) for key in KEYS if key.key != "1"),
        *(Binding(digit, f"type_load('{digit}')", "set the load") for digit in "123456789"),
        Binding("tab", "tab(1)", "next machine or panel"),
        Binding("shift+tab", "tab(-1)", "machine or panel before"),
        Binding("right,down", "screen.choose(1)", "next panel"),
        Binding("left,up", "screen.choose(-1)", "panel before"),
        Binding("escape", "step_back", "back"),
        Binding("ctrl+s", "picture", "picture", priority=True),
        Binding("ctrl+c,ctrl+q", "interrupt", "quit at once", priority=True),
        Binding("ctrl+z", "suspend_process", "suspend"),
    ]

    def __init__(
        self,
        feed: Feed,
        *,
        appearance: Appearance | None = None,
        first: FirstPage | None = None,
        program: "CommandLoad | None" = None,
        load_owner: LoadOwner = "hand",
    ) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self._first = first
        self.animation_level = "none"
        self.appearance = appearance or Appearance.of_terminal()
        self.reader = FeedReader(feed, self._draw_soon, curves())
        self.load_control = LoadControl(feed.command, load_owner if program is None else "command")
        self._cockpit = CockpitScreen(self.appearance, program)
        self._said = 0
        self._asked_to_leave = False
        self._due = False
        self._terminals = terminals()

    def get_default_screen(self) -> Screen[None]:
        """The panels."""
        return self._cockpit

    @property
    def panels(self) -> dict[str, Panel]:
        """The panels of the cockpit's screen, by name."""
        return self._cockpit.panels

    def on_mount(self) -> None:
        """Paint first, then start what there is to paint."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.end_by, number)
        self._draw()
        if self._first is not None:
            self.action_first_page()
        self.call_after_refresh(self.reader.start)

    def end_by(self, number: signal.Signals) -> None:
        """Leave because of a signal. After a hang-up nothing may be written to the terminal any more."""
        if number is signal.SIGHUP:
            abandon(self._terminals)
        self.exit(number)

    def hang_up(self) -> None:
        """The terminal is gone, whether or not a signal said so."""
        self.end_by(signal.SIGHUP)

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line for a while."""
        self._said += 1
        saying = self._said
        if isinstance(self.screen, LiveScreen):
            self.screen.say(text, role)
        self.set_timer(SAID_S, lambda: self._unsay(saying))

    def _unsay(self, saying: int) -> None:
        if saying == self._said:
            self._asked_to_leave = False
            if isinstance(self.screen, LiveScreen):
                self.screen.say("")

    def _draw_soon(self) -> None:
        """Draw once what is on its way to the terminal is sent: a slow one gets the newest, and nothing queues up."""
        if not self._due and self.is_running:
            self._due = True
            self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        self._due = False
        if isinstance(self.screen, LiveScreen):
            self.screen.show_view(self.reader.view)

    async def on_key(self, event: events.Key) -> None:
        """A question takes what was typed before it stood there; what is typed later never comes here."""
        take = getattr(self.focused, "take_early", None)
        if take is not None and event.is_printable and event.character:
            event.prevent_default()
            take(event.character)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While keys go to a command, ctrl+c is one of them."""
        typing = getattr(self.focused, "typing", False)
        return not (typing and action == "interrupt") and super().check_action(action, parameters)

    # Keys. Each is an action; what it asks of the test goes to the feed as a command.

    def action_leave(self) -> None:
        """Quit; while load is running only when asked twice."""
        if self.reader.load_runs and not self._asked_to_leave:
            self.say(tr("load is running: q again to stop it and quit"), Role.WARN)
            self._asked_to_leave = True
            return
        self.exit()

    def action_interrupt(self) -> None:
        """Quit at once."""
        self.exit(signal.SIGINT)

    def action_pause(self) -> None:
        """Hold the picture, or let it go on."""
        self.reader.hold()

    def action_next_host(self, step: int = 1) -> None:
        """Show the next machine."""
        if not self.reader.next_host(step):
            self.say(tr("only one machine is watched: add more with --host NAME=ssh://HOST"))

    def action_show_host(self, name: str) -> None:
        """Show this machine."""
        self.reader.show_host(name)

    def action_tab(self, step: int) -> None:
        """The next machine; with one machine, the next panel."""
        if not self.reader.next_host(step) and isinstance(self.screen, CockpitScreen):
            self.screen.action_choose(step)

    def action_step_back(self) -> None:
        """Take a question or a filter back, or show all panels again."""
        if self._cockpit.asks:
            self._cockpit.stop_asking()
        elif self._cockpit.zoomed:
            self._cockpit.action_zoom()
        elif self._cockpit.processes.only:
            self._cockpit.filter("")

    async def action_palette(self) -> None:
        """Everything that can be done."""
        from tui.offers import entries

        await self._cockpit_alone().offer(entries(self.OFFERED, self.reader.view, self._cockpit.at_hand))

    def action_first_page(self) -> None:
        """Show the page that this feed begins with, else the steps of its load."""
        from tui.screens.steps import StepsScreen

        steps = partial(StepsScreen, newest=lambda: self.reader.sweep)
        self._open((self._first or steps)(self.appearance, self.reader.view))

    def action_evidence(self) -> None:
        """Show all evidence."""
        from tui.screens.evidence import EvidenceScreen

        self._open(EvidenceScreen(self.appearance, self.reader.view))

    def action_help(self) -> None:
        """Show the help."""
        from tui.screens.help import HelpScreen

        self._open(HelpScreen(self.appearance, self.reader.view))

    def _open(self, screen: LiveScreen) -> None:
        """Show a page, in place of the page that is shown."""
        self._cockpit_alone()
        self.push_screen(screen, lambda _: self._draw_soon())

    async def action_mark(self) -> None:
        """Ask for a text, to note it."""
        await self.ask("mark", tr("what happens now? (enter notes it, escape goes back)"))

    def action_copy(self) -> None:
        """Copy the report so far; the terminal puts it into its clipboard, also over SSH."""
        text = self.reader.report()
        if not text:
            self.say(tr("nothing was measured yet"))
            return
        self.copy_to_clipboard(text)
        lines = len(text.splitlines())
        self.say(tr("copied: the report so far, {lines} lines (if the terminal allows it: OSC 52)", lines=lines))

    def copy_to_clipboard(self, text: str) -> None:
        """As Textual does, also through GNU screen."""
        if self._driver is not None:
            self._driver.write(clipboard(text, os.environ))

    async def ask(self, purpose: str, words: str, text: str = "", *, number: bool = False) -> None:
        """Ask for a line of text; :meth:`on_question_answered` gets it."""
        await self._cockpit_alone().ask(purpose, words, text, number=number)

    def _cockpit_alone(self) -> CockpitScreen:
        """The cockpit, without a page over it."""
        if not isinstance(self.screen, CockpitScreen):
            self.screen.dismiss()
        return self._cockpit

    def on_question_answered(self, event: "Question.Answered") -> None:
        """Do what was answered; a filter is tried while it is typed."""
        if event.purpose == "filter":
            self._cockpit.filter(event.text)
        if not event.final:
            return
        self._cockpit.stop_asking()
        if event.purpose == "load" and event.text:
            self.say(self.load_control.set(self.reader.load, event.text))
        elif event.purpose == "mark" and event.text:
            self.reader.feed.command(Mark(event.text))
            self.say(tr("noted: {text}", text=event.text))

    async def on_palette_done(self, event: "Palette.Done") -> None:
        """Do what was chosen."""
        self._cockpit.stop_offering()
        if event.action:
            await self.run_action(event.action)

    def action_picture(self) -> None:
        """Save the screen as a file."""
        from tui.drawing.svg import saved

        self.say(*saved(self.screen, self.appearance, self.reader.feed.title))

    async def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        """A click on a key does what the key does."""
        await self.run_action(event.action)


async def run_cockpit(
    feed: Feed,
    *,
    appearance: Appearance | None = None,
    first: FirstPage | None = None,
    program: "CommandLoad | None" = None,
    seconds: float | None = None,
    load_owner: LoadOwner = "hand",
) -> signal.Signals | None:
    """Show the feed, beginning with the page ``first``, until a person or a signal ends it, or so many ``seconds`` are
    over, and stop the feed. ``program`` is a command that the feed runs, ``steered`` who has the load in hand.

    Returns the signal that ended it (ctrl+c counts as SIGINT), or ``None`` after ``q``. After a hang-up the standard
    files that were terminals lead nowhere. What broke the feed, if anything did, is raised once the screen is closed.
    """
    app = Cockpit(feed, appearance=appearance, first=first, program=program, load_owner=load_owner)
    end = None if seconds is None else asyncio.get_running_loop().call_later(seconds, app.exit)
    try:
        return await run_app(app)
    finally:
        if end is not None:
            end.cancel()


async def run_app(app: Cockpit) -> signal.Signals | None:
    """Show a cockpit to its end, as :func:`run_cockpit` says."""
    try:
        ended_by = await app.run_async()
    finally:
        await app.reader.close()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    if app.reader.failure is not None:
        raise app.reader.failure
    return ended_by
