"""Adds a test up, snapshot by snapshot, once: every report, comparison and sweep takes its result."""

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import asdict

from loadtop import __version__
from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.breakdown import BreakdownsByVerdict
from loadtop.analysis.totals.host import HostTotals, Level
from loadtop.analysis.totals.load import LoadTotals, StepTotals
from loadtop.analysis.totals.series import Series, SeriesTotals
from loadtop.analysis.totals.settings import Setting, Settings
from loadtop.analysis.totals.timeline import Held, Timeline, counts
from loadtop.analysis.tune.step import StepResult, Sweep
from loadtop.diagnosis.cpu import functions
from loadtop.diagnosis.finding import NONE, Finding, Forecast
from loadtop.i18n import Message, Text
from loadtop.model import PROFILE_S, Distribution, LoadLevel, LoadSample, LoadState, Profile
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline.snapshot import Snapshot

SCHEMA = "loadtop.summary/1"

PREVENTS_LOAD = ("client-ports", "client-files")  # limits of the generator with which it cannot open a connection
TUNE = ("tune",)  # how the command line of a sweep begins
STEP_INTERVALS = 60  # newest intervals of a step that are kept to look for the knee; tune bounds its steps itself

MOST_PROFILES = 10
MOST_MARKS = 10_000  # of a test: one every 9 s for a day


