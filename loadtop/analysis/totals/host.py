"""One machine over a whole test: its metrics, devices, servers and processes."""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from loadtop.analysis.statistic import Json, Statistics
from loadtop.diagnosis.dependency import FEWER, LEVELS
from loadtop.model import LOADTOP, OTHER, Process
from loadtop.model.server import Measure, ServerReading, columns
from loadtop.rates.measured import HostView
from loadtop.rates.records import PeerRates, ProcessRates
from loadtop.servers.registry import HOST_METRICS, KINDS

_PARTS = {
    "cores": ("id", {"idle": "shares.idle", "iowait": "shares.iowait", "steal": "shares.steal"}),
    "disks": (
        "name",
        {"util_pct": "util", "await_ms": "await_ms", "read_kb_s": "read_kb", "write_kb_s": "write_kb"},
    ),
    "networks": ("name", {"rx_kb_s": "rx_kb", "tx_kb_s": "tx_kb"}),
}
"""Parts of a machine's rates: what tells one from another, and the figures in JSON with their fields."""

_READERS = {part: (attrgetter(key), attrgetter(*fields.values())) for part, (key, fields) in _PARTS.items()}


class Level(NamedTuple):
    """A closed load in an interval: its connections, and the requests that ended per second, not 0."""

    connections: int
    rps: float


class HostTotals:
    """Adds up every interval of one machine into its part of the JSON summary."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.samples = 0
        self.stale = 0
        self._metrics = Statistics(metric.name for metric in HOST_METRICS)
        self._parts = {
            part: defaultdict[Any, Statistics](partial(Statistics, fields)) for part, (_, fields) in _PARTS.items()
        }
        self._servers: dict[str, dict[str, tuple[ServerReading, Statistics]]] = {kind.name: {} for kind in KINDS}
        self._processes = ProcessTotals()
        self._peers = PeerTotals()
        self._newest: HostView | None = None

    def add(self, host: HostView, *, whole: bool, level: Level | None = None) -> None:
        """Count one interval, under a closed load of this ``level``. One that is not whole, cut short by the end
        of the load, misses no sample."""
        self._newest = self._newest or host
        if not host.state.fresh:
            # Before the first sample nothing is missing yet, unless there is a reason why none comes.
            self.stale += whole and (host.sample is not None or bool(host.state.problem))
            return
        self.samples += 1
        self._newest = host
        self._metrics.add([metric.read(host) for metric in HOST_METRICS])
        self._add_servers(host)
        self._processes.add(host)
        self._peers.add(host, level)
        for part, (key, values) in _READERS.items():
            for each in getattr(host.rates, part, None) or ():
                self._parts[part][key(each)].add(values(each))

    def as_json(self) -> Json:
        tree = _nested(self._metrics.as_json())
        state = None if self._newest is None else self._newest.state
        sample = None if state is None else state.sample
        swap = tree.pop("swap")
        memory = tree.pop("memory")
        servers = self._servers_json(tree)
        swap_total = None if sample is None or sample.swap is None else sample.swap.total_kb
        memory_total = None if sample is None or sample.memory is None else sample.memory.total_kb
        links = {each.name: each.sends_mbit for each in sample.networks or ()} if sample is not None else {}
        parts = {
            part: [{_PARTS[part][0]: key, **statistics.as_json()} for key, statistics in found.items()]
            for part, found in self._parts.items()
        }
        return {
            "name": self.name,
            "role": None if state is None else state.role,
            "source": None if sample is None else sample.facts.source,
            "samples": self.samples,
            "stale": self.stale,
            **tree,
            "cores": parts["cores"],
            "memory": {"total_kb": memory_total, **memory},
            "swap": {"total_kb": swap_total, **swap},
            "disks": parts["disks"],
            "networks": [{**each, "link_mbit": links.get(each["name"])} for each in parts["networks"]],
            **servers,
            "processes": self._processes.as_json(),
            "dependencies": self._peers.as_json(),
        }

    def _add_servers(self, host: HostView) -> None:
        for kind in KINDS:
            entries = self._servers[kind.name]
            measured = columns(kind.record, Measure.GAUGE, Measure.COUNTER)
            for found in kind.rates(host.rates):
                reading = found.reading
                _, statistics = entries.get(reading.key) or (reading, Statistics(column.json for column in measured))
                entries[reading.key] = reading, statistics
                statistics.add(
                    [
                        found.per_second[column.field]
                        if column.measure is Measure.COUNTER
                        else getattr(reading, column.field)
                        for column in measured
                    ]
                )

    def _servers_json(self, tree: Json) -> Json:
        """The servers as their kinds declare it; takes what belongs to them out of the tree of metrics."""
        servers: Json = {}
        totals: Json = {}
        for kind in KINDS:
            metrics, entries = tree.pop(kind.name, {}), self._servers[kind.name]
            if kind.single is None:
                totals[kind.name] = metrics
                servers[kind.name] = [_entry(*entry) for entry in entries.values()]
            else:
                first = next(iter(entries.values()), None)
                servers[kind.name] = None if first is None else {**kind.single(first[0]), **metrics}
            if kind.group in tree:
                memory = {f"{name}_mean": self._processes.mean(kind.group, f"{name}_each") for name in _MEMORY}
                servers[kind.group] = {**tree.pop(kind.group), **memory}
        return {**servers, "totals": totals}


def _entry(newest: ServerReading, statistics: Statistics) -> Json:
    """One server: labels and limits as they were read last, everything else as statistics."""
    known = {
        column.json: value if column.measure is Measure.LIMIT else value or None
        for column in columns(type(newest), Measure.LABEL, Measure.LIMIT)
        for value in (getattr(newest, column.field),)
    }
    return {**known, **statistics.as_json()}


def _nested(flat: Json) -> Json:
    """Dotted names into nested dicts: ``cpu.idle`` becomes ``{"cpu": {"idle": ...}}``."""
    tree: Json = {}
    for name, value in flat.items():
        *parents, leaf = name.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return tree


MOST_PEERS = 64  # services that are listed; a crawler asks thousands
_PEER = {
    "connections": "connections",
    "questions": "questions",
    "exchanges_s": "exchanges",
    "exchange_ms": "exchange_ms",
}
_PEER_FIGURES = attrgetter(*_PEER.values())


@dataclass(slots=True)
class _AtLevel:
    """Sums over the intervals with the same number of connections of the load."""

    intervals: int = 0
    questions: float = 0.0
    requests: float = 0.0

    @property
    def ms(self) -> float:
        """How long a request spent with the service, by Little's law."""
        return 1000.0 * self.questions / self.requests


