"""The source of snapshots for the cockpit or the printer, a live test or a recording, and the commands to it.

Commands are the only way back from the cockpit into the flow of data.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from loadtop.pipeline.snapshot import Snapshot


class SetConcurrency(Struct, frozen=True):
    """From now on keep this many connections (closed model)."""

    connections: int


class SetRate(Struct, frozen=True):
    """From now on start this many requests per second (open model)."""

    per_second: float


class StopLoad(Struct, frozen=True):
    """End the load now; watching continues."""


class RestartLoad(Struct, frozen=True):
    """Restart the load with its original settings, whether it still runs or has ended."""


class NextStep(Struct, frozen=True):
    """End this step of the load now and continue with the next; the last one continues."""


class Mark(Struct, frozen=True):
    """Mark the time axis."""

    text: str


class TakeProfile(Struct, frozen=True):
    """Find out where the CPU time of a host goes; the profile is in a later snapshot."""

    host: str


Command = SetConcurrency | SetRate | StopLoad | RestartLoad | NextStep | Mark | TakeProfile


class Feed(Protocol):
    """A stream of snapshots.

    ``title`` says what is watched (a URL, a file); ``url`` is what the load requests, where that is one URL;
    ``interval_s`` is the distance of snapshots; ``recording`` is the file that is being written, or empty. ``run``
    calls ``show`` with each snapshot and returns when there are no more; cancelling it ends the test.
    """

    title: str
    url: str | None
    interval_s: float
    recording: str

    async def run(self, show: Callable[[Snapshot], None]) -> None: ...

    def command(self, command: Command) -> None: ...


@dataclass
class PreparedFeed:
    """A feed that is prepared when it is run, so that slow preparations happen behind the painted screen."""

    title: str
    interval_s: float
    recording: str
    prepare: Callable[[], Awaitable[Feed]]
    url: str | None = None
    feed: Feed | None = None

    async def run(self, show: Callable[[Snapshot], None]) -> None:
        self.feed = await self.prepare()
        self.title, self.url = self.feed.title, self.feed.url
        await self.feed.run(show)

    def command(self, command: Command) -> None:
        """Pass it on; before the test runs there is nothing to change."""
        if self.feed is not None:
            self.feed.command(command)
