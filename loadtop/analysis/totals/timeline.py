"""Which limit held when, and which one held longest."""

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise
from operator import itemgetter

from loadtop.analysis.statistic import Statistic
from loadtop.diagnosis.finding import NONE, Evidence, Finding
from loadtop.pipeline.snapshot import Snapshot

MOST_SPANS = 1000
"""Spans that are kept. Beyond, the shortest ones are merged into the one before them. That changes the time line, not
how long each verdict held."""

Key = tuple[str, str | None]


@dataclass(slots=True)
class Span:
    """A stretch of the session (seconds since its start) under one verdict."""

    start: float
    end: float
    bottleneck: str
    host: str | None

    @property
    def key(self) -> Key:
        return self.bottleneck, self.host


class Timeline:
    """Adds up verdicts from ``start`` (seconds of the session) on, in bounded memory.

    A finding is raised a few intervals after its onset; the stretch since the onset then counts for it, as far as load
    ran. Evidence is averaged over the intervals in which the verdict held.
    """

    def __init__(self, start: float = 0.0, most: int = MOST_SPANS) -> None:
        self.spans: list[Span] = []
        self._most = most
        self._counted: list[tuple[float, float]] = []
        self._evidence = defaultdict[Key, dict[str, tuple[Evidence, Statistic]]](dict)
        self._newest: dict[Key, Finding] = {}
        self._known: set[Key] = set()
        self._begun: dict[Key, float] = {}
        self._moved = defaultdict[Key, float](float)
        self._start = start
        self._at = start

    def add(self, snapshot: Snapshot, counted: bool) -> None:
        """Count the interval that ends with the snapshot; only ``counted`` ones (load ran) decide which verdict won."""
        verdict, at = snapshot.diagnosis.verdict, snapshot.at
        if not self.spans or self.spans[-1].key != _key(verdict):
            self._change(verdict)
        self.spans[-1].end = at
        if counted:
            if self._counted and self._counted[-1][1] == self._at:
                self._counted[-1] = (self._counted[-1][0], at)
            else:
                self._counted.append((self._at, at))
            over = snapshot.measured.load is not None and snapshot.measured.load.state.ended
            self._note(verdict, whole=not over)
        self._known = {_key(finding) for finding in snapshot.diagnosis.findings}
        self._at = at
        if len(self.spans) > self._most:
            self._shorten()
        while len(self._counted) > self._most:
            # Forget the shortest pause between stretches of load.
            _, shortest = min((after[0] - before[1], n) for n, (before, after) in enumerate(pairwise(self._counted)))
            self._counted[shortest : shortest + 2] = [(self._counted[shortest][0], self._counted[shortest + 1][1])]

    def longest(self) -> tuple[Finding, float, float] | None:
        """The verdict that held longest while load ran, when it began and for how long, in seconds. Its evidence has
        the means of its values."""
        ranked = self._ranked()
        if not ranked:
            return None
        key, start, seconds = ranked[0]
        evidence = tuple(replace(item, value=statistic.mean or 0.0) for item, statistic in self._evidence[key].values())
        return replace(self._newest[key], evidence=evidence), start, seconds

    def others(self) -> list[tuple[Key, float]]:
        """The limits that held for a shorter time than the longest verdict, with their seconds, longest first."""
        return [(key, seconds) for key, _, seconds in self._ranked()[1:] if key[0] != NONE and seconds > 0]

    def _ranked(self) -> list[tuple[Key, float, float]]:
        """Each verdict that held while load ran, when it began and for how long in seconds, the longest first."""
        held = {key: (start, self._moved[key]) for key, start in self._begun.items()}
        for span in self.spans:
            begin, before = held.get(span.key, (span.start, 0.0))
            held[span.key] = (begin, before + self._load_in(span))
        known = [(key, *times) for key, times in held.items() if key in self._newest]
        return sorted(known, key=itemgetter(2), reverse=True)

    def _load_in(self, span: Span) -> float:
        return sum(max(0.0, min(span.end, end) - max(span.start, start)) for start, end in self._counted)

    def _change(self, verdict: Finding) -> None:
        """Begin a span. What held already, behind another verdict, becomes the verdict only now."""
        now = _key(verdict) in self._known or verdict.bottleneck == NONE
        start = self._at if now else max(self._start, min(self._at, verdict.since_s))
        while self.spans and self.spans[-1].start >= start:
            start = min(start, self.spans[-1].start) if len(self.spans) == 1 else start
            self.spans.pop()
        if self.spans:
            self.spans[-1].end = min(self.spans[-1].end, start)
            if self.spans[-1].key == _key(verdict):
                return
        self.spans.append(Span(start, start, verdict.bottleneck, verdict.host))

    def _shorten(self) -> None:
        """Count the shorter half of the spans to the ones before them. The newest stay: they may still change."""
        older, newer = self.spans[1:-8], self.spans[-8:]
        lengths = sorted((span.end - span.start, index) for index, span in enumerate(older))
        short = set(map(itemgetter(1), lengths[: len(older) // 2]))
        kept = [self.spans[0]]
        for index, span in enumerate(older):
            before = kept[-1]
            if index not in short and before.key != span.key:
                kept.append(span)
                continue
            for each in (before, span):
                self._begun[each.key] = min(each.start, self._begun.get(each.key, each.start))
            seconds = self._load_in(span)
            self._moved[span.key] += seconds
            self._moved[before.key] -= seconds
            before.end = span.end
        self.spans = [*kept, *newer]

    def _note(self, verdict: Finding, *, whole: bool) -> None:
        """``whole``: the interval was not cut short by the end of the load, so that its advice is to be remembered."""
        key = _key(verdict)
        if whole or key not in self._newest:
            self._newest[key] = verdict
        seen = self._evidence[key]
        for item in verdict.evidence:
            name = f"{item.host} {item.metric}"
            _, statistic = seen.get(name, (item, Statistic()))
            statistic.add(item.value)
            seen[name] = (item, statistic)


def _key(finding: Finding) -> Key:
    return finding.bottleneck, finding.host