@dataclass(slots=True)
class _OnePeer:
    newest: PeerRates
    figures: Statistics = field(default_factory=lambda: Statistics(_PEER))
    levels: dict[int, _AtLevel] = field(default_factory=dict[int, _AtLevel])

    def add(self, peer: PeerRates, level: Level | None) -> None:
        self.newest = peer
        self.figures.add(_PEER_FIGURES(peer))
        if level is not None and (level.connections in self.levels or len(self.levels) < LEVELS):
            known = self.levels.setdefault(level.connections, _AtLevel())
            known.intervals += 1
            known.questions += peer.questions
            known.requests += level.rps

    @property
    def growth(self) -> Json | None:
        """How many times as long a request spends with the service with the most connections of the load as with the
        fewest; ``None`` where these are too close to each other, or only one interval long."""
        known = sorted(number for number, level in self.levels.items() if level.intervals > 1)
        if not known or known[-1] < FEWER * known[0]:
            return None
        few, many = (self.levels[number] for number in (known[0], known[-1]))
        return {"from": known[0], "to": known[-1], "factor": round(many.ms / few.ms, 3)} if few.questions else None


class PeerTotals:
    """Adds up what was seen of the services that the processes under test ask."""

    def __init__(self) -> None:
        self._peers: dict[str, _OnePeer] = {}

    def add(self, host: HostView, level: Level | None = None) -> None:
        for peer in (host.rates.peers if host.rates is not None else None) or ():
            if peer.address in self._peers or len(self._peers) < MOST_PEERS:
                self._peers.setdefault(peer.address, _OnePeer(peer)).add(peer, level)

    def as_json(self) -> list[Json]:
        """``dependencies`` of the machine's entry in the JSON summary, those with the most pending requests first."""
        found = sorted(self._peers.values(), key=lambda each: each.figures["questions"].mean or 0.0, reverse=True)
        return [
            {
                "address": each.newest.address,
                "kind": each.newest.kind,
                **({} if each.newest.host is None else {"host": each.newest.host}),
                **each.figures.as_json(),
                "growth": each.growth,
            }
            for each in found
        ]


