"""Adds a test up moment by moment; gives the JSON summary of the contract."""

from datetime import UTC, datetime
from typing import Any

from loadtop import __version__
from loadtop.analysis.totals.host import HostSummary
from loadtop.analysis.totals.load import LoadSummary, counts
from loadtop.analysis.totals.steps import StepSummary
from loadtop.analysis.totals.timeline import Timeline
from loadtop.analysis.tune.step import Sweep
from loadtop.diagnosis.finding import NONE, Forecast
from loadtop.model import LoadSample, LoadState
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.snapshot import Snapshot

SCHEMA = "loadtop.summary/1"
Json = dict[str, Any]

OF_THE_GENERATOR = ("generator", "client-ports", "client-files")

SWEPT = 60
"""Intervals of a step that are kept to look for the knee: the newest."""


class SummaryBuilder:
    """Takes every moment once, in order, in constant memory. ``url`` is what was tested (``None``: only watched).

    Only intervals in which load ran count (all of them where there is none): not the warm-up, not what came after.
    """

    def __init__(self, url: str | None) -> None:
        self.url = url
        self.load = LoadSummary()
        self.hosts: dict[str, HostSummary] = {}
        self.timeline = Timeline()
        self.marks: list[tuple[float, str]] = []
        self._steps: dict[int, StepSummary] = {}
        self._sweep = Sweep(most_beats=SWEPT)
        self._forecast: Forecast | None = None
        self._started: float | None = None
        self._before: LoadSample | None = None
        self._counted: LoadSample | None = None
        self._at = 0.0
        self._end = 0.0

    def add(self, snapshot: Snapshot) -> None:
        """Count one moment."""
        frame = snapshot.measured.frame
        if self._started is None:
            self._started = frame.wall - frame.at
        self.marks += [(frame.at, text) for text in frame.marks]
        counted = counts(frame.load, self._before)
        self.timeline.add(snapshot, counted)
        if counted:
            self._end = frame.at
            self._forecast = snapshot.diagnosis.forecast or self._forecast
            whole = frame.load is None or not (frame.load.state.ended or (self._before and self._before.more))
            for host in snapshot.measured.hosts:
                self.hosts.setdefault(host.name, HostSummary(host.name)).add(host, whole=whole)
        if frame.load is not None:
            if counted:
                self._add_step(snapshot, frame.load)
            if frame.load.rate is None:
                self._sweep.add(snapshot)
            self.load.add(frame.load)
            self._before = frame.load
        self._at = frame.at

    @property
    def begun(self) -> bool:
        """Whether there was anything to add up."""
        return self._started is not None

    @property
    def last_load(self) -> LoadSample | None:
        """The newest sample of the load."""
        return self.load.last

    def as_json(self) -> Json:
        """The whole summary in the contract's schema ``loadtop.summary/1``."""
        last = self.load.last
        seconds = self._end if last is None else last.elapsed_s
        steps = [step.as_json() for step in self._steps.values()]
        return {
            "schema": SCHEMA,
            "version": __version__,
            "started": datetime.fromtimestamp(self._started or 0.0, UTC).isoformat(timespec="seconds"),
            "duration_s": round(seconds, 6),
            "url": None if self.url is None else url_without_secrets(self.url),
            "load": self.load.as_json(),
            "hosts": [host.as_json() for host in self.hosts.values()],
            "verdict": self._verdict(),
            "timeline": [
                {
                    "from_s": round(span.start, 3),
                    "to_s": round(span.end, 3),
                    "bottleneck": str(span.bottleneck),
                    "host": span.host,
                }
                for span in self.timeline.spans
            ],
            "steps": [step for step in steps if step is not None] if len(steps) > 1 else [],
            "marks": [{"at_s": round(at, 3), "text": text} for at, text in self.marks],
            **self._swept(),
            "forecast": self._next_limit(),
        }

    def _swept(self) -> Json:
        """``knee`` and ``sizing``, where connections were stepped and each step was long enough to tell something."""
        results = self._sweep.results
        if len({result.concurrency for result in results}) < 2:
            return {"knee": None, "sizing": None}
        from loadtop.analysis.tune.outcome import Outcome  # what a test without steps need not load

        return Outcome.of(results).found()

    def _next_limit(self) -> Json | None:
        """What would be full first, as last forecast while load ran; ``None`` where a limit was reached."""
        longest = self.timeline.longest()
        found = self._forecast
        if found is None or longest is None or longest[0].bottleneck != NONE:
            return None
        figures = {"rps": found.rps, "low": found.low, "high": found.high}
        return {"resource": str(found.resource), "host": found.host, **{k: round(v, 1) for k, v in figures.items()}}

    def _add_step(self, snapshot: Snapshot, load: LoadSample) -> None:
        step = self._steps.get(load.step)
        if step is None:
            step = self._steps[load.step] = StepSummary(self._counted, self._at)
        self._counted = load
        step.add(snapshot, load)

    @property
    def _never_began(self) -> bool:
        """Whether the load failed without a request: a machine that is full then is not full of it."""
        last = self.load.last
        return last is not None and last.state is LoadState.FAILED and not last.requests and not last.failed

    def _verdict(self) -> Json:
        longest = self.timeline.longest()
        if longest is None or (self._never_began and longest[0].bottleneck not in OF_THE_GENERATOR):
            return {
                "bottleneck": "none",
                "host": None,
                "confidence": 0.0,
                "since_s": 0.0,
                "held_s": 0.0,
                "evidence": [],
                "advice": "Nothing was measured.",
            }
        finding, since, held = longest
        return {
            "bottleneck": str(finding.bottleneck),
            "host": finding.host,
            "confidence": finding.confidence,
            "since_s": round(since, 3),
            "held_s": round(held, 3),
            "evidence": [
                {
                    "metric": item.metric,
                    "host": item.host,
                    "value": round(item.value, 3),
                    "threshold": item.threshold,
                    "unit": item.unit,
                    "source": item.source,
                    "below": item.below,
                }
                for item in finding.evidence
            ],
            "advice": finding.advice,
            "symptoms": [str(symptom.bottleneck) for symptom in finding.symptoms],
        }
