"""Rules for scripts: ``--fail-if 'p99>500ms'``, ``'web.cpu.idle<5% for 10s'``, ``'bottleneck=swap'``."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from loadtop.analysis.statistic import Json
from loadtop.model import Distribution, LoadState
from loadtop.model.histogram import mean
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measured
from loadtop.rates.metrics import LOAD_METRICS, PERCENTILES
from loadtop.servers.registry import HOST_METRICS, VERDICT_NAMES

EXPRESSION = re.compile(
    r"\s*(?P<metric>[\w.-]+?)\s*(?P<operator>>=|<=|!=|==|=|>|<)\s*(?P<value>[\w.-]+?)\s*"
    r"(?P<unit>%|ms|us|s|kB/s|kB|MB/s|MB|/s)?\s*(?:\s+for\s+(?P<hold>\d+(?:\.\d+)?)\s*s)?\s*"
)
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {">": gt, "<": lt, ">=": ge, "<=": le, "=": eq, "==": eq, "!=": ne}
FACTORS = {"ms": 1.0, "us": 0.001, "s": 1000.0, "MB": 1024.0, "MB/s": 1024.0}  # in the metrics' own ms and kB

TIMES = {*PERCENTILES, "max", "mean", "min"}
COUNTS = {"failed", "non_2xx"}
UNITS = {metric.name: metric.unit for metric in LOAD_METRICS} | {metric.name: metric.unit for metric in HOST_METRICS}
HOST_READERS = {metric.name: metric.read for metric in HOST_METRICS}
LOAD_READERS: dict[str, Callable[[Measured], float | None]] = {
    **{metric.name: metric.read for metric in LOAD_METRICS},
    "mean": lambda measured: _time(measured, mean),
    "min": lambda measured: _time(measured, lambda times: times.min_us),
}


def _time(measured: Measured, read: Callable[[Distribution], float]) -> float | None:
    latencies = None if measured.load is None else measured.load.latencies
    return None if latencies is None or not latencies.total.count else read(latencies.total) / 1000.0


class ConditionError(ValueError):
    """The expression cannot be understood; the message says what can be written."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One rule. ``value`` is in ms, kB, percent or plain; ``hold_s`` asks for that many seconds in a row.

    ``count`` says that ``failed`` or ``non_2xx`` was given as a number of requests, not as percent.
    """

    text: str
    metric: str
    host: str | None
    operator: str
    value: float | str
    hold_s: float | None
    count: bool = False

    @classmethod
    def parse(cls, text: str) -> "Condition":
        match = EXPRESSION.fullmatch(text)
        if match is None:
            raise ConditionError(f"cannot read '{text}': write METRIC>VALUE, for example p99>500ms or bottleneck=swap")
        hold = None if match["hold"] is None else float(match["hold"])
        if match["metric"] == "bottleneck":
            name = match["value"] + (match["unit"] or "")  # the last letter of a name can look like a unit
            if name not in VERDICT_NAMES:
                raise ConditionError(f"no verdict is called '{name}'{_near(name, VERDICT_NAMES)}")
            if match["operator"] not in ("=", "==", "!="):
                raise ConditionError(f"'{text}': a verdict can only be compared with = or !=")
            return cls(text, "bottleneck", None, match["operator"], name, hold)
        host, metric = _place(match["metric"])
        try:
            value = float(match["value"])
        except ValueError:
            raise ConditionError(f"'{text}': '{match['value']}' is not a number") from None
        unit = match["unit"] or ""
        if unit in ("ms", "us", "s") and metric not in TIMES:
            raise ConditionError(f"'{text}': {metric} is not a time")
        if unit and unit not in _units(metric):
            known = ", ".join(_units(metric))
            raise ConditionError(f"'{text}': {metric} is in {known}" if known else f"'{text}': {metric} has no unit")
        if metric in TIMES and not unit:
            raise ConditionError(f"'{text}': a time needs a unit, for example {metric}{match['operator']}500ms")
        counted = metric in COUNTS and unit != "%"
        return cls(text, metric, host, match["operator"], value * FACTORS.get(unit, 1.0), hold, counted)

    def holds(self, value: float | str | None) -> bool:
        """Whether the rule is true of this value; of what was not measured it never is."""
        return value is not None and OPERATORS[self.operator](value, self.value)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a rule. ``measured`` are the values over the whole test that it is about, of each machine one, in
    the metric's own unit (ms, kB); of a rule with ``for``, ``held_s`` is the longest time for which it was true."""

    condition: Condition
    broken: bool
    measured: tuple[float | str, ...]
    held_s: float


