"""Swapping: pages move between memory and the swap device while tasks wait for them.

Occupancy never decides: pages that were swapped out long ago and are not wanted cost nothing (atop's manual says the
same).
"""

from loadtop.diagnosis.assessment import Assessment, agreement
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.memory_room import fewer_workers
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.rates.measured import HostView, Measured

NAME = "swap"

TRAFFIC_KB_S = 40.0
"""kB/s in and out together: atop calls more than 10 pages of 4 kB per second critical."""

FAULTS_S = 100.0
"""Major faults per second that make the traffic felt; our own, well below node-mixin's 500/s over 15 minutes."""

STALL_PCT = 10.0
"""Percent of the time in which some task waited for memory: psi-notify's 10."""

OWN_STALL_PCT = 1.0
"""Percent of the time below which the server's own control group is said not to wait for memory at all; our own."""


def assess(_: Measured, host: HostView) -> Assessment | None:
    """``swap`` for one machine: traffic, and tasks that feel it (memory stalls or major faults).

    Where the server has a control group of its own whose tasks never wait for memory, it is another's swapping.
    """
    rates = host.rates
    if rates is None or rates.paging is None or rates.paging.swap_in_kb is None or rates.paging.swap_out_kb is None:
        return None
    traffic = rates.paging.swap_in_kb + rates.paging.swap_out_kb
    faults = rates.paging.major_faults
    stall = None if rates.pressure is None else rates.pressure.memory_some
    stalled = None if stall is None else stall >= STALL_PCT
    faulted = None if faults is None else faults >= FAULTS_S
    own = None if rates.cgroup is None or rates.cgroup.pressure is None else rates.cgroup.pressure.memory_some
    others = own is not None and own < OWN_STALL_PCT
    return Assessment(
        NAME,
        host.name,
        over=traffic > TRAFFIC_KB_S and (stalled or faulted or stalled is faulted is None) and not others,
        held=traffic > TRAFFIC_KB_S / 4 and not others,
        evidence=evidence_of(
            host.name,
            ("swap.in_kb_s", rates.paging.swap_in_kb, TRAFFIC_KB_S, "kB/s", "atop: 10 pages/s"),
            ("swap.out_kb_s", rates.paging.swap_out_kb, TRAFFIC_KB_S, "kB/s", "atop: 10 pages/s"),
            ("pressure.memory_some_pct", stall, STALL_PCT, "%", "psi-notify: memory some 10 %"),
            ("swap.major_faults_s", faults, FAULTS_S, "/s", "loadtop, calibrated"),
        ),
        advice=lambda: fewer_workers(host, swapping=True),
        confidence=agreement(stalled, faulted),
    )


SWAP = Verdict(
    name=NAME,
    letter="S",
    title="SWAP",
    sentence="Swapping is the limit",
    headline="is the limit",
    family=Family.MEMORY,
    explains=("memory", "disk", "cpu", "cpu-core", Family.POOL),
    of_host=assess,
)
