"""Which limit held when and under which load, and which one held longest."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.statistic import Statistic
from loadtop.diagnosis.finding import NONE, Evidence, Finding
from loadtop.model import LoadLevel, LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot

MOST_SPANS = 1000
"""Spans that are kept. Beyond, the shortest ones are merged into the one before them. That changes the time line, not
how long each verdict held."""

Key = tuple[str, str | None]


class LoadedTime(NamedTuple):
    """A time in which load ran (seconds of the session)."""

    start: float
    end: float
    level: LoadLevel


class Held(Struct, frozen=True):
    """A verdict with the mean values of its evidence, and for how many seconds it held under this load."""

    finding: Finding
    seconds: float
    level: LoadLevel

    @property
    def is_limit(self) -> bool:
        return self.finding.bottleneck != NONE


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


def counts(load: LoadSample | None, before: LoadSample | None) -> bool:
    """Whether the interval that ends with ``load`` had load: also the last, cut short by the end of the load. Where
    there is no load at all, every interval counts."""
    if load is None:
        return True
    if load.state in (LoadState.STARTING, LoadState.WARMUP):
        return False
    return not load.state.ended or (before is not None and not before.state.ended)


class Timeline:
    """Adds up verdicts from ``start`` (seconds of the session) on, in bounded memory.

    A finding is raised a few intervals after its onset; the stretch since the onset then counts for it, as far as load
    ran. A finding is dropped a few intervals after its resource is free again; until then it counts for the load under
    which that was full. Evidence is averaged over the intervals in which the verdict held.
    """

    def __init__(self, start: float = 0.0, most: int = MOST_SPANS) -> None:
        self.spans: list[Span] = []
        self._most = most
        self._loaded: list[LoadedTime] = []  # those that are not settled
        self._settled = defaultdict[tuple[Key, LoadLevel], float](float)
        self._reached: dict[Key, LoadLevel | None] = {}  # the load under which each verdict was last reached
        self._evidence = defaultdict[Key, dict[str, tuple[Evidence, Statistic]]](dict)
        self._newest: dict[Key, Finding] = {}
        self._known: set[Key] = set()
        self._first_starts: dict[Key, float] = {}
        self._level = LoadLevel()  # of the newest interval, or of the last one before the load ended
        self._start = start
        self._at = start

    def add(self, snapshot: Snapshot, counted: bool) -> None:
        """Count the interval that ends with the snapshot; only ``counted`` ones (load ran) decide which verdict won."""
        verdict, at, load = snapshot.diagnosis.verdict, snapshot.at, snapshot.load
        over = load is not None and load.state.ended
        if not over:
            self._level = LoadLevel.of(load)
        if not self.spans or self.spans[-1].key != _key(verdict):
            self._change(verdict)
        self.spans[-1].end = at
        if not verdict.lingers:
            self._reached[_key(verdict)] = self._level if counted else None
        if counted:
            self._add_load(self._reached.get(_key(verdict), self._level), at)
            self._note(verdict, whole=not over)
        self._known = {_key(finding) for finding in snapshot.diagnosis.findings}
        self._at = at
        if len(self.spans) > self._most:
            self._shorten()
        if len(self._loaded) > self._most:
            self._settle(self._loaded[len(self._loaded) // 2].start)

    def longest(self) -> tuple[Finding, float, float] | None:
        """The verdict that held longest while load ran, when it began and for how long, in seconds. Its evidence has
        the means of its values."""
        seconds = defaultdict[Key, float](float)
        for (key, _), held in self._seconds().items():
            seconds[key] += held
        if not seconds:
            return None
        starts = self._starts(self.spans)
        key = max(seconds, key=lambda key: (seconds[key], -starts[key]))
        return self._found(key), starts[key], seconds[key]

    def by_load(self) -> list[Held]:
        """What was the limit under each load: the limits first, the highest load first, then what held longest. Then
        ``none``, for each load under which there was no limit."""
        all_of_them = [
            Held(self._found(key), held, level) for (key, level), held in self._seconds().items() if held > 0
        ]
        limited = {each.level for each in all_of_them if each.is_limit}
        telling = [each for each in all_of_them if each.is_limit or each.level not in limited]
        return sorted(telling, key=lambda each: (each.is_limit, each.level.amount, each.seconds), reverse=True)

    def _found(self, key: Key) -> Finding:
        evidence = tuple(replace(item, value=statistic.mean or 0.0) for item, statistic in self._evidence[key].values())
        return replace(self._newest[key], evidence=evidence)

    def _seconds(self) -> dict[tuple[Key, LoadLevel], float]:
        """How long each verdict held under each load."""
        held = self._settled.copy()
        for key, level, seconds in self._overlaps(self._loaded):
            held[key, level] += seconds
        return {of: seconds for of, seconds in held.items() if of[0] in self._newest}

    def _starts(self, spans: Sequence[Span]) -> dict[Key, float]:
        """When each verdict first held."""
        return {span.key: span.start for span in reversed(spans)} | self._first_starts

    def _overlaps(self, loaded: Sequence[LoadedTime]) -> Iterator[tuple[Key, LoadLevel, float]]:
        """The seconds that each span has in common with each stretch of load; both are in order."""
        first = 0
        for span in self.spans:
            while first < len(loaded) and loaded[first].end < span.start:
                first += 1
            for start, end, level in islice(loaded, first, None):
                if start > span.end:
                    break
                yield span.key, level, min(span.end, end) - max(span.start, start)

    def _add_load(self, level: LoadLevel | None, at: float) -> None:
        """Count the interval for the load under which its verdict was reached; for none where that was not counted."""
        start = self._at
        if level is None:
            return
        if self._loaded and (self._loaded[-1].end, self._loaded[-1].level) == (start, level):
            start = self._loaded.pop().start
        self._loaded.append(LoadedTime(start, at, level))

    def _settle(self, until: float) -> None:
        """Add up for good what held until then, so that those stretches of load and spans need not be kept."""
        before = [each._replace(end=min(each.end, until)) for each in self._loaded if each.start < until]
        for key, level, seconds in self._overlaps(before):
            self._settled[key, level] += seconds
        self._first_starts = self._starts([span for span in self.spans if span.start < until])
        self._loaded = [each._replace(start=max(each.start, until)) for each in self._loaded if each.end > until]

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
        self._settle(newer[0].start)
        lengths = sorted((span.end - span.start, index) for index, span in enumerate(older))
        short = set(map(itemgetter(1), lengths[: len(older) // 2]))
        kept = [self.spans[0]]
        for index, span in enumerate(older):
            if index not in short and kept[-1].key != span.key:
                kept.append(span)
            else:
                kept[-1].end = span.end
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