class Watchdog:
    """Watches conditions moment by moment for their ``for`` part; the rest is read from the summary at the end."""

    def __init__(self, conditions: list[Condition]) -> None:
        self._conditions = conditions
        self._held = defaultdict[str, float](float)
        self._longest = defaultdict[str, float](float)
        self._at = 0.0

    def add(self, snapshot: Snapshot) -> None:
        """Count one interval, unless it was one of warm-up, or of the time before the load or after it."""
        passed, self._at = snapshot.at - self._at, snapshot.at
        load = snapshot.measured.load
        if load is not None and load.state is not LoadState.RUNNING:
            self._held.clear()
            return
        for condition in self._conditions:
            true = any(map(condition.holds, _now(condition, snapshot)))
            self._held[condition.text] = held = self._held[condition.text] + passed if true else 0.0
            self._longest[condition.text] = max(self._longest[condition.text], held)

    def broken(self, summary: Json) -> list[str]:
        return [outcome.condition.text for outcome in self.outcomes(summary) if outcome.broken]

    def outcomes(self, summary: Json) -> list[Outcome]:
        """What became of each rule, in the order given."""
        return [self._outcome(each, summary) for each in self._conditions]

    def _outcome(self, condition: Condition, summary: Json) -> Outcome:
        measured = tuple(value for value in _overall(condition, summary) if value is not None)
        held_s = self._longest[condition.text]
        broken = any(map(condition.holds, measured)) if condition.hold_s is None else held_s >= condition.hold_s
        return Outcome(condition, broken, measured, held_s)


def _now(condition: Condition, snapshot: Snapshot) -> list[float | str | None]:
    if condition.metric == "bottleneck":
        return [str(snapshot.diagnosis.verdict.bottleneck)]
    if condition.count:
        return [None if snapshot.load is None else getattr(snapshot.load, condition.metric)]
    if condition.metric in LOAD_READERS:
        return [LOAD_READERS[condition.metric](snapshot.measured)]
    read = HOST_READERS[condition.metric]
    return [read(host) for host in snapshot.measured.hosts if condition.host in (None, host.name)]


def _overall(condition: Condition, summary: Json) -> list[float | str | None]:
    metric = condition.metric
    if metric == "bottleneck":
        return [summary["verdict"]["bottleneck"]]
    if metric in LOAD_READERS:
        load = summary["load"]
        return [None if load is None else _load_value(load, condition, summary)]
    values: list[float | str | None] = []
    for host in summary["hosts"]:
        if condition.host in (None, host["name"]):
            totals = host.get("totals", {})
            place: Any = totals if metric.partition(".")[0] in totals else host
            for part in metric.split("."):
                place = None if place is None else place.get(part)
            values.append(None if place is None else place["mean"])
    return values


def _load_value(load: Json, condition: Condition, summary: Json) -> Any:
    metric = condition.metric
    if metric in COUNTS:
        count, requests = load[metric], load["requests"]
        if condition.count or count is None or requests is None:
            return count if condition.count else None
        return 100.0 * count / requests if requests else (100.0 if count else None)
    if metric == "received_kb_s":
        received, seconds = load["received_bytes"], summary["duration_s"]
        return None if received is None or not seconds else received / 1024 / seconds
    if metric in TIMES:
        return None if load["latency_ms"] is None else load["latency_ms"][metric]
    return load.get(metric)


def _place(name: str) -> tuple[str | None, str]:
    """Split ``web.cpu.idle`` into host and metric; a host's name may have dots too."""
    if name in HOST_READERS or name in LOAD_READERS:
        return None, name
    metric = max((known for known in HOST_READERS if name.endswith(f".{known}")), key=len, default="")
    if metric:
        return name.removesuffix(f".{metric}"), metric
    raise ConditionError(f"no metric is called '{name}'{_near(name, {*HOST_READERS, *LOAD_READERS, 'bottleneck'})}")


def _units(metric: str) -> tuple[str, ...]:
    if metric in TIMES:
        return ("ms", "us", "s")
    unit = UNITS[metric]
    return {"kB": ("kB", "MB"), "kB/s": ("kB/s", "MB/s"), "% of a core": ("%",)}.get(unit, tuple({unit} & {"%", "/s"}))


def _near(name: str, known: Iterable[str]) -> str:
    listed = sorted(map(str, known))
    close = get_close_matches(name, listed, n=1)
    return f"; did you mean {close[0]}?" if close else f"; known are: {', '.join(listed)}"
