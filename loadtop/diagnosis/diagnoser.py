"""From all findings to the one that is the limit: by cause, not by size of number."""

from collections import deque
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from loadtop.diagnosis.cpu import CPU, CPU_CORE, STEAL, THROTTLED
from loadtop.diagnosis.dependency import DEPENDENCY, Dependencies
from loadtop.diagnosis.disk import DISK
from loadtop.diagnosis.errors import ERRORS, Failures
from loadtop.diagnosis.finding import NONE, Diagnosis, Evidence, Finding
from loadtop.diagnosis.forecast import Demands, Forecaster
from loadtop.diagnosis.generator import CLIENT_FILES, CLIENT_PORTS, GENERATOR
from loadtop.diagnosis.lock import LOCK
from loadtop.diagnosis.memory import MEMORY, SWAP
from loadtop.diagnosis.network import LISTEN_QUEUE, NETWORK
from loadtop.diagnosis.verdict import Assessment, Family, Verdict, explains, ranked
from loadtop.diagnosis.waiting import WAITING, Waiting, falls_behind, rate_text
from loadtop.i18n import Message
from loadtop.model import LoadSample, LoadState
from loadtop.rates.measured import HostView, Measured

HEADROOM = Verdict(NONE, "·", "headroom", "no limit reached", "No limit was reached", Family.NOTHING, clause=True)

MACHINE_VERDICTS = (
    GENERATOR,
    CLIENT_PORTS,
    CLIENT_FILES,
    ERRORS,
    SWAP,
    MEMORY,
    DISK,
    STEAL,
    THROTTLED,
    CPU,
    CPU_CORE,
    NETWORK,
    LOCK,
    DEPENDENCY,
    LISTEN_QUEUE,
    WAITING,
)
"""Every verdict that is not of one kind of server: an invalid measurement first."""

PART_OF_WAITING = (LOCK.name, DEPENDENCY.name)
"""While too few requests wait there for it to be the limit, ``waiting`` may still be: for several locks, say."""

SILENT_S = 2.0  # seconds without a sample of the machine under test from which nothing is called free

NEWEST = 3
"""Intervals of which two (``Verdict.intervals``) must be over the threshold. Published durations are minutes (netdata
10 min, PCP 2 min); a load test lasts seconds, so this one is our own, checked against recordings of the laboratory."""

DOUBTFUL = 0.2
"""Confidence that nothing is full while a limit may not have been found yet: in the first intervals of a load, while
something is over its threshold, or where throughput no longer grows. Calibrated with the recordings of the laboratory
(docs/lab.md)."""

ADVICE_EVERY = 3  # intervals for which an advice stays, numbers and all: it can be read, and is recorded once

CLEAR_AFTER = 3  # intervals in a row below the lower threshold after which a finding is dropped

SILENT_FOR = 7
"""Intervals without a sample for which a finding stays up: a machine that swaps may be silent for seconds. Our own."""


class Latch:
    """Remembers one resource of one host: raised quickly, cleared slowly, never flapping."""

    def __init__(self, verdict: Verdict, host: str | None) -> None:
        self._verdict, self._host = verdict, host
        self._over: deque[tuple[float, bool]] = deque(maxlen=NEWEST)
        self._below = self._unknown = self._advised = 0
        self._since: float | None = None
        self._newest: Assessment | None = None
        self._advice: Message | None = None

    def update(
        self, began: float, at: float, assessment: Assessment | None, *, silent: bool = False, drains: bool = False
    ) -> Finding | None:
        """The finding that holds after the interval from ``began`` to ``at`` (seconds of the session). Without an
        ``assessment`` nothing was measured; ``silent``: because no sample of the machine came. While the load
        ``drains``, evidence and advice stay those of the whole load."""
        over = assessment is not None and assessment.over
        if assessment is None:
            self._unknown += 1
        else:
            self._unknown = 0
            self._over.append((began, over))
            if self._newest is None or (over and not (drains and self._newest.over)):
                self._newest = assessment
        if assessment is not None and (assessment.held or over):
            self._below = 0
        elif not silent or self._unknown > SILENT_FOR:
            self._below += 1
        if self._unknown >= CLEAR_AFTER:
            self._over.clear()
        if self._since is None:
            raised = [start for start, was_over in self._over if was_over]
            if len(raised) >= self._verdict.intervals:
                self._since = raised[0]
            elif assessment is not None and over and assessment.certain:
                self._since = began
        elif self._below >= CLEAR_AFTER:
            self._since = None
            self._newest = assessment
            self._advised = 0
            self._over.clear()
        if self._since is None or self._newest is None:
            return None
        newest = self._newest
        if self._advice is None or not self._advised:
            self._advice = newest.advice if isinstance(newest.advice, Message) else newest.advice()
            self._advised = ADVICE_EVERY
        self._advised -= 1
        held_s = at - self._since
        evidence = self._evidence(newest)
        return Finding(
            self._verdict.name,
            self._host,
            self._since,
            held_s,
            newest.confidence,
            evidence,
            self._advice,
            lingers=self._below > 0,
            dependency=newest.dependency,
            lock=newest.lock,
        )

    @property
    def gives_way(self) -> bool:
        """Whether what holds now gives way to every other finding."""
        return self._newest is not None and self._newest.gives_way

    def _evidence(self, assessment: Assessment) -> tuple[Evidence, ...]:
        """What was measured: of the host, or of the load or the generator, as the metric's name begins."""
        return tuple(
            Evidence(metric, self._host or metric.partition(".")[0], value, threshold, unit, source, below=below)
            for metric, value, threshold, unit, source, below in assessment.evidence
            if value is not None
        )


