"""What a person does to the load: each key is an action, each action a command to the feed."""

from loadtop.i18n import tr
from tui.dial import Dial
from tui.drawing.line import Role
from tui.follower import Follower


class LoadActions:
    """The part of the cockpit that changes the load. The app says what a ``dial`` and a ``follower`` are."""

    dial: Dial
    follower: Follower

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the last line for a while."""
        raise NotImplementedError

    async def ask(self, purpose: str, words: str, text: str = "", *, number: bool = False) -> None:
        """Ask for a line of text."""
        raise NotImplementedError

    def action_more(self) -> None:
        """More load."""
        self.say(self.dial.turn(self.follower.load, up=True))

    def action_less(self) -> None:
        """Less load."""
        self.say(self.dial.turn(self.follower.load, up=False))

    async def action_type_load(self, digit: str = "") -> None:
        """Ask for the load, beginning with a digit that was typed already."""
        load = self.follower.load
        problem = self.dial.why_fixed(load)
        if load is None or problem:
            self.say(problem)
        else:
            words = tr("requests per second") if load.rate is not None else tr("connections")
            await self.ask("load", words, digit, number=True)

    def action_stop_load(self) -> None:
        """End the load; watching goes on."""
        self.say(self.dial.stop(self.follower.load))

    def action_restart_load(self) -> None:
        """Begin the load again."""
        self.say(self.dial.restart(self.follower.load))

    def action_next_step(self) -> None:
        """Go on to the next step."""
        self.say(self.dial.next_step(self.follower.load))
