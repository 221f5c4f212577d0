"""What a screen shows: one snapshot of a feed, the chosen machine and the past. Panels are functions of it.

The past is kept for graphs: one bounded ring per number, fed with every snapshot, also with those that are not drawn.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.totals.timeline import Span, Timeline, counts
from loadtop.diagnosis.finding import NONE, Finding
from loadtop.i18n import Translatable, duration, tr
from loadtop.model import HostSample, LoadSample, Profile, State
from loadtop.model.histogram import percentile_ms
from loadtop.pipeline.feed import Feed
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import CpuShares, HostRates, LoadRates
from tui.drawing.graph import Ring, RoleAt, ceiling, plain
from tui.drawing.line import message_text
from tui.state.request_time import RequestTime

if TYPE_CHECKING:
    from loadtop.analysis.totals.totals import Totals
    from loadtop.analysis.tune.step import Sweep

STALE_INTERVALS = 2.5  # intervals without a sample after which a machine is shown stale; one late sample is normal

SHORT = 0.5  # share of an interval below which one that the end of the load cut short is not in the graphs

MAX_MARKS = 500  # marks, steps and evidence curves kept


class Curve(Struct, frozen=True):
    """A past value of a machine that the history keeps, and how it is drawn; ``None`` is a gap.

    ``least`` is the least top of the axis; a utilisation, in percent, has none. ``show`` writes the top in ``caption``.
    """

    name: str
    value_of: Callable[[HostView], float | None]
    caption: Translatable
    least: float | None = None
    round_up: Callable[[float], float] = ceiling
    show: Callable[[float], str] = "{:.0f}".format
    role: RoleAt = plain


@dataclass(slots=True)
class HostHistory:
    """The past of one machine, and its newest rates.

    ``cpu`` holds :func:`cpu_parts` in whole percent. ``servers`` holds, for each kind of server, the newest rates with
    records of it and their time: a server under load does not answer every time.
    """

    cpu: Ring[tuple[int, ...]] = field(default_factory=Ring[tuple[int, ...]])
    curves: defaultdict[str, Ring[float]] = field(default_factory=lambda: defaultdict(Ring[float]))
    rates: HostRates | None = None
    servers: dict[str, tuple[float, HostRates]] = field(default_factory=dict[str, tuple[float, HostRates]])

    def draw(self, host: HostView, curves: Sequence[Curve]) -> None:
        cpu = None if host.rates is None else host.rates.cpu
        self.cpu.append(None if cpu is None else tuple(map(round, cpu_parts(cpu))))
        for curve in curves:
            self.curves[curve.name].append(curve.value_of(host))

    def add(self, host: HostView, at: float) -> None:
        rates = host.rates
        if rates is not None:
            self.rates = rates
            self.servers |= {kind: (at, rates) for kind, records in rates.servers.items() if records}


class History:
    def __init__(self, interval_s: float = 1.0, start: float = 0.0, *, curves: Sequence[Curve] = ()) -> None:
        self.rps = Ring[float]()
        self.p99 = Ring[float]()
        self.hosts: dict[str, HostHistory] = {}
        self.evidence: dict[tuple[str, str], Ring[float]] = {}
        self.request_time = RequestTime()
        self.timeline = Timeline(start)
        self.unseen: list[tuple[float, float]] = []  # stretches with the verdict ``none`` and figures missing
        self.marks: deque[tuple[float, str]] = deque(maxlen=MAX_MARKS)
        self.profiles: dict[str, tuple[float, Profile]] = {}  # the newest of each machine, and when it was complete
        self.steps: deque[tuple[float, int]] = deque(maxlen=MAX_MARKS)
        self._curves = curves
        self._interval_s = interval_s
        self._load: LoadSample | None = None
        self._at = start

    def add(self, snapshot: Snapshot) -> None:
        measured = snapshot.measured
        load, counted = measured.load, counts(measured.load, self._load)
        for host in measured.hosts:
            self.hosts.setdefault(host.name, HostHistory()).add(host, snapshot.at)
        ends = counted and load is not None and load.state.ended
        if not ends or snapshot.at - self._at >= SHORT * self._interval_s:
            self._draw(snapshot, ends=ends)
        self.timeline.add(snapshot, counted)
        self._load, self._at = load, snapshot.at
        self._add_unseen_time(snapshot)
        self.marks.extend((snapshot.at, text) for text in measured.frame.marks)
        self.profiles |= {each.host: (snapshot.at, each) for each in measured.frame.profiles}
        if load is not None and (not self.steps or self.steps[-1][1] != load.step):
            self.steps.append((snapshot.at, load.step))

    def _draw(self, snapshot: Snapshot, *, ends: bool) -> None:
        """Add the interval to the graphs. In the one in which the load ended, throughput is over the whole interval."""
        measured, rates = snapshot.measured, snapshot.measured.load_rates
        rps = None if rates is None else rates.rps
        if ends and rps is not None and rates is not None:
            rps *= min(1.0, rates.seconds / (snapshot.at - self._at))
        self.rps.append(rps)
        self.p99.append(percentile_ms(measured.load, 99.0))
        for host in measured.hosts:
            self.hosts[host.name].draw(host, self._curves)
        over = measured.load is not None and measured.load.state.ended
        self.request_time.add(snapshot.breakdown, over=over)
        self._add_evidence(snapshot)

    def _add_evidence(self, snapshot: Snapshot) -> None:
        """Keep the values that spoke for or against a finding, by machine and metric."""
        diagnosis = snapshot.diagnosis
        items = [item for finding in (diagnosis.verdict, *diagnosis.findings) for item in finding.evidence]
        values = {(item.host, item.metric): item.value for item in items}
        for key in values.keys() - self.evidence.keys():
            if len(self.evidence) < MAX_MARKS:
                self.evidence[key] = Ring[float](total=self.rps.total - 1)
        for key, ring in self.evidence.items():
            ring.append(values.get(key))

    def _add_unseen_time(self, snapshot: Snapshot) -> None:
        missing_s = max((host.stale_s for host in snapshot.measured.hosts), default=0.0)
        limited = snapshot.diagnosis.verdict.bottleneck != NONE
        if limited or missing_s <= STALE_INTERVALS * self._interval_s:
            return
        start = snapshot.at - missing_s
        if self.unseen and self.unseen[-1][1] >= start:
            self.unseen[-1] = (self.unseen[-1][0], snapshot.at)
        else:
            self.unseen.append((start, snapshot.at))


def cpu_parts(cpu: CpuShares) -> tuple[float, float, float, float]:
    """User, kernel, iowait and steal in percent: the layers of a bar or a graph."""
    return cpu.user + cpu.nice, cpu.kernel, cpu.iowait or 0.0, cpu.steal or 0.0


class Phase(Enum):
    STARTING = auto()
    LIVE = auto()
    DONE = auto()
    BROKEN = auto()


class View(Struct, frozen=True):
    title: str
    recording: str
    interval_s: float
    history: History
    snapshot: Snapshot | None = None
    host_name: str = ""
    phase: Phase = Phase.STARTING
    detail: str = ""
    paused: bool = False

    @property
    def load(self) -> LoadSample | None:
        return None if self.snapshot is None else self.snapshot.load

    @property
    def only_watches(self) -> bool:
        """Whether no load is generated here, and so none can be changed."""
        return self.snapshot is not None and self.snapshot.load is None

    @property
    def verdict(self) -> Finding | None:
        return None if self.snapshot is None else self.snapshot.diagnosis.verdict

    @property
    def load_rates(self) -> LoadRates | None:
        return None if self.snapshot is None else self.snapshot.measured.load_rates

    @property
    def hosts(self) -> tuple[HostView, ...]:
        return () if self.snapshot is None else self.snapshot.measured.hosts

    @property
    def host(self) -> HostView | None:
        found = next((host for host in self.hosts if host.name == self.host_name), None)
        return found or next(iter(self.hosts), None)

    @property
    def past(self) -> HostHistory:
        host = self.host
        return (None if host is None else self.history.hosts.get(host.name)) or HostHistory()

    @property
    def stale_s(self) -> float:
        """Seconds since the last sample of the chosen machine; 0 while samples arrive in time."""
        host = self.host
        return host.stale_s if host is not None and self.is_stale(host) else 0.0

    def is_stale(self, host: HostView) -> bool:
        """Whether a machine's figures are too old to be shown as the present."""
        return self.phase is Phase.LIVE and host.stale_s > STALE_INTERVALS * self.interval_s

    @property
    def rates(self) -> HostRates | None:
        """The newest rates of the chosen machine; ``None`` while it is stale or before it was sampled twice."""
        return None if self.stale_s else self.past.rates

    @property
    def sample(self) -> HostSample | None:
        """The newest sample of the chosen machine; ``None`` while it is stale."""
        host = self.host
        return None if host is None or self.stale_s else host.sample

    def rates_with(self, kind: str) -> HostRates | None:
        """The chosen machine's newest rates with records of this kind of server; ``None`` once they are too old."""
        at = 0.0 if self.snapshot is None else self.snapshot.at
        known_at, rates = self.past.servers.get(kind, (0.0, None))
        return rates if not self.stale_s and at - known_at <= STALE_INTERVALS * self.interval_s else None

    def why_nothing(self, *collectors: str, brief: bool = True) -> str:
        """Say why a panel has nothing to show: no machine, a stale one, or the reason its collector gave.

        ``brief`` leaves out why a machine is stale: one panel shows it.
        """
        host = self.host
        if host is None:
            if self.phase is Phase.STARTING:
                return tr("waiting for the first figures")
            return tr("no host is watched: add one with --host NAME=ssh://HOST")
        if self.stale_s or (host.sample is None and host.state.problem):
            cause = "" if brief or not host.state.problem else f": {message_text(host.state.problem)}"
            return tr("no sample for {time}", time=duration(host.stale_s)) + cause
        if host.sample is None:
            return tr("waiting for the first sample")
        for outcome in host.sample.outcomes:
            if outcome.collector in collectors and outcome.state is not State.OK:
                return message_text(outcome.reason) or f"{outcome.collector}: {outcome.state}"
        if self.past.rates is None:
            return tr("measuring (a rate needs two samples)")
        return tr("not measured: see `loadtop doctor`")


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
        """Pause the view while data continues, or resume it."""
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