class Diagnoser:
    """Turns measured frames into diagnoses. What it remembers comes from frames only, so a replay gives what was shown
    live: a latch per resource, how fast requests were served before, and how many of them failed."""

    def __init__(self, verdicts: Sequence[Verdict], demands: Iterable[Demands] = ()) -> None:
        """``verdicts`` are all that can be given, besides ``none``; ``demands`` those of the kinds of servers."""
        self._verdicts = {each.name: each for each in ranked(verdicts)}
        self._rank = {name: rank for rank, name in enumerate(self._verdicts)}
        self._latches: dict[tuple[str, str | None], Latch] = {}
        self._dependencies, self._failures = Dependencies(), Failures()
        self._waiting = Waiting()
        self._forecaster = Forecaster(demands)
        self._loaded = 0  # intervals of the load until now
        self._at = 0.0

    def diagnose(self, measured: Measured) -> Diagnosis:
        """The findings that hold after this frame and the one that is the limit."""
        now = self._assess(measured)
        failures = self._failures.assess(measured)
        if failures is not None:
            now[ERRORS.name, None] = failures
        now |= {(DEPENDENCY.name, host): found for host, found in self._dependencies.assess(measured).items()}
        full = [
            found
            for (name, _), found in now.items()
            if not found.gives_way and (found.over or name not in PART_OF_WAITING)
        ]
        waiting = self._waiting.assess(measured, full)
        if waiting is not None:
            now[WAITING.name, None] = waiting
        for name, host in now:
            if (name, host) not in self._latches:
                self._latches[name, host] = Latch(self._verdicts[name], host)
        silent = {host.name for host in measured.hosts if _is_silent(host)}
        drains = measured.load is not None and measured.load.drains
        updated = (
            latch.update(self._at, measured.at, now.get(key), silent=key[1] in silent, drains=drains)
            for key, latch in self._latches.items()
        )
        held = sorted((f for f in updated if f is not None), key=lambda finding: self._order(measured, finding))
        of_subject: dict[tuple[str, str | None], Finding] = {}
        for finding in held:
            of_subject.setdefault(self._subject(measured, finding), finding)
        findings = list(of_subject.values())
        self._at = measured.at
        calm = not any(each.over for each in now.values())
        flat = self._waiting.flat
        forecast = self._forecaster.add(measured, calm=calm and flat is None)
        self._count(measured.load)
        if not findings:
            doubtful = not calm or flat is not None or 0 < self._loaded < NEWEST
            return Diagnosis(self._headroom(measured, DOUBTFUL if doubtful else 1.0), (), forecast)
        cause, *others = findings
        symptoms = tuple(other for other in others if self._explains(cause, other))
        return Diagnosis(replace(cause, symptoms=symptoms), tuple(findings))

    def _count(self, load: LoadSample | None) -> None:
        """Count the intervals of a load. One that has ended keeps its number: it may have been too short."""
        if load is None or load.state is LoadState.STARTING:
            self._loaded = 0
        elif not load.state.ended:
            self._loaded += 1

    def _assess(self, measured: Measured) -> dict[tuple[str, str | None], Assessment]:
        found: dict[tuple[str, str | None], Assessment | None] = {}
        for verdict in self._verdicts.values():
            if verdict.of_load is not None:
                found[verdict.name, None] = verdict.of_load(measured)
            for host in measured.hosts:
                assess = verdict.of_generator if host.state.role == "generator" else verdict.of_host
                if assess is not None:
                    found[verdict.name, host.name] = assess(measured, host)
        return {key: assessment for key, assessment in found.items() if assessment is not None}

    def _order(self, measured: Measured, finding: Finding) -> tuple[bool, int, bool]:
        """Causes first; of the same on several hosts, the target's."""
        host = None if finding.host is None else measured.host(finding.host)
        elsewhere = host is not None and not host.state.is_target
        gives_way = self._latches[finding.bottleneck, finding.host].gives_way
        return gives_way, self._rank[finding.bottleneck], elsewhere

    def _subject(self, measured: Measured, finding: Finding) -> tuple[str, str | None]:
        """The verdict and what it is about: of the hosts that are one machine, as containers are, the first stands for
        all where the kernel tells each the same."""
        host = None if finding.host is None else measured.host(finding.host)
        machine = self._verdicts[finding.bottleneck].whole_machine and host is not None and host.boot_id
        return finding.bottleneck, machine or finding.host

    def _explains(self, cause: Finding, other: Finding) -> bool:
        """Queues and pools fill behind a limit on any host, everything else behind one on the same."""
        symptom = self._verdicts[other.bottleneck]
        same = cause.host == other.host or symptom.family is Family.POOL
        return same and explains(self._verdicts[cause.bottleneck], symptom)

    def _headroom(self, measured: Measured, confidence: float) -> Finding:
        """``none``, with the free resources as evidence; ``confidence`` applies to a watched machine."""
        free = [each.headroom for each in self._verdicts.values() if each.headroom is not None]
        evidence = tuple(each for host in measured.hosts for of in free for each in of(host))
        advice = _next_step(measured, self._waiting.flat)
        tested = [host for host in measured.hosts if host.state.is_target]
        silent = max(filter(_is_silent, tested), key=lambda host: host.stale_s, default=None)
        if not evidence:
            confidence = 0.0
        if silent is not None and silent.stale_s >= SILENT_S:
            confidence = 0.0
            advice = Message(
                "No sample from {host} for {seconds:.0f} s, so the headroom is unknown.",
                host=silent.name,
                seconds=silent.stale_s,
            )
        elif measured.load is not None and not tested:
            confidence = min(0.5, confidence)
            advice = Message(
                "The server's host is not watched. Add it with --host NAME=ssh://HOST. No watched host is at its limit."
            )
        return Finding(NONE, None, 0.0, measured.at, confidence, evidence, advice)


