"""A frame with the rates that follow from it."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from loadtop.model import CgroupLimits, Frame, HostSample, HostState, LoadSample, Role, ServerKind, ServerReading
from loadtop.model.places import EXEC
from loadtop.model.server import ServiceState
from loadtop.rates.compute import host_rates, load_rates
from loadtop.rates.records import (
    CgroupRates,
    CpuShares,
    GroupRates,
    HostRates,
    LoadRates,
    PeerRates,
    ServerRates,
)

OLDEST_S = 5.0  # a rate over more time says little of this moment; our own

R = TypeVar("R", bound=ServerReading)


class HostView(Struct, frozen=True):
    """One machine at one moment. ``rates`` is ``None`` before there are two samples, and while no new one comes.
    ``stale_s`` is the time on the session's axis since the newest sample came (0 for a fresh one)."""

    state: HostState
    rates: HostRates | None
    stale_s: float

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def sample(self) -> HostSample | None:
        return self.state.sample

    @property
    def boot_id(self) -> str:
        """The same for hosts that are one machine, as containers on it are; empty where it is not known."""
        return "" if self.sample is None else self.sample.facts.boot_id

    @property
    def cpu(self) -> CpuShares | None:
        return None if self.rates is None else self.rates.cpu

    @property
    def cores(self) -> int:
        """How many processors there are, at least 1."""
        online = 0 if self.rates is None else len(self.rates.cores)
        return online or (1 if self.sample is None else self.sample.facts.cores)

    @property
    def runnable(self) -> int | None:
        """Tasks that run or wait for a processor."""
        return None if self.sample is None or self.sample.scheduler is None else self.sample.scheduler.running

    @property
    def is_container(self) -> bool:
        return self.sample is not None and self.sample.facts.source.startswith(EXEC)

    def groups(self, *roles: Role) -> tuple[GroupRates, ...]:
        """The processes of the servers of these roles or, without any, of all."""
        return () if self.rates is None else self.rates.of_role(*roles)

    def servers(self, kind: str, record: type[R]) -> tuple[ServerRates[R], ...]:
        """The servers of one kind that the newest interval read, whose readings are of type ``record``."""
        return () if self.rates is None else self.rates.of_kind(kind, record)

    def control_groups(self) -> tuple[tuple[CgroupLimits, CgroupRates | None], ...]:
        """Those of the servers under test, the web server's first."""
        if self.sample is None:
            return ()
        rates = None if self.rates is None else self.rates.cgroup
        first = () if self.sample.cgroup is None else ((self.sample.cgroup, rates),)
        by_path = {} if self.rates is None else {each.path: each for each in self.rates.more_cgroups}
        return (*first, *((each, by_path.get(each.path)) for each in self.sample.more_cgroups))

    def services(self) -> tuple[ServiceState, ...]:
        """How full the databases and caches say that they are that the newest interval read."""
        servers = () if self.rates is None else chain.from_iterable(self.rates.servers.values())
        states = (each.reading.service(each.per_second) for each in servers)
        return tuple(state for state in states if state is not None)


class Measured(Struct, frozen=True):
    """A frame with its rates, before the diagnosis."""

    frame: Frame
    load_rates: LoadRates | None
    hosts: tuple[HostView, ...]
    kinds: tuple[ServerKind, ...] = ()

    @property
    def at(self) -> float:
        return self.frame.at

    @property
    def load(self) -> LoadSample | None:
        return self.frame.load

    @property
    def in_flight(self) -> int | None:
        return None if self.load is None else self.load.in_flight

    def readings(self, host: HostView, *roles: Role) -> list[ServerReading]:
        """What the newest interval read of the servers of one host, of these roles or of all."""
        if host.rates is None:
            return []
        names = [kind.name for kind in self.kinds if not roles or kind.role in roles]
        return [each.reading for name in names for each in host.rates.servers.get(name, ())]

    def host(self, name: str) -> HostView | None:
        return next((host for host in self.hosts if host.name == name), None)


