"""Which limit held when, and which one held longest."""

from dataclasses import dataclass

from loadtop.diagnosis.finding import Bottleneck, Evidence, Finding
from loadtop.moment import Moment
from loadtop.summary.statistic import Statistic


@dataclass(slots=True)
class Span:
    """A stretch of the session (seconds since its start) under one verdict."""

    start: float
    end: float
    bottleneck: Bottleneck
    host: str | None


class Timeline:
    """Adds up verdicts from ``start`` (seconds of the session) on.

    A finding is raised a few intervals after its onset; the stretch since the onset is then booked to it, as far as
    load was counted. Evidence is averaged over the intervals in which the verdict held.
    """

    def __init__(self, start: float = 0.0) -> None:
        self.spans: list[Span] = []
        self._counted: list[tuple[float, float]] = []
        self._evidence: dict[tuple[Bottleneck, str | None], dict[str, tuple[Evidence, Statistic]]] = {}
        self._newest: dict[tuple[Bottleneck, str | None], Finding] = {}
        self._known: set[tuple[Bottleneck, str | None]] = set()
        self._start = start
        self._at = start

    def add(self, moment: Moment, counted: bool) -> None:
        """Book the interval that ends with ``moment``; only counted ones (load running) decide which verdict won."""
        verdict, at = moment.diagnosis.verdict, moment.at
        if not self.spans or (self.spans[-1].bottleneck, self.spans[-1].host) != (verdict.bottleneck, verdict.host):
            self._change(verdict, known=(verdict.bottleneck, verdict.host) in self._known)
        self.spans[-1].end = at
        if counted:
            if self._counted and self._counted[-1][1] == self._at:
                self._counted[-1] = (self._counted[-1][0], at)
            else:
                self._counted.append((self._at, at))
            self._note(verdict)
        self._known = {(finding.bottleneck, finding.host) for finding in moment.diagnosis.findings}
        self._at = at

    def longest(self) -> tuple[Finding, float, float] | None:
        """The verdict that held longest while load ran, when it began and for how long, in seconds."""
        held: dict[tuple[Bottleneck, str | None], tuple[float, float]] = {}
        for span in self.spans:
            key = (span.bottleneck, span.host)
            seconds = sum(max(0.0, min(span.end, end) - max(span.start, start)) for start, end in self._counted)
            begin, before = held.get(key, (span.start, 0.0))
            held[key] = (begin, before + seconds)
        known = [key for key in held if key in self._newest]
        if not known:
            return None
        winner = max(known, key=lambda key: held[key][1])
        return (self._typical(winner), *held[winner])

    def held(self, bottleneck: str) -> float:
        """The longest stretch in seconds under this verdict."""
        return max((span.end - span.start for span in self.spans if span.bottleneck == bottleneck), default=0.0)

    def _change(self, verdict: Finding, *, known: bool) -> None:
        """Begin a span. What held already, behind another verdict, becomes the verdict only now."""
        now = known or verdict.bottleneck is Bottleneck.NONE
        start = self._at if now else max(self._start, min(self._at, verdict.since_s))
        while self.spans and self.spans[-1].start >= start:
            start = min(start, self.spans[-1].start) if len(self.spans) == 1 else start
            self.spans.pop()
        if self.spans:
            self.spans[-1].end = min(self.spans[-1].end, start)
            last = self.spans[-1]
            if (last.bottleneck, last.host) == (verdict.bottleneck, verdict.host):
                return
        self.spans.append(Span(start, start, verdict.bottleneck, verdict.host))

    def _note(self, verdict: Finding) -> None:
        key = (verdict.bottleneck, verdict.host)
        self._newest[key] = verdict
        seen = self._evidence.setdefault(key, {})
        for item in verdict.evidence:
            name = f"{item.host} {item.metric}"
            _, statistic = seen.get(name, (item, Statistic()))
            statistic.add(item.value)
            seen[name] = (item, statistic)

    def _typical(self, key: tuple[Bottleneck, str | None]) -> Finding:
        newest = self._newest[key]
        evidence = tuple(
            Evidence(item.metric, item.host, statistic.mean or 0.0, item.threshold, item.unit, item.source, item.below)
            for item, statistic in self._evidence[key].values()
        )
        return Finding(
            newest.bottleneck,
            newest.host,
            newest.since_s,
            newest.held_s,
            newest.confidence,
            evidence,
            newest.advice,
            newest.symptoms,
        )
