"""From all findings to the one that is the limit: by cause, not by size of number."""

from dataclasses import replace

from loadtop.diagnosis import (
    apache,
    client,
    cpu,
    disk,
    errors,
    fpm,
    generator,
    haproxy,
    listen,
    memory,
    network,
    steal,
    swap,
    throttled,
)
from loadtop.diagnosis.assessment import RAISE_OF, Assessment, Latch
from loadtop.diagnosis.backlog import falls_behind
from loadtop.diagnosis.finding import Bottleneck, Diagnosis, Evidence, Finding
from loadtop.diagnosis.forecast import Forecaster
from loadtop.diagnosis.waiting import Waiting
from loadtop.model import LoadSample
from loadtop.rates.measured import HostView, Measured

ORDER = (
    Bottleneck.GENERATOR,
    Bottleneck.CLIENT_PORTS,
    Bottleneck.CLIENT_FILES,
    Bottleneck.ERRORS,
    Bottleneck.SWAP,
    Bottleneck.MEMORY,
    Bottleneck.DISK,
    Bottleneck.STEAL,
    Bottleneck.THROTTLED,
    Bottleneck.CPU,
    Bottleneck.CPU_CORE,
    Bottleneck.NETWORK,
    Bottleneck.FPM_WORKERS,
    Bottleneck.APACHE_WORKERS,
    Bottleneck.HAPROXY_QUEUE,
    Bottleneck.LISTEN_QUEUE,
    Bottleneck.WAITING,
)
"""Causes first: an invalid measurement, then what makes everything above it look full as well."""

EXPLAINS = {
    Bottleneck.SWAP: {Bottleneck.MEMORY, Bottleneck.DISK, Bottleneck.CPU, Bottleneck.CPU_CORE},
    Bottleneck.MEMORY: {Bottleneck.DISK, Bottleneck.CPU, Bottleneck.CPU_CORE},
    Bottleneck.STEAL: {Bottleneck.CPU, Bottleneck.CPU_CORE},
    Bottleneck.THROTTLED: {Bottleneck.CPU, Bottleneck.CPU_CORE},
}
POOLS = {
    Bottleneck.FPM_WORKERS,
    Bottleneck.APACHE_WORKERS,
    Bottleneck.HAPROXY_QUEUE,
    Bottleneck.LISTEN_QUEUE,
    Bottleneck.WAITING,
}
"""Queues that fill behind any other limit of the same machine: symptoms wherever there is one."""


SILENT_S = 2.0
"""Seconds without a sample of the machine under test from which nothing is called free."""


class Diagnoser:
    """Turns measured frames into diagnoses. What it remembers comes from frames only, so a replay gives what was shown
    live: a latch per resource, and how fast requests were served before."""

    def __init__(self) -> None:
        self._latches: dict[tuple[Bottleneck, str | None], Latch] = {}
        self._waiting = Waiting()
        self._forecaster = Forecaster()
        self._at = 0.0

    def diagnose(self, measured: Measured) -> Diagnosis:
        """The findings that hold after this frame and the one that is the limit."""
        found = _assess(measured)
        waiting = self._waiting.assess(measured, found)
        now = {(each.bottleneck, each.host): each for each in (*found, *((waiting,) if waiting is not None else ()))}
        for key in now:
            # What nothing else explains must hold a moment longer: a page that says what it is may be on its way.
            self._latches.setdefault(key, Latch(RAISE_OF) if key[0] is Bottleneck.WAITING else Latch())
        silent = {host.name for host in measured.hosts if _is_silent(host)}
        updated = (
            latch.update(self._at, measured.at, now.get(key), silent=key[1] in silent)
            for key, latch in self._latches.items()
        )
        findings = sorted((f for f in updated if f is not None), key=lambda finding: _rank(measured, finding))
        self._at = measured.at
        forecast = self._forecaster.add(measured, calm=not any(each.over for each in now.values()))
        if not findings:
            return Diagnosis(_headroom(measured), (), forecast)
        cause, *others = findings
        symptoms = tuple(other for other in others if _explains(cause, other))
        return Diagnosis(replace(cause, symptoms=symptoms), tuple(findings))


