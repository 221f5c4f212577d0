"""What a person does to the load: each key is an action, each action a command to the feed."""

from loadtop.i18n import tr
from tui.apps.load_control import LoadControl
from tui.drawing.line import Role
from tui.state.feed_reader import FeedReader


class LoadActions:
    """The part of the cockpit that changes the load. The app says what a ``dial`` and a ``follower`` are."""

    load_control: LoadControl
    reader: FeedReader

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line for a while."""
        raise NotImplementedError

    async def ask(self, purpose: str, words: str, text: str = "", *, number: bool = False) -> None:
        """Ask for a line of text."""
        raise NotImplementedError

    def action_more(self) -> None:
        """More load."""
        self.say(self.load_control.turn(self.reader.load, up=True))

    def action_less(self) -> None:
        """Less load."""
        self.say(self.load_control.turn(self.reader.load, up=False))

    async def action_type_load(self, digit: str = "") -> None:
        """Ask for the load, beginning with a digit that was typed already."""
        load = self.reader.load
        problem = self.load_control.why_fixed(load)
        if load is None or problem:
            self.say(problem)
        else:
            words = tr("requests per second") if load.rate is not None else tr("connections")
            await self.ask("load", words, digit, number=True)

    def action_stop_load(self) -> None:
        """End the load; watching goes on."""
        self.say(self.load_control.stop(self.reader.load))

    def action_restart_load(self) -> None:
        """Begin the load again."""
        self.say(self.load_control.restart(self.reader.load))

    def action_next_step(self) -> None:
        """Go on to the next step."""
        self.say(self.load_control.next_step(self.reader.load))