class Measurer:
    """Turns frames into measured ones by keeping the previous sample of the load and of each machine, and of each
    server the newest reading, up to :data:`OLDEST_S`: a server without a free connection drops some of its own status
    pages, and its rates matter most then. The services that it asks are known as long under the same load
    (:attr:`HostRates.peers_before`): where the kernel has a large table of connections, not every interval has a
    reading."""

    def __init__(self, kinds: Iterable[ServerKind]) -> None:
        self._kinds = tuple(kinds)
        self._load: LoadSample | None = None
        self._hosts: dict[str, HostSample] = {}
        self._fresh_at: dict[str, float] = {}
        self._peers: dict[str, _PeersRead] = {}

    def measure(self, frame: Frame) -> Measured:
        rates = None
        if frame.load is not None:
            if self._load is not None:
                rates = load_rates(self._load, frame.load)
            self._load = frame.load
        hosts = [self._view(frame, state) for state in frame.hosts]
        return Measured(frame, rates, tuple(_with_names(host, hosts) for host in hosts), self._kinds)

    def _view(self, frame: Frame, state: HostState) -> HostView:
        if not state.fresh or state.sample is None:
            return HostView(state, None, frame.at - self._fresh_at.get(state.name, 0.0))
        before = self._hosts.get(state.name)
        self._hosts[state.name] = _with_missed(before, state.sample)
        self._fresh_at[state.name] = frame.at
        rates, level, now = None, _level(frame.load), state.sample
        newest = self._peers.get(state.name)
        if before is not None:
            rates = host_rates(before, now, self._kinds, peers_since=None if newest is None else newest.at)
        if rates is None or newest is None or before is None or not _has_no_new_reading(before, now):
            self._peers[state.name] = _PeersRead(now.at, level, None if rates is None else rates.peers)
        elif newest.level == level and now.at - newest.at < OLDEST_S:
            rates = replace(rates, peers_before=newest.peers)
        return HostView(state, rates, 0.0)


class _PeersRead(NamedTuple):
    """The services of the last interval with a new reading of connections: the host's uptime at its end, the level of
    the load, and what was read."""

    at: float
    level: tuple[float | None, ...]
    peers: tuple[PeerRates, ...] | None


def _level(load: LoadSample | None) -> tuple[float | None, ...]:
    return () if load is None else (load.step, load.concurrency, load.rate)


def _has_no_new_reading(before: HostSample, now: HostSample) -> bool:
    return before.peers is not None and now.peers is not None and before.peers.readings == now.peers.readings


def _with_names(asking: HostView, hosts: Sequence[HostView]) -> HostView:
    """The host, with the names of the other hosts whose services it calls. An address that several have, such as that
    of a bridge for containers, names none of them."""
    rates = asking.rates
    if rates is None or not (rates.peers or rates.peers_before) or len(hosts) < 2:
        return asking

    def owner(address: str) -> str | None:
        place = address.rpartition(":")[0].strip("[]")
        owners = [host.name for host in hosts if host.sample is not None and place in host.sample.facts.addresses]
        return owners[0] if len(owners) == 1 and owners[0] != asking.name else None

    def named(peers: tuple[PeerRates, ...] | None) -> tuple[PeerRates, ...] | None:
        return None if peers is None else tuple(replace(peer, host=owner(peer.address)) for peer in peers)

    return replace(asking, rates=replace(rates, peers=named(rates.peers), peers_before=named(rates.peers_before)))


def _with_missed(before: HostSample | None, sample: HostSample) -> HostSample:
    """The sample, with the newest readings of servers that were not read this time."""
    if before is None:
        return sample
    servers = dict(sample.servers)
    for name, readings in before.servers.items():
        read = {reading.key for reading in servers.get(name, ())}
        missed = [each for each in readings if each.key not in read and each.read_at is not None]
        if recent := [each for each in missed if sample.at - (each.read_at or 0.0) < OLDEST_S]:
            servers[name] = (*servers.get(name, ()), *recent)
    return sample if servers == sample.servers else replace(sample, servers=servers)
