"""Where the mean response time went, over all intervals under one verdict or of one step."""

from collections import defaultdict
from dataclasses import dataclass

from loadtop.analysis.statistic import Json
from loadtop.diagnosis.breakdown import TIMER, Breakdown, Part, Share, read_apart
from loadtop.model import LOADTOP
from loadtop.pipeline.snapshot import Snapshot

MOST_VERDICTS, MOST_SHARES = 100, 200  # that are added up: locks and addresses may be new in each interval

Key = tuple[str, str | None]
Place = tuple[Part, str | None, str | None]


@dataclass(slots=True)
class _Sum:
    """Sums over requests: of the time, and of the exchanges, with the requests for which these are known."""

    kind: str | None = None
    service_host: str | None = None
    ms: float | None = None
    exchanges: float = 0.0
    counted: float = 0.0


def _measured_as(place: Place) -> str:
    part, _, name = place
    return read_apart(part, name) or part


class BreakdownTotals:
    """Adds up intervals: their mean times weighted with the requests that ended, the parts of that with the requests
    in progress. Intervals in which a part was not measured do not count for that part."""

    def __init__(self) -> None:
        self._requests = 0
        self._ms = 0.0
        self._measured = 0  # requests of intervals with figures of the machines
        self._measured_ms = 0.0
        self._of_part = defaultdict[str, float](float)  # time of the requests in intervals that measured a part
        self._sums: dict[Place, _Sum] = {}

    def add(self, found: Breakdown | None) -> None:
        if found is None:
            return
        self._requests += found.requests
        self._ms += found.mean_ms * found.requests
        if found.shares is None:
            return
        self._measured += found.requests
        self._measured_ms += found.mean_ms * found.requests
        unknown = {share.part for share in found.shares if share.ms is None}
        weight = found.requests if found.weight is None else found.weight
        for part in (*Part, TIMER, LOADTOP):
            self._of_part[part] += 0.0 if part in unknown else found.mean_ms * weight
        for share in found.shares:
            self._add(share, weight)

    def _add(self, share: Share, weight: float) -> None:
        place = share.part, share.host, share.name
        if place not in self._sums and len(self._sums) >= MOST_SHARES:
            return
        known = self._sums.setdefault(place, _Sum())
        known.kind, known.service_host = share.kind, share.service_host
        if share.ms is not None:
            known.ms = (known.ms or 0.0) + share.ms * weight
        if share.exchanges is not None:
            known.exchanges += share.exchanges * weight
            known.counted += weight

    def as_json(self) -> Json | None:
        """``breakdown`` of the JSON summary, its largest part first; ``None`` where no request was timed."""
        if not self._requests:
            return None
        if not self._measured:
            return {"mean_ms": round(self._ms / self._requests, 3), "unexplained_ms": None, "parts": None}
        mean_ms = self._measured_ms / self._measured
        parts = [
            self._part_json(place, known, mean_ms)
            for place, known in self._sums.items()
            if known.ms is not None or not self._of_part[_measured_as(place)]
        ]
        parts.sort(key=lambda part: -(part["ms"] or 0.0))
        explained = sum(part["ms"] or 0.0 for part in parts)
        return {"mean_ms": round(mean_ms, 3), "unexplained_ms": round(mean_ms - explained, 3), "parts": parts}

    def _part_json(self, place: Place, known: _Sum, mean_ms: float) -> Json:
        part, host, name = place
        ms = None if known.ms is None else round(mean_ms * known.ms / self._of_part[_measured_as(place)], 3)
        told: Json = {"part": str(part), "host": host, "name": name, "ms": ms}
        if part is Part.DEPENDENCY and ms is not None:
            exchanges = round(known.exchanges / known.counted, 3) if known.counted else None
            told |= {"kind": known.kind, "exchanges": exchanges}
            told |= {} if known.service_host is None else {"service_host": known.service_host}
        return told


class BreakdownsByVerdict:
    """One breakdown for each verdict of a test."""

    def __init__(self) -> None:
        self._totals: dict[Key, BreakdownTotals] = {}

    def add(self, snapshot: Snapshot) -> None:
        verdict = snapshot.diagnosis.verdict
        key = verdict.bottleneck, verdict.host
        if key in self._totals or len(self._totals) < MOST_VERDICTS:
            self._totals.setdefault(key, BreakdownTotals()).add(snapshot.breakdown)

    def as_json(self, bottleneck: str, host: str | None) -> Json | None:
        """The breakdown of the intervals in which this was the verdict."""
        found = self._totals.get((bottleneck, host))
        return None if found is None else found.as_json()
