"""A recording as a feed that can be paused, stepped, sped up and searched; one that is still written is followed."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.totals.timeline import Span
from loadtop.diagnosis.finding import Diagnosis, Finding
from loadtop.i18n import tr, verbatim
from loadtop.model import Profile
from loadtop.pipeline.feed import Command
from loadtop.pipeline.monitor import Clock
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from loadtop.recording.reader import Session, ShownVerdict
from loadtop.servers.registry import VERDICT_NAMES

WINDOW = 600
"""Intervals before a moment that are computed again with it: what graphs show, and the memory of the diagnosis. In
recordings that are no longer, every picture is exactly what was shown live."""

BUFFER = 2 * WINDOW  # snapshots that are kept, to step back among them
AT_ONCE = 4  # intervals that are computed before a key is looked at again
NEAR = 50  # intervals that are computed before anything is shown of a moment far away

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)

Restarted = Callable[[float, Sequence[Span], Sequence[tuple[float, str]]], None]
"""Playback restarts at this time; the verdicts and marks are those before it."""


class Recomputed(Struct, frozen=True):
    """A snapshot, and the verdict that was shown live where that was another one (empty otherwise)."""

    snapshot: Snapshot
    live: str = ""

    @property
    def at(self) -> float:
        return self.snapshot.at


class Recomputation:
    """Computes a recording's snapshots from one frame on, also from those that are written meanwhile.

    The diagnosis knows nothing from before that frame: since when a verdict has held is what was shown live. With
    ``alone``, too little is read for a diagnosis, and the verdict itself is the one that was shown live.
    """

    def __init__(self, session: Session, number: int, *, alone: bool = False) -> None:
        self._session = session
        self._alone = alone
        self._whole = number <= 1
        self._pipeline = Pipeline()
        self._last: float | None = None
        self._begin(number)

    def next(self) -> Recomputed | None:
        """Return the next snapshot; ``None`` where there is none so far."""
        frame = next(self._frames, None)
        if frame is None and self._session.count > self._count:
            self._begin(1 if self._last is None else self._session.index(self._last) + 1)
            frame = next(self._frames, None)
        if frame is None:
            return None
        self._last = frame.at
        snapshot = self._pipeline.snapshot(frame)
        changes = bisect_right(self._verdicts, frame.at, key=attrgetter("at"))
        if not changes:
            return Recomputed(snapshot)
        live = self._verdicts[changes - 1]
        verdict = snapshot.diagnosis.verdict
        if (verdict.bottleneck, verdict.host) == (live.bottleneck, live.host):
            return Recomputed(snapshot if self._whole else _since(snapshot, live))
        if self._alone:
            finding = Finding(live.bottleneck, live.host, live.since, frame.at - live.since, 0.0, (), verbatim(""))
            return Recomputed(replace(snapshot, diagnosis=Diagnosis(finding, (finding,))))
        return Recomputed(snapshot, live.name)

    def _begin(self, number: int) -> None:
        self._count = self._session.count
        self._frames = self._session.frames(number)
        # A recording that was made up can name any verdict.
        self._verdicts = [each for each in self._session.verdicts() if each.bottleneck in VERDICT_NAMES]


def _since(snapshot: Snapshot, live: ShownVerdict) -> Snapshot:
    """Return the snapshot with the beginning of its verdict as it was known live."""
    verdict = snapshot.diagnosis.verdict
    if verdict.since_s <= live.since:
        return snapshot
    corrected = replace(verdict, since_s=live.since, held_s=snapshot.at - live.since)
    others = snapshot.diagnosis.findings[1:]
    findings = (replace(corrected, symptoms=()), *others) if snapshot.diagnosis.findings else ()
    return replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=corrected, findings=findings))


class SessionPlayer:
    """A feed (:class:`loadtop.pipeline.feed.Feed`). With ``stay``, it waits at the end of the recording; without, it
    ends there unless the recording is still being written."""

    def __init__(self, session: Session, *, stay: bool = False, clock: Clock | None = None) -> None:
        self.title = tr("replay of {name}", name=session.path.name)
        self.url: str | None = None
        self.interval_s = session.meta.interval_s
        self.recording = ""
        self.playing = True
        self.speed = 1.0
        self.restarted: Restarted = lambda _, __, ___: None
        self.hold_screen: Callable[[bool], None] = lambda _: None
        """Told True before moments are shown that only lead to another one, and False after that one."""
        self.changed: Callable[[], None] = lambda: None
        self._session = session
        self._stay = stay
        self._clock = clock or Clock()
        self._show: Callable[[Snapshot], None] = lambda _: None
        self._recomputation = Recomputation(session, 1)
        self._buffer: list[Recomputed] = []
        self._place = -1
        self._shown_at = 0.0
        self._wanted: float | None = None
        self._target: float | None = None
        self._disturbed = asyncio.Event()

    @property
    def at(self) -> float:
        """Seconds of the session that are shown, or soon will be."""
        return self._shown if self._target is None else self._target

    @property
    def seeking(self) -> bool:
        """Whether what was before :attr:`at` is still being computed: until then the graphs lack it."""
        return self._target is not None

    @property
    def live(self) -> str:
        """What was shown live at this moment, where the diagnosis is another one now; empty otherwise."""
        return self._buffer[self._place].live if self._place >= 0 and self._target is None else ""

    @property
    def duration(self) -> float:
        return self._session.duration

    @property
    def growing(self) -> bool:
        """Whether the recording seems to be written still: its newest frame is new."""
        if not self._buffer:
            return False
        age = self._clock.wall() - self._buffer[-1].snapshot.measured.frame.wall
        return abs(age) < max(3.0, 3 * self.interval_s)

    def command(self, command: Command) -> None:
        """Nothing can be changed in what has been."""

    async def run(self, show: Callable[[Snapshot], None]) -> None:
        self._show = show
        self._shown_at = self._clock.monotonic()
        while True:
            if self._wanted is not None:
                wanted, self._wanted = self._wanted, None
                await self._go_to(wanted)
            elif not self.playing:
                await self._wait(None)
            elif not self._there_is_more():
                if not self._stay and not self.growing:
                    return
                await self._wait(self.interval_s)
            else:
                due = self._shown_at + (self._buffer[self._place + 1].at - self._shown) / self.speed
                if await self._wait(due - self._clock.monotonic()):
                    self._advance()

    async def _wait(self, seconds: float | None) -> bool:
        """Wait so many seconds (``None``: for ever) or until a key changes something; True when the time is up."""
        self._disturbed.clear()
        waiting: set[asyncio.Future[Any]] = {asyncio.ensure_future(self._disturbed.wait())}
        if seconds is not None:
            waiting.add(asyncio.ensure_future(self._clock.sleep(max(0.0, seconds))))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        return not self._disturbed.is_set()

    def toggle(self) -> None:
        self.playing = not self.playing
        self._changed()

    def faster(self, *, up: bool) -> None:
        place = SPEEDS.index(self.speed) + (1 if up else -1)
        self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
        self._changed()

    def step(self, intervals: int) -> None:
        """Pause, and move forward or back by a number of intervals."""
        self.playing = False
        self.seek(self._session.time_of(self._session.index(self.at) + intervals))

    def seek(self, at: float) -> None:
        """Show the first moment at or after ``at`` seconds."""
        self._wanted = self._target = max(0.0, min(at, self.duration))
        self._changed()

    def profiles(self) -> dict[str, tuple[float, Profile]]:
        """The newest profile of each host up to now, and when it was complete."""
        return self._session.profiles(self.at)

    def seek_mark(self, *, after: bool) -> bool:
        """Show the next mark, or the one before; False where there is none."""
        return self._seek_among([at for at, _ in self._session.marks()], after=after)

    def seek_change(self, *, after: bool) -> bool:
        """Show the next change of the verdict, or the one before; False where there is none."""
        return self._seek_among([change[0] for change in self._session.verdict_changes()], after=after)

    def _seek_among(self, times: Sequence[float], *, after: bool) -> bool:
        found = [at for at in times if (at > self.at if after else at < self.at)]
        if found:
            self.seek(min(found) if after else max(found))
        return bool(found)

    @property
    def _shown(self) -> float:
        return self._buffer[self._place].at if self._place >= 0 else 0.0

    def _changed(self) -> None:
        self._shown_at = self._clock.monotonic()
        self._disturbed.set()
        self.changed()

    def _there_is_more(self) -> bool:
        """Whether a moment follows the one that is shown; it is computed then."""
        if self._place + 1 < len(self._buffer):
            return True
        recomputed = self._recomputation.next()
        if recomputed is None:
            return False
        self._buffer.append(recomputed)
        if len(self._buffer) > BUFFER:
            cut = len(self._buffer) - WINDOW
            del self._buffer[:cut]
            self._place -= cut
        return True

    def _advance(self) -> None:
        self._place += 1
        self._shown_at = self._clock.monotonic()
        self._show(self._buffer[self._place].snapshot)

    async def _go_to(self, wanted: float) -> None:
        """Show the first moment at or after that time, with the history before it, unless another one is requested
        meanwhile. The picture stands still until then."""
        index = self._session.index(wanted)
        known = bool(self._buffer) and self._buffer[0].at <= wanted <= self._buffer[-1].at + WINDOW * self.interval_s
        onward = known and self._shown < wanted
        first = self._session.index(self._buffer[0].at) if known else max(1, index - WINDOW + 1)
        if index - (self._session.index(self._shown) if onward else first) > NEAR:
            onward = False
            await self._preview(index)
        self.hold_screen(True)
        if not known:
            self._recomputation = Recomputation(self._session, first)
            self._buffer = []
        if not onward:
            self._place = -1
            self._announce_past(self._session.time_of(first))
        count = 0
        while self._wanted is None and (self._place < 0 or self._shown < wanted) and self._there_is_more():
            self._advance()
            count += 1
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)
        if self._wanted is None:
            self._target = None
            self.hold_screen(False)

    async def _preview(self, index: int) -> None:
        """Show the moment itself at once, with the verdict that was shown live; what was before it takes longer."""
        self.hold_screen(False)
        preview = Recomputation(self._session, max(1, index - 1), alone=True)
        self.restarted(self._session.time_of(max(1, index - 1)), (), ())
        for _ in range(2):
            recomputed = preview.next()
            if recomputed is not None:
                self._show(recomputed.snapshot)
        await asyncio.sleep(0)

    def _announce_past(self, start: float) -> None:
        """Tell what was before ``start``."""
        changes = [each for each in self._session.verdict_changes() if each[0] < start and each[1] in VERDICT_NAMES]
        ends = [*(change[0] for change in changes[1:]), start][: len(changes)]
        spans = [Span(at, end, name, host) for (at, name, host), end in zip(changes, ends, strict=True)]
        self.restarted(start if changes else 0.0, spans, [mark for mark in self._session.marks() if mark[0] < start])
