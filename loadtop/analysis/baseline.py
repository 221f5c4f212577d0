"""A recording that rules compare a test with: ``--baseline SESSION --fail-if 'p99>baseline+10%'``.

A rule holds where the value over the whole test is beyond its limit, and the intervals of both tests differ in the same
direction as ``loadtop compare`` judges it: by more than chance, and by more than runs of the same thing do.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from loadtop.analysis.comparison import CARRIED, WHOLE, MetricRow, Run, judged
from loadtop.analysis.fail_if import OPERATORS, Beyond, Compared, Comparisons, Condition, overall
from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.totals import RunResult
from loadtop.rates.metrics import RULE_METRICS, AnyMetric
from loadtop.servers.registry import HOST_METRICS

PERCENT = 5.0
"""The smallest difference that matters, as ``loadtop compare`` has it without ``--margin``."""

_EVERY: tuple[AnyMetric, ...] = (*RULE_METRICS, *HOST_METRICS)
METRICS = {metric.name: metric for metric in _EVERY}


class Baseline(Struct, frozen=True):
    """The result of the recording at ``path``."""

    path: Path
    result: RunResult

    @property
    def name(self) -> str:
        return self.path.stem

    def missing(self, condition: Condition) -> str:
        """Why the rule cannot be judged against this recording; empty where it can."""
        if condition.metric in CARRIED:
            metric = condition.metric
            return f"{metric} still contains values from before the test and cannot be compared. Use another metric"
        if overall(condition, self.result.summary):
            return ""
        hosts = [host["name"] for host in self.result.summary["hosts"]]
        if condition.host is not None and condition.host not in hosts:
            return f"{self.name} has no host {condition.host}; its hosts are {', '.join(hosts)}"
        return f"{condition.metric} was not measured in {self.name}"

    def differences(self, result: RunResult) -> Iterator[str]:
        """What makes the two tests hard to compare: another URL, another load."""
        for what, ours, theirs in (
            ("URL", result.url, self.result.url),
            ("load", _loads(result), _loads(self.result)),
        ):
            if ours != theirs:
                yield f"{self.name} has a different {what}: {theirs or 'none'}, not {ours or 'none'}"

    def as_json(self, result: RunResult) -> Json:
        """What the JSON summary says of the recording; ``differences`` are those of :meth:`differences`."""
        known = self.result.summary
        told = {"session": self.name, "url": known["url"], "started": known["started"]}
        return {**told, "differences": list(self.differences(result))}

    def compared(self, conditions: Sequence[Condition], result: RunResult, figures: Json) -> Comparisons:
        """The values that each rule about a baseline compares, of the load (``None``) or by machine. ``figures`` is the
        JSON summary of the test. Machines that do not have the same name in both are left out."""
        rows = self._rows(conditions, result)
        found: dict[Condition, dict[str | None, Compared]] = {}
        for condition in conditions:
            if condition.beyond is None:
                continue
            now, before = overall(condition, figures), overall(condition, self.result.summary)
            found[condition] = {
                host: _compared(condition, condition.beyond, float(now[host]), float(before[host]), row)
                for host in now
                if host in before and (row := rows.get((host or LOAD, condition.metric))) is not None
            }
        return found

    def _rows(self, conditions: Sequence[Condition], result: RunResult) -> dict[tuple[str, str], MetricRow]:
        """The numbers that the rules are about, judged as in one table of ``loadtop compare``."""
        wanted = dict.fromkeys(
            (host or LOAD, METRICS[condition.metric])
            for condition in conditions
            if condition.beyond is not None
            for host in overall(condition, self.result.summary)
        )
        runs = (Run(self.path, self.result), Run(Path("this test"), result))
        return {(row.of, row.metric.name): row for row in judged(runs, wanted, (WHOLE, WHOLE), PERCENT)}


def _compared(condition: Condition, beyond: Beyond, now: float, before: float, row: MetricRow) -> Compared:
    limit, (change,) = beyond.limit(before), row.changes
    rises = condition.operator.startswith(">")
    same_way = change.difference is not None and (change.difference > 0) == rises
    return Compared(
        value=now,
        baseline=before,
        limit=limit,
        exceeds=OPERATORS[condition.operator](now, limit),
        significant=same_way and change.direction in ("better", "worse", "higher", "lower"),
        p=change.p,
    )


def _loads(result: RunResult) -> str:
    return ", ".join(result.series.loads.values())
