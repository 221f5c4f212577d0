"""Joins load and machines into frames on one monotonic clock, and passes their snapshots on."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from msgspec.structs import replace

from loadtop.diagnosis.cpu import PROFILED
from loadtop.i18n import Message, Text, duration, tr
from loadtop.model import LOADTOP, Frame, HostSample, HostState, LoadSample, LoadState, Profile
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.background import background, described, mistake
from loadtop.pipeline.feed import Command, Mark, RestartLoad, StopLoad, TakeProfile
from loadtop.pipeline.heartbeat import PERIOD_S, SILENCE_S
from loadtop.pipeline.snapshot import Pipeline, Snapshot

GRACE = 0.15  # share of the interval from the sampling of machines to the frame, so that samples are fresh
ENDED_S = 0.05  # seconds that a restarted load may take to report its end
MOST_MARKS, LONGEST_MARK = 100, 400  # marks that one frame takes, and characters of each
MOST_PROFILED = 20  # busiest processes that are passed to a profiler
PATIENCE_S = 1.0  # seconds to wait for a load to stop, or for a machine's sample


class LoadSource(Protocol):
    """A load in progress: the built-in generator, another engine, or a test's own."""

    async def start(self) -> None:
        """Begin. Problems with the target raise nothing: they show in the samples."""

    async def wait(self) -> None:
        """Return when the load has ended or was stopped."""

    def take(self) -> LoadSample | None:
        """The newest sample; its latencies cover all that came since the last call (so there is one taker). Where
        it says ``more``, the next is to be taken at once."""

    def command(self, command: Command) -> None:
        """Change the load while it runs."""

    async def close(self) -> None:
        """Stop everything that runs and wait for its end."""


class HostSource(Protocol):
    """A machine that is sampled in the background."""

    name: str
    role: str

    async def start(self, interval_s: float) -> None: ...

    def latest(self) -> tuple[HostSample | None, Text]:
        """The newest sample (a new one replaces an unread one) and, where samples are missing, why."""
        ...

    async def refresh(self, *, later: bool = False) -> None:
        """Take a sample now, beside the regular ones, where the newest is too old to stand for this moment; with
        ``later`` in any case, and late enough for rates."""

    async def profile(self, pids: Sequence[int]) -> Profile:
        """Where the machine's CPU time goes in the next seconds; ``pids`` are its busiest processes."""
        ...

    async def close(self) -> None: ...


