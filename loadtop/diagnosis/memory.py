"""Memory that is too small without swap: pages are reclaimed and soon read again, while tasks wait for that."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import Evidence, evidence_of
from loadtop.diagnosis.memory_room import fewer_workers
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message, sentences
from loadtop.rates.measured import HostView, Measured

NAME = "memory"

AVAILABLE_PCT = 10.0
"""Percent of memory that is available: netdata's and awesome-prometheus-alerts' warning is below 10."""

GROUP_PCT = 90.0
"""Percent of a control group's memory limit: netdata's and awesome-prometheus-alerts' warning for containers."""

REFAULTS_S = 500.0
"""Pages per second that were wanted again soon after they were given up, or were reclaimed by those that want memory
themselves; our own, after node-mixin's 500 major faults per second."""

STALL_PCT = 10.0
STALL_CLEAR_PCT = 4.0
"""Percent of the time in which some task waited for memory: psi-notify's 10."""


def assess(_: Measured, host: HostView) -> Assessment | None:
    """``memory`` for one machine: little is left, what was given up is wanted again, and tasks wait for it.

    All three must hold as far as they are measured: a full page cache leaves little of a control group's limit and
    costs nothing, and stalls alone may be of another group.
    """
    rates, sample = host.rates, host.sample
    if rates is None or sample is None or sample.memory is None or rates.paging is None:
        return None
    memory, group, paging = sample.memory, sample.cgroup, rates.paging
    left = None if memory.available_kb is None else 100.0 * memory.available_kb / memory.total_kb
    filled = None
    if group is not None and group.memory_limit_kb and group.memory_used_kb is not None:
        filled = 100.0 * group.memory_used_kb / group.memory_limit_kb
    wanted_again = [pages for pages in (paging.refaults_pages, paging.direct_reclaimed_pages) if pages is not None]
    if not wanted_again:
        return None
    again, stall = max(wanted_again), _stall(host)
    tight = (left is not None and left < AVAILABLE_PCT) or (filled is not None and filled > GROUP_PCT)
    evidence: list[Evidence] = []
    if left is not None and (filled is None or left < AVAILABLE_PCT):
        evidence.append(
            Evidence("memory.available_pct", host.name, left, AVAILABLE_PCT, "%", "netdata: below 10 %", below=True)
        )
    evidence += evidence_of(
        host.name,
        ("cgroup.memory_pct", filled, GROUP_PCT, "%", "netdata: cgroup over 90 %"),
        ("memory.refaults_s", again, REFAULTS_S, "pages/s", "loadtop, calibrated"),
        ("pressure.memory_some_pct", stall, STALL_PCT, "%", "psi-notify: memory some 10 %"),
    )
    return Assessment(
        NAME,
        host.name,
        over=tight and again > REFAULTS_S and (stall is None or stall > STALL_PCT),
        held=tight and again > REFAULTS_S / 4 and (stall is None or stall > STALL_CLEAR_PCT),
        evidence=tuple(evidence),
        advice=lambda: _advice(host),
        confidence=agreement(exceeds(stall, STALL_PCT), exceeds(filled, GROUP_PCT)),
    )


def _stall(host: HostView) -> float | None:
    """Percent of the time some task waited for memory: of the server's control group, else of the machine."""
    rates = host.rates
    if rates is None:
        return None
    own = None if rates.cgroup is None or rates.cgroup.pressure is None else rates.cgroup.pressure.memory_some
    whole = None if rates.pressure is None else rates.pressure.memory_some
    return whole if own is None else own


def _advice(host: HostView) -> Message:
    group = None if host.sample is None else host.sample.cgroup
    cause = Message("Memory is too small for what is read again and again.")
    if group is not None and group.memory_limit_kb:
        cause = Message(
            "Memory is too small for what is read again and again (the server's control group may use {limit} MB: "
            "raise that).",
            limit=group.memory_limit_kb // 1024,
        )
    return sentences(cause, fewer_workers(host, swapping=False))


MEMORY = Verdict(
    name=NAME,
    letter="M",
    title="MEMORY",
    sentence="Memory is the limit",
    headline="is the limit",
    family=Family.MEMORY,
    explains=("disk", "cpu", "cpu-core", Family.POOL),
    of_host=assess,
    titles={
        "memory.available_pct": "available",
        "memory.refaults_s": "wanted again",
        "cgroup.memory_pct": "group's memory used",
    },
)
