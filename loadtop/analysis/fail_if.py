"""Rules for scripts: ``--fail-if 'p99>500ms'``, ``'web.cpu.idle<5% for 10s'``, ``'p99>baseline+10%'``."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from operator import eq, ge, gt, le, lt, ne
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from loadtop.analysis.statistic import Json
from loadtop.model import LoadState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import PERCENTILES, RULE_METRICS
from loadtop.servers.registry import HOST_METRICS, VERDICT_NAMES

EXPRESSION = re.compile(
    r"\s*(?P<metric>[\w.-]+?)\s*(?P<operator>>=|<=|!=|==|=|>|<)\s*"
    r"(?:(?P<baseline>baseline)(?:\s*(?P<sign>[+-])\s*(?P<offset>\d+(?:\.\d+)?))?|(?P<value>[\w.-]+?))\s*"
    r"(?P<unit>%|ms|us|s|kB/s|kB|MB/s|MB|/s)?\s*(?:\s+for\s+(?P<hold>\d+(?:\.\d+)?)\s*s)?\s*"
)
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {">": gt, "<": lt, ">=": ge, "<=": le, "=": eq, "==": eq, "!=": ne}
FACTORS = {"ms": 1.0, "us": 0.001, "s": 1000.0, "MB": 1024.0, "MB/s": 1024.0}  # in the metrics' own ms and kB

TIMES = {*PERCENTILES, "max", "mean", "min"}
COUNTS = {"failed", "non_2xx"}
UNITS = {metric.name: metric.unit for metric in RULE_METRICS} | {metric.name: metric.unit for metric in HOST_METRICS}
HOST_READERS = {metric.name: metric.read for metric in HOST_METRICS}
LOAD_READERS = {metric.name: metric.read for metric in RULE_METRICS}


class ConditionError(ValueError):
    """The expression cannot be understood; the message says what can be written."""


class Beyond(Struct, frozen=True):
    """A limit relative to the baseline: its value and ``offset``, in percent of it or in the metric's unit."""

    offset: float
    percent: bool

    def limit(self, baseline: float) -> float:
        return baseline + (baseline * self.offset / 100 if self.percent else self.offset)


class Condition(Struct, frozen=True):
    """One rule. ``value`` is in ms, kB, percent or plain; ``hold_s`` asks for that many seconds in a row.

    ``count`` says that ``failed`` or ``non_2xx`` was given as a number of requests, not as percent.
    """

    text: str
    metric: str
    host: str | None
    operator: str
    value: float | str | Beyond
    hold_s: float | None
    count: bool = False

    @classmethod
    def parse(cls, text: str) -> "Condition":
        match = EXPRESSION.fullmatch(text)
        if match is None:
            raise ConditionError(f"cannot read '{text}': write METRIC>VALUE, for example p99>500ms or bottleneck=swap")
        hold = None if match["hold"] is None else float(match["hold"])
        if match["metric"] == "bottleneck":
            if match["baseline"]:
                raise ConditionError(f"'{text}': a verdict cannot be compared with the baseline's; name the verdict")
            name = match["value"] + (match["unit"] or "")  # the last letter of a name can look like a unit
            if name not in VERDICT_NAMES:
                raise ConditionError(f"unknown verdict '{name}'{_near(name, VERDICT_NAMES)}")
            if match["operator"] not in ("=", "==", "!="):
                raise ConditionError(f"'{text}': a verdict can only be compared with = or !=")
            return cls(text, "bottleneck", None, match["operator"], name, hold)
        host, metric = _place(match["metric"])
        if match["baseline"]:
            return cls(text, metric, host, match["operator"], _beyond(match, metric), hold)
        try:
            value = float(match["value"])
        except ValueError:
            raise ConditionError(f"'{text}': '{match['value']}' is not a number") from None
        unit = match["unit"] or ""
        _check_unit(text, metric, unit)
        if metric in TIMES and not unit:
            raise ConditionError(f"'{text}': a time needs a unit, for example {metric}{match['operator']}500ms")
        counted = metric in COUNTS and unit != "%"
        return cls(text, metric, host, match["operator"], value * FACTORS.get(unit, 1.0), hold, counted)

    @property
    def beyond(self) -> Beyond | None:
        """The limit of a rule with a baseline; ``None`` for any other rule."""
        return self.value if isinstance(self.value, Beyond) else None

    def holds(self, value: float | str | None) -> bool:
        """Whether the rule is true of this value; of what was not measured it never is."""
        return value is not None and OPERATORS[self.operator](value, self.value)


class Compared(Struct, frozen=True):
    """A value of the test beside the same of the baseline. ``exceeds``: it is beyond the limit. ``significant``: the
    intervals of both differ in the same direction, by more than chance and by more than matters; ``p`` is the chance of
    that, ``None`` where there are too few intervals to tell."""

    value: float
    baseline: float
    limit: float
    exceeds: bool
    significant: bool
    p: float | None


