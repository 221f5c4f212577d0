"""A feed without a test behind it."""

import asyncio
from collections.abc import Callable, Iterable

from loadtop.pipeline.feed import Command
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.scenes import URL, moments


class FakeFeed:
    """Gives moments, one every ``pause_s``, and keeps the commands it gets. ``stay``: continues after the last one."""

    def __init__(self, snapshots: Iterable[Snapshot], *, pause_s: float = 0.0, stay: bool = True) -> None:
        self.title = URL
        self.url: str | None = URL
        self.interval_s = 1.0
        self.recording = "loadtop-web1.sqlite"
        self.commands: list[Command] = []
        self.running = False
        self.cancelled = False
        self.failure: Exception | None = None
        self._moments = snapshots
        self._pause_s = pause_s
        self._stay = stay

    async def run(self, show: Callable[[Snapshot], None]) -> None:
        self.running = True
        try:
            for snapshot in self._moments:
                show(snapshot)
                await asyncio.sleep(self._pause_s)
            if self.failure is not None:
                raise self.failure
            if self._stay:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.running = False

    def command(self, command: Command) -> None:
        self.commands.append(command)


def feed_of(scene: str) -> FakeFeed:
    """A feed that gives the moments of a scene at once, and then stays."""
    return FakeFeed(moments(scene))
