"""One machine over a whole test: its metrics, devices, servers and processes."""

from collections.abc import Iterable, Sequence
from typing import Any

from loadtop.analysis.statistic import Statistic
from loadtop.model import LOADTOP, OTHER, Process
from loadtop.model.server import Measure, ServerReading, columns
from loadtop.rates.measured import HostView
from loadtop.rates.records import GroupRates
from loadtop.servers.registry import HOST_METRICS, KINDS

Json = dict[str, Any]

_CORE = ("idle", "iowait", "steal")
_DISK = ("util_pct", "await_ms", "read_kb_s", "write_kb_s")
_NETWORK = ("rx_kb_s", "tx_kb_s")


class HostTotals:
    """Adds up every interval of one machine into its part of the JSON summary."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.samples = 0
        self.stale = 0
        self._metrics = {metric.name: Statistic() for metric in HOST_METRICS}
        self._items: dict[tuple[str, str], dict[str, Statistic]] = {}
        self._servers: dict[str, dict[str, tuple[ServerReading, dict[str, Statistic]]]] = {}
        self._processes = ProcessTotals()
        self._newest: HostView | None = None

    def add(self, host: HostView, *, whole: bool = True) -> None:
        """Count one interval. One that is not whole, cut short by the end of the load, misses no sample."""
        self._newest = self._newest or host
        if not host.state.fresh:
            # Before the first sample nothing is missing yet, unless there is a reason why none comes.
            self.stale += whole and (host.sample is not None or bool(host.state.problem))
            return
        self.samples += 1
        self._newest = host
        for metric, statistic in zip(HOST_METRICS, self._metrics.values(), strict=True):
            statistic.add(metric.read(host))
        self._add_servers(host)
        self._processes.add(host)
        self._add_items(host)

    def as_json(self) -> Json:
        """The machine's entry in ``hosts`` of the JSON summary."""
        tree = _nested({name: statistic.as_json() for name, statistic in self._metrics.items()})
        state = None if self._newest is None else self._newest.state
        sample = None if state is None else state.sample
        swap = tree.pop("swap")
        memory = tree.pop("memory")
        servers = self._servers_json(tree)
        swap_total = None if sample is None or sample.swap is None else sample.swap.total_kb
        memory_total = None if sample is None or sample.memory is None else sample.memory.total_kb
        return {
            "name": self.name,
            "role": None if state is None else state.role,
            "source": None if sample is None else sample.facts.source,
            "samples": self.samples,
            "stale": self.stale,
            **tree,
            "cores": [{"id": int(core), **figures} for core, figures in self._listed("core")],
            "memory": {"total_kb": memory_total, **memory},
            "swap": {"total_kb": swap_total, **swap},
            "disks": [{"name": name, **figures} for name, figures in self._listed("disk")],
            "networks": [
                {"name": name, **figures, "link_mbit": self._link(name)} for name, figures in self._listed("network")
            ],
            **servers,
            "processes": self._processes.as_json(),
        }

    def _add_servers(self, host: HostView) -> None:
        for kind in KINDS:
            entries = self._servers.setdefault(kind.name, {})
            measured = columns(kind.record, Measure.GAUGE, Measure.COUNTER)
            for found in kind.rates(host.rates):
                reading = found.reading
                if reading.key in entries:
                    statistics = entries[reading.key][1]
                else:
                    statistics = {column.json: Statistic() for column in measured}
                entries[reading.key] = reading, statistics
                for column in measured:
                    of_rates = column.measure is Measure.COUNTER
                    value = found.per_second[column.field] if of_rates else getattr(reading, column.field)
                    statistics[column.json].add(value)

    def _servers_json(self, tree: Json) -> Json:
        """The servers as their kinds declare it; takes what belongs to them out of the tree of metrics."""
        servers: Json = {}
        totals: Json = {}
        for kind in KINDS:
            metrics, entries = tree.pop(kind.name, {}), self._servers.get(kind.name, {})
            if kind.report.single is None:
                totals[kind.name] = metrics
                servers[kind.name] = [_entry(kind.record, *entry) for entry in entries.values()]
            else:
                first = next(iter(entries.values()), None)
                servers[kind.name] = None if first is None else {**kind.report.single(first[0]), **metrics}
            if kind.group in tree:
                memory = {
                    f"{name}_mean": self._processes.mean(kind.group, f"{name}_each") for name in ("rss_kb", "pss_kb")
                }
                servers[kind.group] = {**tree.pop(kind.group), **memory}
        return {**servers, "totals": totals}

    def _add_items(self, host: HostView) -> None:
        rates = host.rates
        if rates is None:
            return
        for core in rates.cores:
            shares = core.shares
            self._item("core", str(core.id), _CORE, (shares.idle, shares.iowait, shares.steal))
        for disk in rates.disks or ():
            self._item("disk", disk.name, _DISK, (disk.util, disk.await_ms, disk.read_kb, disk.write_kb))
        for network in rates.networks or ():
            self._item("network", network.name, _NETWORK, (network.rx_kb, network.tx_kb))

    def _item(self, kind: str, name: str, names: Sequence[str], values: Sequence[float | None]) -> None:
        statistics = self._items.get((kind, name))
        if statistics is None:
            statistics = self._items[kind, name] = {each: Statistic() for each in names}
        for statistic, value in zip(statistics.values(), values, strict=True):
            statistic.add(value)

    def _listed(self, kind: str) -> Iterable[tuple[str, Json]]:
        for (of_kind, name), statistics in self._items.items():
            if of_kind == kind:
                yield name, {key: statistic.as_json() for key, statistic in statistics.items()}

    def _link(self, name: str) -> int | None:
        networks = None if self._newest is None or self._newest.sample is None else self._newest.sample.networks
        return next((network.link_mbit for network in networks or () if network.name == name), None)