class Clock:
    """This machine's time; tests bring their own."""

    def monotonic(self) -> float:
        return time.monotonic()

    def wall(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Monitor:
    """A live test: one frame per interval from the newest samples. It is the live :class:`loadtop.pipeline.feed.Feed`.

    ``sinks`` (the recorder, the totals) get every snapshot before it is shown. With ``until_load_ends`` the last frame
    is the one after the load ended; without a load, it watches until the task is cancelled. With ``profiles``, a host
    is profiled once for each time that its CPU becomes the limit. While it runs, it handles the exceptions that reach
    the event loop: the load has failed then.
    """

    def __init__(
        self,
        title: str,
        load: LoadSource | None,
        hosts: Sequence[HostSource],
        *,
        interval_s: float = 1.0,
        sinks: Sequence[Callable[[Snapshot], None]] = (),
        until_load_ends: bool = False,
        profiles: bool = False,
        recording: str = "",
        url: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.title = url_without_secrets(title)
        self.url = url
        self.interval_s = interval_s
        self.recording = recording
        self._load = load
        self._hosts = hosts
        self._sinks = sinks
        self._until_load_ends = until_load_ends
        self._profiles = profiles
        self._clock = clock or Clock()
        self._pipeline = Pipeline()
        self._marks: list[str] = []
        self._restarted = False
        self._ended: asyncio.Task[None] | None = None  # waits for the end of the load
        self._problem: Message | None = None
        self._seen: dict[str, float] = {}
        self._failures: dict[str, Message] = {}
        self._profiling: dict[str, asyncio.Task[Profile]] = {}
        self._profiled: set[tuple[str, float]] = set()  # hosts, and since when their CPU is the limit
        self._snapshot: Snapshot | None = None
        self._number = 0
        self._began = 0.0

    def command(self, command: Command) -> None:
        """Put marks into the next frame, profile hosts, and pass every other command on to the load."""
        if isinstance(command, Mark):
            self._marks += [command.text[:LONGEST_MARK]] if len(self._marks) < MOST_MARKS else []
        elif isinstance(command, TakeProfile):
            self._profile(command.host)
        elif self._load is not None:
            if isinstance(command, RestartLoad):
                self._restarted, self._problem = True, None
            self._load.command(command)

    async def run(self, show: Callable[[Snapshot], None]) -> None:
        """Run the test; ``show`` gets each snapshot. At the end, the load is stopped first."""
        loop = asyncio.get_running_loop()
        before = loop.get_exception_handler()
        loop.set_exception_handler(self._fail)
        noting = background(self._note_suspensions(), "note suspensions")
        try:
            await self._run(show)
        finally:
            noting.cancel()
            loop.set_exception_handler(before)

    async def _note_suspensions(self) -> None:
        """Mark where this process did not run (Ctrl-Z, SIGSTOP, or it hung) so long that its load paused."""
        loop = asyncio.get_running_loop()
        while True:
            before = loop.time()
            await asyncio.sleep(PERIOD_S)
            if (passed_s := loop.time() - before) > SILENCE_S:
                self._marks.append(tr("loadtop was suspended for {time}", time=duration(passed_s)))

    def _fail(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """End the load with a problem: an exception of our own code reached the event loop."""
        loop.default_exception_handler(context)
        error = mistake(context)
        if error is not None and self._load is not None:
            self._problem = self._problem or described(error)
            if self._ended is not None:
                self._ended.cancel()
            self._load.command(StopLoad())

    async def _run(self, show: Callable[[Snapshot], None]) -> None:
        self._began = self._clock.monotonic()
        try:
            await asyncio.gather(*(host.start(self.interval_s) for host in self._hosts))
            await self._refresh()
            if self._load is not None:
                await self._load.start()
                self._ended = background(self._load.wait(), "wait for the load")
            await self._tick_until(self._ended if self._until_load_ends else None, show)
        finally:
            try:
                if self._load is not None and self._ended is not None:
                    await self._end(self._load, self._ended)
            finally:  # also after a second interruption
                for task in self._profiling.values():
                    task.cancel()
                await asyncio.gather(*self._profiling.values(), return_exceptions=True)
                sources = [host.close() for host in self._hosts]
                if self._load is not None:
                    sources.insert(0, self._load.close())
                for outcome in await asyncio.gather(*sources, return_exceptions=True):
                    if isinstance(outcome, BaseException):
                        raise outcome

    async def _refresh(self, *, later: bool = False) -> None:
        refreshing = [asyncio.ensure_future(host.refresh(later=later)) for host in self._hosts]
        try:
            if refreshing:
                await asyncio.wait(refreshing, timeout=PATIENCE_S)
        finally:
            for task, host in zip(refreshing, self._hosts, strict=True):
                if not task.cancel() and not task.cancelled() and (error := task.exception()) is not None:
                    self._failures[host.name] = _mistake(error)

    async def _end(self, load: LoadSource, ended: asyncio.Task[None]) -> None:
        """Stop the load if it still runs (``ended`` waits for it), and show its last counters: all requests count."""
        try:
            if self._restarted:
                ended.cancel()
                ended = asyncio.create_task(load.wait())
                await asyncio.wait({ended}, timeout=ENDED_S)
            if not ended.done():
                load.command(StopLoad())
                await asyncio.wait({ended}, timeout=PATIENCE_S)
                await self._refresh(later=True)
                self._show(lambda _: None)
        finally:
            ended.cancel()

    async def _tick_until(self, ended: asyncio.Task[None] | None, show: Callable[[Snapshot], None]) -> None:
        while True:
            if ended is not None and ended.done():
                # The last interval is cut short: without samples of its own the machines would be missing from it.
                await self._refresh(later=True)
                self._show(show)
                if self._profiling:
                    await asyncio.wait(self._profiling.values())
                    self._show(show)
                return
            self._show(show)
            now = self._clock.monotonic() - self._began
            # Ticks follow the deadline before them; ones that were missed are dropped, not made up for.
            ticks = int(now / self.interval_s - GRACE + 1e-9) + 1
            due = (ticks + GRACE) * self.interval_s
            pause = asyncio.ensure_future(self._clock.sleep(due - now))
            try:
                await asyncio.wait({pause} if ended is None else {pause, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pause.cancel()

    def _show(self, show: Callable[[Snapshot], None]) -> None:
        more = True
        while more:
            snapshot = self._pipeline.snapshot(self._frame())
            for sink in self._sinks:
                sink(snapshot)
            show(snapshot)
            self._snapshot = snapshot
            self._profile_the_limit(snapshot)
            more = snapshot.load is not None and snapshot.load.more

    def _profile_the_limit(self, snapshot: Snapshot) -> None:
        verdict, load = snapshot.diagnosis.verdict, snapshot.load
        limit = (verdict.host or "", verdict.since_s)
        runs = load is None or not load.state.ended
        if self._profiles and runs and verdict.bottleneck in PROFILED and limit not in self._profiled:
            self._profiled.add(limit)
            self._profile(limit[0])

    def _profile(self, name: str) -> None:
        host = next((host for host in self._hosts if host.name == name), None)
        if host is None or name in self._profiling:
            return
        views = () if self._snapshot is None else self._snapshot.measured.hosts
        rates = next((view.rates for view in views if view.name == name), None)
        known = () if rates is None or rates.processes is None else rates.processes
        found = [each for each in known if each.process.group != LOADTOP]
        busiest = sorted(found, key=lambda each: each.cpu or 0.0, reverse=True)[:MOST_PROFILED]
        self._profiling[name] = asyncio.create_task(host.profile([each.process.pid for each in busiest]))

    def _profiles_done(self) -> tuple[Profile, ...]:
        done = {name: task for name, task in self._profiling.items() if task.done()}
        for name in done:
            del self._profiling[name]
        return tuple(
            Profile(name, problem=_mistake(error)) if (error := task.exception()) else task.result()
            for name, task in done.items()
        )

    def _frame(self) -> Frame:
        marks = tuple(self._marks)
        self._marks.clear()
        self._number += 1
        load = None if self._load is None else self._load.take()
        if load is not None and self._problem is not None:
            load = replace(load, state=LoadState.FAILED, message=self._problem)
        return Frame(
            number=self._number,
            at=self._clock.monotonic() - self._began,
            wall=self._clock.wall(),
            load=load,
            hosts=tuple(self._state(host) for host in self._hosts),
            marks=marks,
            profiles=self._profiles_done(),
        )

    def _state(self, host: HostSource) -> HostState:
        sample, problem = host.latest()
        fresh = sample is not None and self._seen.get(host.name) != sample.at
        if sample is not None:
            self._seen[host.name] = sample.at
        failure = self._failures.pop(host.name, "")
        return HostState(host.name, host.role, sample, fresh, problem or failure)


def _mistake(error: BaseException) -> Message:
    return Message("an error in loadtop: {error}", error=repr(error))
