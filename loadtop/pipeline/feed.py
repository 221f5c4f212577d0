"""The source of snapshots for the cockpit or the printer: a live test or a recording, with the same interface."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from loadtop.pipeline.commands import Command
from loadtop.pipeline.snapshot import Snapshot


class Feed(Protocol):
    """A stream of snapshots.

    ``title`` says what is watched (a URL, a file); ``url`` is what the load requests, where that is one URL;
    ``interval_s`` is the distance of snapshots; ``recording`` is the file that is being written, or empty. ``run``
    calls ``show`` with each snapshot and returns when there are no more; cancelling it ends the test. ``command`` asks
    for a change.
    """

    title: str
    url: str | None
    interval_s: float
    recording: str

    async def run(self, show: Callable[[Snapshot], None]) -> None: ...

    def command(self, command: Command) -> None: ...


class PreparedFeed:
    """A feed that is prepared when it is run, so that slow preparations happen behind the painted screen."""

    def __init__(self, title: str, interval_s: float, recording: str, prepare: Callable[[], Awaitable[Feed]]) -> None:
        self.title = title
        self.url: str | None = None
        self.interval_s = interval_s
        self.recording = recording
        self._prepare = prepare
        self._feed: Feed | None = None

    async def run(self, show: Callable[[Snapshot], None]) -> None:
        self._feed = await self._prepare()
        self.title, self.url = self._feed.title, self._feed.url
        await self._feed.run(show)

    def command(self, command: Command) -> None:
        """Pass it on; before the test runs there is nothing to change."""
        if self._feed is not None:
            self._feed.command(command)
