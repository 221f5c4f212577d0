"""Steps the concurrency of a live load: which step comes next, and when the running one is over."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.tune.knee import KNEE_SHARE, WORSE_SHARE, Knee, Point, find_knee, points
from loadtop.analysis.tune.step import StepResult, Sweep, window
from loadtop.i18n import Message
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.feed import Command, SetConcurrency, StopLoad
from loadtop.pipeline.monitor import LoadSource
from loadtop.pipeline.snapshot import Snapshot

GAIN = 1.05  # times the best throughput so far that a doubling must give to count as a gain; our own
FLAT_STEPS = 2  # doublings in a row without a gain after which no more are made
CONFIRMING = 2


@dataclass(slots=True)
class StepSearch:
    """Chooses the next step from the results so far: doubles up to where more connections give no more, then takes at
    most ``finer`` steps around the knee, then up to :data:`CONFIRMING` steps at the knee.

    ``first`` and ``most`` are connections. ``reason`` says why doubling ended, once it did.
    """

    first: int
    most: int
    finer: int
    reason: Message | None = None
    _refined: int = field(default=0, init=False)
    _confirmed: list[int] = field(default_factory=list[int], init=False)

    def next(self, results: Sequence[StepResult]) -> int | None:
        if not results:
            return self.first
        if self.reason is None:
            self.reason = self._end_of_doubling(results)
            if self.reason is None:
                return min(self.most, results[-1].concurrency * 2)
        knee = find_knee(results)
        if knee is None:
            return None
        if self._refined < self.finer and not self._confirmed:
            finer = _between(points(results), knee)
            if finer is not None:
                self._refined += 1
                return finer
        if knee.concurrency in self._confirmed or len(self._confirmed) >= CONFIRMING:
            return None
        self._confirmed.append(knee.concurrency)
        return knee.concurrency

    def _end_of_doubling(self, results: Sequence[StepResult]) -> Message | None:
        last, rates = results[-1], [result.rps for result in results]
        if last.fails:
            return Message("requests fail at {c} connections", c=last.concurrency)
        if last.bottleneck == "generator":
            return Message("the load generator is at its limit")
        if rates[:-1] and last.swaps:
            return Message("the server swaps at {c} connections", c=last.concurrency)
        if rates[:-1] and last.rps < 0.8 * max(rates[:-1]):
            return Message("throughput at {c} connections is far below its best", c=last.concurrency)
        gains = [rate > GAIN * max(rates[:index]) for index, rate in enumerate(rates) if index > 0]
        if len(gains) >= FLAT_STEPS and not any(gains[-FLAT_STEPS:]):
            return Message("more connections do not raise throughput")
        if last.concurrency >= self.most:
            return Message("the maximum of {c} connections was reached (raise it with -c)", c=self.most)
        return None


def _between(known: Sequence[Point], knee: Knee) -> int | None:
    """The additional step with the most information: first below where it gets worse, which bounds the setting, then
    where the knee begins. ``None`` where neighbours are close enough."""
    best = max(point.rps for point in known if point.good)
    gaps: list[tuple[int, int, int]] = []
    if knee.worse_from is not None:
        fine = [p.concurrency for p in known if p.concurrency < knee.worse_from and p.good]
        cliff = not next(p for p in known if p.concurrency == knee.worse_from).good
        gaps.append((max(fine), knee.worse_from, 12 if cliff else 4))
    above = [p for p in known if p.good and p.concurrency > knee.until]
    if above and knee.until == knee.concurrency and above[0].rps >= WORSE_SHARE * best:
        gaps.append((knee.concurrency, above[0].concurrency, 4))
    below = [p.concurrency for p in known if p.concurrency < knee.concurrency and p.rps < KNEE_SHARE * best]
    if below:
        gaps.append((max(below), knee.concurrency, 4))
    # A gap is wide if it is more than a ``fineness``-th of its lower end.
    return next(((low + high) // 2 for low, high, fineness in gaps if high - low > max(1, low // fineness)), None)


class TimeLimits(Struct, frozen=True):
    """Seconds of a step at least, of a step that is not steady at most, and of the whole sweep."""

    step_s: float
    most_step_s: float
    total_s: float


@dataclass(slots=True)
class SweepController:
    """Takes every snapshot after ``sweep`` did. When a step is over, it hands the result to ``on_result`` and commands
    the load to the next step, or to stop. ``over`` says whether it did; ``reason`` why the sweep ended, if that is
    worth telling."""

    search: StepSearch
    limits: TimeLimits
    sweep: Sweep
    command: Callable[[Command], None]
    on_result: Callable[[StepResult], None]
    over: bool = field(default=False, init=False)
    _wanted: int = field(default=0, init=False)
    _known: int = field(default=0, init=False)
    _out_of_time: Message | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._wanted = self.search.first

    @property
    def reason(self) -> Message | None:
        return self.search.reason or self._out_of_time

    def add(self, snapshot: Snapshot) -> None:
        """Count one interval; if its step is over, go on to the next."""
        running = snapshot.load is not None and snapshot.load.state is LoadState.RUNNING
        over = running and not self.over and self.sweep.intervals and self._step_is_over(snapshot)
        if over:
            self.sweep.end_step()
        for result in self.sweep.results[self._known :]:
            self.on_result(result)
        self._known = len(self.sweep.results)
        if over:
            self._next_step(snapshot)

    def _step_is_over(self, snapshot: Snapshot) -> bool:
        limits, intervals = self.limits, self.sweep.intervals
        spent = snapshot.at - self.sweep.step_at
        if snapshot.at >= limits.total_s or spent >= limits.most_step_s:
            return True
        if snapshot.load is None or snapshot.load.concurrency != self._wanted:
            return False  # changed by hand, or the engine cannot follow: measured, but not waited for
        if spent < limits.step_s:
            return False
        found = window(intervals, after_swapping=self.sweep.after_swapping)
        if found is None or not found.steady:
            return False
        return snapshot.at - intervals[found.first - 1].at >= min(limits.step_s, spent) * 0.8

    def _next_step(self, snapshot: Snapshot) -> None:
        wanted = self.search.next(self.sweep.results)
        if wanted is not None and snapshot.at < self.limits.total_s:
            self._wanted = wanted
            self.command(SetConcurrency(wanted))
            return
        if wanted is not None:
            seconds = f"{self.limits.total_s:.0f}"
            self._out_of_time = Message(
                "the time limit was reached ({seconds} s; raise it with --time)", seconds=seconds
            )
        self.over = True
        self.command(StopLoad())


class SteppedLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource` that passes another one on and counts its changes of concurrency
    as steps. How many there will be is not known, so its samples name no end."""

    def __init__(self, load: LoadSource) -> None:
        self._load = load
        self._step = 1
        self._concurrency: int | None = None

    async def start(self) -> None:
        await self._load.start()

    async def wait(self) -> None:
        await self._load.wait()

    def take(self) -> LoadSample | None:
        sample = self._load.take()
        if sample is None:
            return None
        if self._concurrency is not None and sample.concurrency != self._concurrency and not sample.state.ended:
            self._step += 1
        self._concurrency = sample.concurrency
        return replace(sample, step=self._step, steps=self._step, target_s=None, target_requests=None)

    def command(self, command: Command) -> None:
        """Pass it on; the concurrency that runs already is a step once more."""
        if isinstance(command, SetConcurrency) and command.connections == self._concurrency:
            self._step += 1
        self._load.command(command)

    async def close(self) -> None:
        await self._load.close()