def _assess(measured: Measured) -> list[Assessment]:
    found: list[Assessment | None] = [
        generator.assess_process(measured),
        client.assess_ports(measured),
        client.assess_files(measured),
        errors.assess(measured),
    ]
    for host in measured.hosts:
        found.append(network.assess(host))
        generates = host.state.role == "generator"
        found += [generator.assess_machine(measured, host)] if generates else _assess_server(measured, host)
    return [assessment for assessment in found if assessment is not None]


def _assess_server(measured: Measured, host: HostView) -> list[Assessment | None]:
    return [
        swap.assess(host),
        memory.assess(host),
        disk.assess(measured, host),
        steal.assess(host),
        throttled.assess(host),
        cpu.assess_all(host),
        cpu.assess_core(measured, host),
        fpm.assess(measured, host),
        apache.assess(measured, host),
        haproxy.assess(measured, host),
        listen.assess(measured, host),
    ]


def _rank(measured: Measured, finding: Finding) -> tuple[int, bool]:
    """Causes first; of the same on several machines, the target's."""
    host = None if finding.host is None else measured.host(finding.host)
    return ORDER.index(finding.bottleneck), host is not None and "target" not in host.state.role


def _explains(cause: Finding, other: Finding) -> bool:
    if cause.bottleneck in (Bottleneck.GENERATOR, Bottleneck.ERRORS):
        return False
    if other.bottleneck in POOLS:
        return ORDER.index(cause.bottleneck) < ORDER.index(other.bottleneck)
    return cause.host == other.host and other.bottleneck in EXPLAINS.get(cause.bottleneck, set())


def _is_silent(host: HostView) -> bool:
    """Whether a machine that has been seen gave no sample in this interval."""
    return host.sample is not None and not host.state.fresh


def _all_taken(load: LoadSample) -> bool:
    """Whether no connection is free for another request."""
    return load.in_flight is not None and load.concurrency is not None and load.in_flight >= load.concurrency


def _headroom(measured: Measured) -> Finding:
    """``none``, with what is free as its evidence."""
    evidence: list[Evidence] = []
    for host in measured.hosts:
        if host.rates is None:
            continue
        if host.rates.cpu is not None:
            limit = cpu.BUSY_PCT
            evidence.append(
                Evidence("cpu.busy_pct", host.name, host.rates.cpu.busy, limit, "%", "PCP cpu/util", below=True)
            )
        evidence.extend(
            Evidence("apache.full_pct", host.name, page.full, apache.FULL_PCT, "%", "Linuxfabrik", below=True)
            for page in host.rates.apache or ()
        )
    load = measured.load
    advice = "There is headroom: more load would be served."
    tested = [host for host in measured.hosts if "target" in host.state.role]
    silent = max(filter(_is_silent, tested), key=lambda host: host.stale_s, default=None)
    if silent is not None and silent.stale_s >= SILENT_S:
        advice = f"{silent.name} has not answered for {silent.stale_s:.0f} s: whether there is headroom is not known."
        return Finding(Bottleneck.NONE, None, 0.0, measured.at, 0.0, tuple(evidence), advice)
    if load is not None and not tested:
        advice = (
            "Nothing that is watched is full, but the server's machine is not watched: add it with"
            " --host NAME=ssh://HOST."
        )
        return Finding(Bottleneck.NONE, None, 0.0, measured.at, 0.5, tuple(evidence), advice)
    if load is not None and load.state.ended:
        advice = (
            "The load has ended; if it was too short to find a limit, let it run longer (-t 10) or raise the"
            " concurrency."
        )
    elif load is not None and load.rate is not None and _all_taken(load) and falls_behind(measured):
        advice = (
            f"Requests are sent late, for each connection (-c {load.concurrency}) still waits for an answer: give it"
            f" more connections, to get to the rate asked for ({load.rate:.4g}/s)."
        )
    elif load is not None and load.rate is not None:
        advice = f"There is headroom: raise the rate (now {load.rate:.4g}/s) to find the limit."
    elif load is not None and load.concurrency is not None:
        advice = f"There is headroom: raise the concurrency (now {load.concurrency}) to find the limit."
    return Finding(Bottleneck.NONE, None, 0.0, measured.at, 1.0 if evidence else 0.0, tuple(evidence), advice)