BUSIEST = 5  # processes of the servers and the load generator, and of all others, that are listed
KEPT = 200  # processes that are kept of each: the number of short-lived ones grows without a bound

_GROUP = ("processes", "running", "blocked", "threads", "cpu_pct", "wait_pct", "rss_kb_each", "pss_kb_each")
_MEMORY = ("rss_kb", "pss_kb")


@dataclass(slots=True)
class _OneProcess:
    """Percent of a core that one process used, and for which it waited, in each interval: their sums and the most."""

    process: Process
    used: float = 0.0
    used_most: float = 0.0
    waited: float | None = None
    waited_most: float = 0.0

    def add(self, each: ProcessRates) -> None:
        used = each.cpu or 0.0
        self.used, self.used_most = self.used + used, max(self.used_most, used)
        if each.wait is not None:
            self.waited, self.waited_most = (self.waited or 0.0) + each.wait, max(self.waited_most, each.wait)


class _Busiest:
    """The processes of one sort that used most. One that was not seen in an interval counts 0 for it."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], _OneProcess] = {}

    def add(self, each: ProcessRates) -> None:
        key = each.process.pid, each.process.started_ticks
        self._found.setdefault(key, _OneProcess(each.process)).add(each)

    def trim(self) -> None:
        if len(self._found) > 2 * KEPT:
            kept = sorted(self._found.items(), key=lambda item: item[1].used, reverse=True)[:KEPT]
            self._found = dict(kept)

    def most(self) -> list[_OneProcess]:
        found = sorted(self._found.values(), key=lambda each: each.used, reverse=True)[:BUSIEST]
        return [each for each in found if each.used > 0]


class ProcessTotals:
    """Adds up every interval."""

    def __init__(self) -> None:
        self._groups = defaultdict[str, Statistics](partial(Statistics, _GROUP))
        self._servers, self._others = _Busiest(), _Busiest()
        self._intervals = 0

    def add(self, host: HostView) -> None:
        rates = host.rates
        if rates is None or rates.processes is None:
            return
        self._intervals += 1
        for each in rates.groups or ():
            if each.group not in (OTHER, LOADTOP):
                count = each.processes
                memory = (each.rss_kb / count, None if each.pss_kb is None else each.pss_kb / count)
                values = (count, each.running, each.blocked, each.threads, each.cpu, each.wait, *memory)
                self._groups[each.group].add(values)
        for found in rates.processes:
            if found.cpu is not None:
                (self._others if found.process.group == OTHER else self._servers).add(found)
        self._servers.trim()
        self._others.trim()

    def mean(self, group: str, name: str) -> float | None:
        return self._groups[group][name].mean if group in self._groups else None

    def as_json(self) -> Json:
        """``processes`` of the machine's entry in the JSON summary; shares in percent of one core."""
        return {
            "groups": [{"group": str(group), **found.as_json()} for group, found in self._groups.items()],
            "busiest": [
                {
                    "group": each.process.group,
                    **self._of_process(each),
                    "wait_pct": None if each.waited is None else self._over_time(each.waited, each.waited_most),
                }
                for each in self._servers.most()
            ],
            "busiest_others": [self._of_process(each) for each in self._others.most()],
        }

    def _of_process(self, each: _OneProcess) -> Json:
        return {
            "pid": each.process.pid,
            "name": each.process.name,
            "cpu_pct": self._over_time(each.used, each.used_most),
            "rss_kb": each.process.rss_kb,
        }

    def _over_time(self, total: float, most: float) -> Json:
        return {"mean": round(total / self._intervals, 3), "max": round(most, 3)}