class RuleOutcome(Struct, frozen=True):
    """What became of a rule. ``measured`` has the values over the whole test that it is about, by machine (``None``: of
    the load), in the metric's own unit (ms, kB). ``held_s`` is the longest time for which a rule with ``for`` was true.
    ``compared`` has those values of a rule about a baseline that the baseline has as well."""

    condition: Condition
    broken: bool
    measured: Mapping[str | None, float | str]
    held_s: float
    compared: Mapping[str | None, Compared]


Comparisons = Mapping[Condition, Mapping[str | None, Compared]]
NOTHING: Comparisons = MappingProxyType({})


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
            if condition.beyond is not None:
                continue  # judged at the end
            true = any(map(condition.holds, _now(condition, snapshot)))
            self._held[condition.text] = held = self._held[condition.text] + passed if true else 0.0
            self._longest[condition.text] = max(self._longest[condition.text], held)

    def outcomes(self, summary: Json, compared: Comparisons = NOTHING) -> list[RuleOutcome]:
        """What became of each rule, in the order given; ``compared`` is for those about a baseline."""
        return [self._outcome(each, summary, compared.get(each, {})) for each in self._conditions]

    def _outcome(self, condition: Condition, summary: Json, compared: Mapping[str | None, Compared]) -> RuleOutcome:
        measured = overall(condition, summary)
        held_s = self._longest[condition.text]
        if condition.beyond is not None:
            broken = any(each.exceeds and each.significant for each in compared.values())
        elif condition.hold_s is not None:
            broken = held_s >= condition.hold_s
        else:
            broken = any(map(condition.holds, measured.values()))
        return RuleOutcome(condition, broken, measured, held_s, compared)


def _now(condition: Condition, snapshot: Snapshot) -> list[float | str | None]:
    if condition.metric == "bottleneck":
        return [str(snapshot.diagnosis.verdict.bottleneck)]
    if condition.count:
        return [None if snapshot.load is None else getattr(snapshot.load, condition.metric)]
    if condition.metric in LOAD_READERS:
        return [LOAD_READERS[condition.metric](snapshot.measured)]
    read = HOST_READERS[condition.metric]
    return [read(host) for host in snapshot.measured.hosts if condition.host in (None, host.name)]


def overall(condition: Condition, summary: Json) -> dict[str | None, float | str]:
    """What was measured over the whole test of what a rule is about, by machine; ``None``: of the load."""
    metric = condition.metric
    values: dict[str | None, float | str | None] = {}
    if metric == "bottleneck":
        values[None] = summary["verdict"]["bottleneck"]
    elif metric in LOAD_READERS:
        load = summary["load"]
        values[None] = None if load is None else _load_value(load, condition, summary)
    else:
        for host in summary["hosts"]:
            if condition.host in (None, host["name"]):
                totals = host.get("totals", {})
                place: Any = totals if metric.partition(".")[0] in totals else host
                for part in metric.split("."):
                    place = None if place is None else place.get(part)
                values[host["name"]] = None if place is None else place["mean"]
    return {of: value for of, value in values.items() if value is not None}


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
    raise ConditionError(f"unknown metric '{name}'{_near(name, {*HOST_READERS, *LOAD_READERS, 'bottleneck'})}")


def _beyond(match: re.Match[str], metric: str) -> Beyond:
    """The limit of a rule about a baseline. Of shares, percent are percentage points."""
    text, operator, unit = match[0].strip(), match["operator"], match["unit"] or ""
    if match["hold"] is not None:
        raise ConditionError(f"'{text}': a rule with a baseline applies to the whole test; leave out 'for'")
    worse = {">": "+", ">=": "+", "<": "-", "<=": "-"}.get(operator)
    if worse is None:
        raise ConditionError(f"'{text}': use > or < to compare with a baseline, for example {metric}>baseline+10%")
    offset = float(match["offset"] or 0)
    if offset and match["sign"] != worse:
        raise ConditionError(f"'{text}': with {operator} write baseline{worse}{match['offset']}{unit}")
    own = _units(metric)
    if unit != "%" or "%" in own:
        _check_unit(text, metric, unit)
    if offset and not unit and own:
        raise ConditionError(f"'{text}': write a unit, for example baseline{worse}10%")
    signed = (offset if worse == "+" else -offset) * FACTORS.get(unit, 1.0)
    return Beyond(signed, percent=unit == "%" and "%" not in own)


def _check_unit(text: str, metric: str, unit: str) -> None:
    if unit in ("ms", "us", "s") and metric not in TIMES:
        raise ConditionError(f"'{text}': {metric} is not a time")
    if unit and unit not in _units(metric):
        known = ", ".join(_units(metric))
        raise ConditionError(f"'{text}': {metric} is in {known}" if known else f"'{text}': {metric} has no unit")


def _units(metric: str) -> tuple[str, ...]:
    if metric in TIMES:
        return ("ms", "us", "s")
    unit = UNITS[metric]
    return {"kB": ("kB", "MB"), "kB/s": ("kB/s", "MB/s"), "% of a core": ("%",)}.get(unit, tuple({unit} & {"%", "/s"}))


def _near(name: str, known: Iterable[str]) -> str:
    listed = sorted(map(str, known))
    close = get_close_matches(name, listed, n=1)
    return f"; did you mean {close[0]}?" if close else f". Use one of {', '.join(listed)}"
