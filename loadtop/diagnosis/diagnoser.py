"""From all findings to the one that is the limit: by cause, not by size of number."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from loadtop.diagnosis.assessment import Assessment, Latch
from loadtop.diagnosis.backlog import falls_behind
from loadtop.diagnosis.client import CLIENT_FILES, CLIENT_PORTS
from loadtop.diagnosis.cpu import CPU, CPU_CORE
from loadtop.diagnosis.disk import DISK
from loadtop.diagnosis.errors import ERRORS
from loadtop.diagnosis.finding import NONE, Diagnosis, Evidence, Finding
from loadtop.diagnosis.forecast import Demands, Forecaster
from loadtop.diagnosis.generator import GENERATOR
from loadtop.diagnosis.listen import LISTEN_QUEUE
from loadtop.diagnosis.memory import MEMORY
from loadtop.diagnosis.network import NETWORK
from loadtop.diagnosis.steal import STEAL
from loadtop.diagnosis.swap import SWAP
from loadtop.diagnosis.throttled import THROTTLED
from loadtop.diagnosis.verdict import Family, Verdict, Where, explains, ranked
from loadtop.diagnosis.waiting import WAITING, Waiting
from loadtop.i18n import Message
from loadtop.rates.measured import HostView, Measured

HEADROOM = Verdict(NONE, "·", "HEADROOM", "nothing is full", "No limit was reached", Family.NOTHING, clause=True)

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
    LISTEN_QUEUE,
    WAITING,
)
"""Every verdict that is not of one kind of server: an invalid measurement first."""

SILENT_S = 2.0
"""Seconds without a sample of the machine under test from which nothing is called free."""


class Diagnoser:
    """Turns measured frames into diagnoses. What it remembers comes from frames only, so a replay gives what was shown
    live: a latch per resource, and how fast requests were served before."""

    def __init__(self, verdicts: Sequence[Verdict], demands: Iterable[Demands] = ()) -> None:
        """``verdicts`` are all that can be given, besides ``none``; ``demands`` the forecasts of the kinds of
        servers."""
        self._verdicts = {each.name: each for each in ranked(verdicts)}
        self._rank = {name: rank for rank, name in enumerate(self._verdicts)}
        self._latches: dict[tuple[str, str | None], Latch] = {}
        self._waiting = Waiting()
        self._forecaster = Forecaster(demands)
        self._at = 0.0

    def diagnose(self, measured: Measured) -> Diagnosis:
        """The findings that hold after this frame and the one that is the limit."""
        found = list(self._assess(measured))
        waiting = self._waiting.assess(measured, found)
        now = {(each.bottleneck, each.host): each for each in (*found, *((waiting,) if waiting is not None else ()))}
        for key in now:
            self._latches.setdefault(key, Latch(self._verdicts[key[0]].intervals))
        silent = {host.name for host in measured.hosts if _is_silent(host)}
        updated = (
            latch.update(self._at, measured.at, now.get(key), silent=key[1] in silent)
            for key, latch in self._latches.items()
        )
        findings = sorted((f for f in updated if f is not None), key=lambda finding: self._order(measured, finding))
        self._at = measured.at
        forecast = self._forecaster.add(measured, calm=not any(each.over for each in now.values()))
        if not findings:
            return Diagnosis(self._headroom(measured), (), forecast)
        cause, *others = findings
        symptoms = tuple(other for other in others if self._explains(cause, other))
        return Diagnosis(replace(cause, symptoms=symptoms), tuple(findings))

    def _assess(self, measured: Measured) -> Iterator[Assessment]:
        for verdict in self._verdicts.values():
            if verdict.of_load is not None and (found := verdict.of_load(measured)) is not None:
                yield found
            if verdict.of_host is None:
                continue
            for host in measured.hosts:
                place = Where.GENERATORS if host.state.role == "generator" else Where.SERVERS
                if verdict.where in (place, Where.EVERYWHERE):
                    found = verdict.of_host(measured, host)
                    if found is not None:
                        yield found

    def _order(self, measured: Measured, finding: Finding) -> tuple[int, bool]:
        """Causes first; of the same on several hosts, the target's."""
        host = None if finding.host is None else measured.host(finding.host)
        return self._rank[finding.bottleneck], host is not None and "target" not in host.state.role

    def _explains(self, cause: Finding, other: Finding) -> bool:
        """Queues and pools fill behind a limit on any host, everything else behind one on the same."""
        symptom = self._verdicts[other.bottleneck]
        same = cause.host == other.host or symptom.family is Family.POOL
        return same and explains(self._verdicts[cause.bottleneck], symptom)

    def _headroom(self, measured: Measured) -> Finding:
        """``none``, with what is free as its evidence."""
        free = [each.headroom for each in self._verdicts.values() if each.headroom is not None]
        return _headroom(measured, tuple(each for host in measured.hosts for of in free for each in of(host)))


def _is_silent(host: HostView) -> bool:
    """Whether a machine that has been seen gave no sample in this interval."""
    return host.sample is not None and not host.state.fresh


def _headroom(measured: Measured, evidence: tuple[Evidence, ...]) -> Finding:
    tested = [host for host in measured.hosts if "target" in host.state.role]
    silent = max(filter(_is_silent, tested), key=lambda host: host.stale_s, default=None)
    if silent is not None and silent.stale_s >= SILENT_S:
        advice = Message(
            "{host} has not answered for {seconds:.0f} s: whether there is headroom is not known.",
            host=silent.name,
            seconds=silent.stale_s,
        )
        return Finding(NONE, None, 0.0, measured.at, 0.0, evidence, advice)
    if measured.load is not None and not tested:
        advice = Message(
            "Nothing that is watched is full, but the server's machine is not watched: add it with "
            "--host NAME=ssh://HOST."
        )
        return Finding(NONE, None, 0.0, measured.at, 0.5, evidence, advice)
    return Finding(NONE, None, 0.0, measured.at, 1.0 if evidence else 0.0, evidence, _next_step(measured))


def _next_step(measured: Measured) -> Message:
    load = measured.load
    if load is not None and load.state.ended:
        return Message(
            "The load has ended; if it was too short to find a limit, let it run longer (-t 10) or raise the "
            "concurrency."
        )
    if load is None or (load.rate is None and load.concurrency is None):
        return Message("There is headroom: more load would be served.")
    if load.rate is None:
        return Message(
            "There is headroom: raise the concurrency (now {concurrency}) to find the limit.",
            concurrency=load.concurrency,
        )
    taken = load.in_flight is not None and load.concurrency is not None and load.in_flight >= load.concurrency
    if taken and falls_behind(measured):
        return Message(
            "Requests are sent late, for each connection (-c {concurrency}) still waits for an answer: give it more "
            "connections, to get to the rate asked for ({rate:.4g}/s).",
            concurrency=load.concurrency,
            rate=load.rate,
        )
    return Message("There is headroom: raise the rate (now {rate:.4g}/s) to find the limit.", rate=load.rate)