class RunResult(Struct, frozen=True):
    """All that is reported of a test, as plain data: :meth:`as_data` gives JSON, :meth:`from_data` reads it.

    ``summary`` is the JSON summary of the contract, which is in English; ``main``, ``held`` and the message of
    ``last_load`` are for people. ``held`` has the limit under each load (:meth:`Timeline.by_load`), ``main`` is the
    first verdict in reports: the limit under the highest load. ``last_load`` is the load's last sample,
    ``distributions`` the response times by part, merged. ``roles`` are those of the machines, ``steps`` the steps of a
    sweep while they were steady.
    """

    url: str | None
    summary: Json
    main: Held
    held: tuple[Held, ...]
    last_load: LoadSample | None
    distributions: dict[str, Distribution]
    roles: dict[str, str]
    settings: tuple[Setting, ...]
    series: Series
    steps: tuple[StepResult, ...]
    command_line: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()

    @property
    def message(self) -> Text:
        """What went wrong with the load; empty where nothing did."""
        return "" if self.last_load is None else self.last_load.message

    @property
    def was_prevented(self) -> bool:
        """Whether the generator could not open connections for want of local ports or file descriptors."""
        return self.main.finding.bottleneck in PREVENTS_LOAD

    @property
    def is_tune(self) -> bool:
        return self.command_line[:1] == TUNE

    def as_data(self) -> Json:
        import msgspec

        data: Json = msgspec.to_builtins(self, str_keys=True)
        return data

    @classmethod
    def from_data(cls, data: object) -> "RunResult":
        """The result that :meth:`as_data` gave; raises ValueError where it is another thing."""
        import msgspec

        try:
            found = msgspec.convert(data, cls, str_keys=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ValueError(f"not a load test's result: {error}") from None
        if not found.series.is_whole:
            raise ValueError("not a load test's result: series of different lengths")
        return found


class Totals:
    """Takes every snapshot once, in order, in bounded memory. ``url`` is what is tested (``None``: only watched).

    Only intervals in which load ran count (all of them where there is none): not the warm-up, not what came after.
    """

    def __init__(self, url: str | None, command_line: tuple[str, ...] = ()) -> None:
        self.url = url
        self.command_line = command_line
        self.load = LoadTotals()
        self._hosts: dict[str, HostTotals] = {}
        self.timeline = Timeline()
        self._marks: list[tuple[float, str]] = []
        self._profiles: list[tuple[float, Profile]] = []
        self._settings = Settings()
        self._series = SeriesTotals()
        self.sweep = Sweep(None if command_line[:1] == TUNE else STEP_INTERVALS)
        self._steps: dict[int, StepTotals] = {}
        self._breakdowns = BreakdownsByVerdict()
        self._forecast: Forecast | None = None
        self.started: float | None = None  # Unix time
        self._counted: LoadSample | None = None
        self._at = 0.0
        self._end = 0.0

    def add(self, snapshot: Snapshot) -> None:
        frame, load, before = snapshot.measured.frame, snapshot.load, self.load.last
        if self.started is None:
            self.started = frame.wall - frame.at
        self._marks += [(frame.at, text) for text in frame.marks[: MOST_MARKS - len(self._marks)]]
        self._profiles += [(frame.at, each) for each in frame.profiles[: MOST_PROFILES - len(self._profiles)]]
        self._settings.add(snapshot)
        self._series.add(snapshot)
        counted = counts(load, before)
        self.timeline.add(snapshot, counted)
        if counted:
            self._end = frame.at
            self._breakdowns.add(snapshot)
            self._forecast = snapshot.diagnosis.forecast or self._forecast
            whole = load is None or not (load.state.ended or (before and before.more))
            level = _level(snapshot)
            for host in snapshot.measured.hosts:
                if host.name not in self._hosts:
                    self._hosts[host.name] = HostTotals(host.name)
                self._hosts[host.name].add(host, whole=whole, level=level)
        if load is not None:
            if counted:
                if load.step not in self._steps:
                    self._steps[load.step] = StepTotals(self._counted, self._at, load)
                self._counted = load
                self._steps[load.step].add(snapshot, load)
            if load.rate is None:
                self.sweep.add(snapshot)
            self.load.add(load)
        self._at = frame.at

    def result(self) -> RunResult:
        limits = self._limits()
        finding, _, seconds = self._main_finding()
        return RunResult(
            url=self._shown_url(),
            summary=self.as_json(),
            main=limits[0] if limits else Held(finding, seconds, LoadLevel()),
            held=(*limits, *(each for each in self.timeline.by_load() if not each.is_limit)),
            last_load=self.load.last,
            distributions=self.load.distributions,
            roles=self._settings.roles,
            settings=tuple(self._settings.all()),
            series=self._series.series,
            steps=tuple(self.sweep.results),
            command_line=self.command_line,
            profiles=tuple(profile for _, profile in self._profiles),
        )

    def as_json(self) -> Json:
        last = self.load.last
        seconds = self._end if last is None else last.elapsed_s
        steps = [step.as_json() for step in self._steps.values()]
        return {
            "schema": SCHEMA,
            "version": __version__,
            "started": datetime.fromtimestamp(self.started or 0.0, UTC).isoformat(timespec="seconds"),
            "duration_s": round(seconds, 6),
            "url": self._shown_url(),
            "load": self.load.as_json(),
            "hosts": [host.as_json() for host in self._hosts.values()],
            "verdict": self._verdict(),
            "limits": [
                {
                    "bottleneck": str(limit.finding.bottleneck),
                    "host": limit.finding.host,
                    "held_s": round(limit.seconds, 3),
                    "load": str(limit.level) or None,
                    **{name: told for name, told in _subject(limit.finding).items() if told is not None},
                }
                for limit in self._limits()
            ],
            "timeline": [
                {
                    "from_s": round(span.start, 3),
                    "to_s": round(span.end, 3),
                    "bottleneck": span.bottleneck,
                    "host": span.host,
                }
                for span in self.timeline.spans
            ],
            "steps": steps if len(steps) > 1 else [],
            "marks": [{"at_s": round(at, 3), "text": text} for at, text in self._marks],
            **self._knee_and_sizing(),
            "forecast": self._next_limit(),
            "breakdown": self._breakdown(),
            "profiles": [_profile(at, profile) for at, profile in self._profiles],
        }

    def _shown_url(self) -> str | None:
        return None if self.url is None else url_without_secrets(self.url)

    def _knee_and_sizing(self) -> Json:
        """``knee`` and ``sizing``, where connections were stepped and each step was long enough to be measured."""
        if len({step.concurrency for step in self.sweep.results}) < 2:
            return {"knee": None, "sizing": None}
        from loadtop.analysis.tune.sizing import TuneResult  # what a test without steps need not load

        return TuneResult.of(self.sweep.results).as_json()

    def _next_limit(self) -> Json | None:
        """What would be full first, as last forecast while load ran; ``None`` where a limit was reached."""
        longest = self.timeline.longest()
        found = self._forecast
        if found is None or longest is None or longest[0].bottleneck != NONE:
            return None
        figures = {name: round(getattr(found, name), 1) for name in ("rps", "low", "high")}
        return {"resource": str(found.resource), "host": found.host, **figures}

    def _breakdown(self) -> Json | None:
        """Where the time went while the main verdict held."""
        finding, _, _ = self._main_finding()
        return self._breakdowns.as_json(finding.bottleneck, finding.host)

    def _main_finding(self) -> tuple[Finding, float, float]:
        """The verdict that held longest, when it began and for how long, in seconds."""
        longest = self.timeline.longest()
        if longest is None or not self._is_caused_by_load(longest[0]):
            return Finding(NONE, None, 0.0, 0.0, 0.0, (), Message("Nothing was measured.")), 0.0, 0.0
        return longest

    def _limits(self) -> list[Held]:
        return [each for each in self.timeline.by_load() if each.is_limit and self._is_caused_by_load(each.finding)]

    def _is_caused_by_load(self, finding: Finding) -> bool:
        """False where the load failed without a request: a machine that is full is not full because of it."""
        last = self.load.last
        idle = last is not None and last.state is LoadState.FAILED and not last.requests and not last.failed
        return not idle or finding.bottleneck in PREVENTS_LOAD

    def _verdict(self) -> Json:
        finding, since, held = self._main_finding()
        evidence = (*finding.evidence, *functions(finding, (profile for _, profile in self._profiles)))
        return {
            "bottleneck": str(finding.bottleneck),
            "host": finding.host,
            "confidence": finding.confidence,
            "since_s": round(since, 3),
            "held_s": round(held, 3),
            "evidence": [{**asdict(item), "value": round(item.value, 3)} for item in evidence],
            "advice": str(finding.advice),
            "symptoms": [str(symptom.bottleneck) for symptom in finding.symptoms],
            **_subject(finding),
        }


def _profile(at: float, profile: Profile) -> Json:
    """``stacks`` are folded, as other tools read them."""
    return {
        "host": profile.host,
        "at_s": round(at, 3),
        "tool": profile.tool or None,
        "seconds": PROFILE_S,
        "samples": profile.samples,
        "functions": [{"name": name, "pct": round(pct, 1)} for name, pct in profile.hottest()],
        "system_calls": [{"name": name, "pct": round(pct, 1)} for name, pct in profile.waited()],
        "stacks": [f"{stack} {count}" for stack, count in profile.stacks],
        "problem": str(profile.problem) or None,
    }


def _subject(finding: Finding) -> Json:
    """The service or the lock that a verdict names, with ``null`` for the other; both are ``null`` for the rest.
    ``host`` of a service is there only where it is known."""
    dependency = None if finding.dependency is None else asdict(finding.dependency)
    if dependency is not None and dependency["host"] is None:
        del dependency["host"]
    return {
        "dependency": dependency,
        "lock": None if finding.lock is None else asdict(finding.lock),
    }


def _level(snapshot: Snapshot) -> Level | None:
    """The closed load of an interval in which requests ended."""
    load, rates = snapshot.load, snapshot.measured.load_rates
    if load is None or load.concurrency is None or load.rate is not None or rates is None or not rates.rps:
        return None
    return Level(load.concurrency, rates.rps)