def _is_silent(host: HostView) -> bool:
    """Whether a machine that has been seen gave no sample in this interval."""
    return host.sample is not None and not host.state.fresh


def _next_step(measured: Measured, flat: tuple[float, int, float] | None) -> Message:
    load = measured.load
    if load is not None and load.state.ended:
        return Message(
            "The load has ended. If it was too short to reach a limit, run it longer (-t or --step-time) or raise the "
            "load (-c or --rate)."
        )
    if load is None:
        return Message("No watched host is at its limit.")
    if flat is not None:
        now, fewer, _ = flat
        return Message(
            "Throughput no longer grows ({now} requests/s, about as many as with {fewer} connections), but no "
            "watched host is at its limit. Keep this load for longer, or watch the other servers as well.",
            now=rate_text(now),
            fewer=fewer,
        )
    if load.rate is None and load.concurrency is None:
        return Message("There is headroom: the server can handle more load.")
    template = "There is headroom: raise the concurrency (now {concurrency}) to find the limit."
    if load.rate is not None:
        template = "There is headroom: raise the rate (now {rate:.4g}/s) to find the limit."
        taken = load.in_flight is not None and load.concurrency is not None and load.in_flight >= load.concurrency
        if taken and falls_behind(measured):
            template = (
                "Raise -c from {concurrency} to reach {rate:.4g} requests/s: requests are sent late because every "
                "connection still waits for a response."
            )
    return Message(template, concurrency=load.concurrency, rate=load.rate)
