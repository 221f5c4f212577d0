"""Reads a feed: keeps the newest snapshot and the past, and makes the view of them."""

import asyncio
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING

from loadtop.analysis.totals.timeline import Span
from loadtop.model import LoadSample
from loadtop.pipeline.feed import Feed
from loadtop.pipeline.snapshot import Snapshot
from tui.state.view import Curve, History, Phase, View

if TYPE_CHECKING:
    from loadtop.analysis.totals.totals import Totals
    from loadtop.analysis.tune.step import Sweep


class FeedReader:
    """Runs a feed in a task of the running loop; ``changed`` is called whenever there is something new to draw.

    Every snapshot goes into the history, with the ``curves`` of the panels. Of snapshots that arrive faster than they
    are drawn, only the newest is kept.
    """

    def __init__(self, feed: Feed, changed: Callable[[], None], curves: Sequence[Curve]) -> None:
        self.feed = feed
        self.failure: BaseException | None = None
        self._changed = changed
        self._curves = curves
        self._newest = View(feed.title, feed.recording, feed.interval_s, History(feed.interval_s, curves=curves))
        self._held: View | None = None
        self._task: asyncio.Task[None] | None = None
        self._totals: Totals | None = None

    @property
    def sweep(self) -> "Sweep":
        return self._added_up().sweep

    @property
    def load(self) -> LoadSample | None:
        """The load now, also while the view is paused."""
        return self._newest.load

    @property
    def load_runs(self) -> bool:
        return self._newest.phase is Phase.LIVE and self.load is not None and not self.load.state.ended

    @property
    def view(self) -> View:
        return self._held or self._newest

    def start(self) -> None:
        self._task = asyncio.create_task(self.feed.run(self.receive), name="feed")
        self._task.add_done_callback(self._ended)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def hold(self) -> None:
        """Pause the view while data goes on, or resume it."""
        self.freeze(self._held is None, paused=True)

    def freeze(self, on: bool, *, paused: bool = False) -> None:
        """Keep the view while a player computes what came before, or resume it."""
        if on == (self._held is None):
            self._held = replace(self._newest, history=deepcopy(self._newest.history), paused=paused) if on else None
            self._changed()

    def restart(self, start: float, spans: Sequence[Span], marks: Sequence[tuple[float, str]]) -> None:
        """Start a new history at ``start`` (seconds), after these verdicts and marks."""
        history = History(self.feed.interval_s, start, curves=self._curves)
        history.timeline.spans.extend(spans)
        history.marks.extend(marks)
        self._newest = replace(self._newest, history=history)
        self._totals = None

    def next_host(self, step: int = 1) -> bool:
        hosts, current = self.view.hosts, self.view.host
        if current is None or len(hosts) < 2:
            return False
        self.show_host(hosts[(hosts.index(current) + step) % len(hosts)].name)
        return True

    def show_host(self, name: str) -> None:
        self._newest = replace(self._newest, host_name=name)
        if self._held is not None:
            self._held = replace(self._held, host_name=name)
        self._changed()

    def report(self) -> str:
        if self._totals is None or self._totals.started is None:
            return ""
        from loadtop.reports.text import report

        return report(self._totals.result())

    def receive(self, snapshot: Snapshot) -> None:
        self._newest.history.add(snapshot)
        self._added_up().add(snapshot)
        self._newest = replace(self._newest, title=self.feed.title, snapshot=snapshot, phase=Phase.LIVE)
        if self._held is None:
            self._changed()

    def _added_up(self) -> "Totals":
        """Everything since the feed began, or was restarted."""
        if self._totals is None:
            from loadtop.analysis.totals.totals import Totals

            self._totals = Totals(self.feed.url)
        return self._totals

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if task.cancelled():
            return
        self.failure = error = task.exception()
        self._newest = replace(self._newest, phase=Phase.DONE)
        if error is not None:
            self._newest = replace(self._newest, phase=Phase.BROKEN, detail=str(error) or type(error).__name__)
        self._held = None
        self._changed()
