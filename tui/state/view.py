"""What a screen shows: one snapshot, the chosen machine and the past. Panels are functions of it."""

from dataclasses import dataclass
from enum import Enum, auto

from loadtop.i18n import duration, tr
from loadtop.model import HostSample, LoadSample, State
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import HostRates
from tui.drawing.line import message_text
from tui.state.history import STALE_INTERVALS, History, HostHistory

_NOTHING = HostHistory()


class Phase(Enum):
    STARTING = auto()
    LIVE = auto()
    DONE = auto()
    BROKEN = auto()


@dataclass(frozen=True, slots=True)
class View:
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
    def hosts(self) -> tuple[HostView, ...]:
        return () if self.snapshot is None else self.snapshot.hosts

    @property
    def host(self) -> HostView | None:
        found = next((host for host in self.hosts if host.name == self.host_name), None)
        return found or next(iter(self.hosts), None)

    @property
    def past(self) -> HostHistory:
        host = self.host
        return self.history.hosts.get(host.name, _NOTHING) if host is not None else _NOTHING

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
            return tr("no machine is watched: add one with --host NAME=ssh://HOST")
        if self.stale_s or (host.sample is None and host.state.problem):
            cause = "" if brief or not host.state.problem else f": {message_text(host.state.problem)}"
            return tr("no sample for {time}", time=duration(host.stale_s)) + cause
        if host.sample is None:
            return tr("waiting for the first sample")
        for outcome in host.sample.outcomes:
            if outcome.collector in collectors and outcome.state is not State.OK:
                return message_text(outcome.reason) or f"{outcome.collector}: {outcome.state}"
        if self.past.rates is None:
            return tr("measuring: a rate needs two samples")
        return tr("not measured: loadtop doctor says why and what to do")