def _entry(record: type[ServerReading], newest: ServerReading, statistics: dict[str, Statistic]) -> Json:
    """One server: labels and limits as they were read last, everything else as statistics."""
    known = {
        column.json: value if column.measure is Measure.LIMIT else value or None
        for column in columns(record, Measure.LABEL, Measure.LIMIT)
        for value in (getattr(newest, column.field),)
    }
    return {**known, **{name: statistic.as_json() for name, statistic in statistics.items()}}


def _nested(flat: dict[str, Any]) -> Json:
    """Dotted names into nested dicts: ``cpu.idle`` becomes ``{"cpu": {"idle": ...}}``."""
    tree: Json = {}
    for name, value in flat.items():
        *parents, leaf = name.split(".")
        place = tree
        for parent in parents:
            place = place.setdefault(parent, {})
        place[leaf] = value
    return tree


BUSIEST = 5
"""Processes that belong to no server and are listed."""

KEPT = 200
"""Other processes that are kept: the number of short-lived ones grows without a bound."""

_GROUP = ("processes", "running", "blocked", "threads", "cpu_pct", "rss_kb_each", "pss_kb_each")


class ProcessTotals:
    """Adds up every interval. A process that was not among the busiest of an interval counts 0 for it at the end."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, Statistic]] = {}
        self._others: dict[tuple[int, int], tuple[Process, float, float]] = {}
        self._intervals = 0

    def add(self, host: HostView) -> None:
        """Count one interval."""
        rates = host.rates
        if rates is None or rates.processes is None:
            return
        self._intervals += 1
        for group in rates.groups or ():
            if group.group not in (OTHER, LOADTOP):
                self._add_group(group)
        for found in rates.processes:
            if found.process.group == OTHER and found.cpu is not None:
                key = found.process.pid, found.process.started_ticks
                _, total, most = self._others.get(key, (found.process, 0.0, 0.0))
                self._others[key] = (found.process, total + found.cpu, max(most, found.cpu))
        if len(self._others) > 2 * KEPT:
            kept = sorted(self._others.items(), key=lambda item: item[1][1], reverse=True)[:KEPT]
            self._others = dict(kept)

    def mean(self, group: str, name: str) -> float | None:
        """The mean of one figure of a group; ``None`` where it was not measured."""
        return self._groups[group][name].mean if group in self._groups else None

    def as_json(self) -> Json:
        """``processes`` of the machine's entry in the JSON summary; shares in percent of one core."""
        busiest = sorted(self._others.values(), key=lambda other: other[1], reverse=True)[:BUSIEST]
        return {
            "groups": [
                {"group": str(group), **{name: found.as_json() for name, found in statistics.items()}}
                for group, statistics in self._groups.items()
            ],
            "busiest_others": [
                {
                    "pid": process.pid,
                    "name": process.name,
                    "cpu_pct": {"mean": round(total / self._intervals, 3), "max": round(most, 3)},
                    "rss_kb": process.rss_kb,
                }
                for process, total, most in busiest
                if total > 0
            ],
        }

    def _add_group(self, group: GroupRates) -> None:
        statistics = self._groups.get(group.group)
        if statistics is None:
            statistics = self._groups[group.group] = {name: Statistic() for name in _GROUP}
        rss_each = group.rss_kb / group.processes
        pss_each = None if group.pss_kb is None else group.pss_kb / group.processes
        values = (group.processes, group.running, group.blocked, group.threads, group.cpu, rss_each, pss_each)
        for statistic, value in zip(statistics.values(), values, strict=True):
            statistic.add(value)
