"""The processes of one machine over a whole test: each group of servers, and the busiest of all others."""

from typing import Any

from loadtop.analysis.totals.statistic import Statistic
from loadtop.model import Group, Process
from loadtop.rates.measured import HostView
from loadtop.rates.records import GroupRates

Json = dict[str, Any]

BUSIEST = 5
"""How many processes that belong to no server are told of."""

KEPT = 200
"""Others that are remembered: the busiest of each interval are seen, and short-lived ones would be ever more."""

_COUNTS = ("processes", "running", "blocked", "threads", "cpu_pct")


class ProcessSummary:
    """Adds up every interval. A process that was not among the busiest of an interval counts 0 for it at the end."""

    def __init__(self) -> None:
        self._groups: dict[Group, dict[str, Statistic]] = {}
        self._others: dict[tuple[int, int], tuple[Process, float, float]] = {}
        self._intervals = 0

    def add(self, host: HostView) -> None:
        """Count one interval."""
        rates = host.rates
        if rates is None or rates.processes is None:
            return
        self._intervals += 1
        for group in rates.groups or ():
            if group.group not in (Group.OTHER, Group.LOADTOP):
                self._add_group(group)
        for found in rates.processes:
            if found.process.group is Group.OTHER and found.cpu is not None:
                key = found.process.pid, found.process.started_ticks
                _, total, most = self._others.get(key, (found.process, 0.0, 0.0))
                self._others[key] = (found.process, total + found.cpu, max(most, found.cpu))
        if len(self._others) > 2 * KEPT:
            kept = sorted(self._others.items(), key=lambda item: item[1][1], reverse=True)[:KEPT]
            self._others = dict(kept)

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
        names = (*_COUNTS, "rss_kb_each", "pss_kb_each")
        statistics = self._groups.setdefault(group.group, {name: Statistic() for name in names})
        each = (
            group.rss_kb / group.processes,
            None if group.pss_kb is None else group.pss_kb / group.processes,
        )
        values = (group.processes, group.running, group.blocked, group.threads, group.cpu, *each)
        for name, value in zip(names, values, strict=True):
            statistics[name].add(value)
