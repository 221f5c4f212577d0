"""Processor time that the hypervisor gave to others while this machine wanted it."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message
from loadtop.rates.measured import HostView, Measured

NAME = "steal"

STEAL_PCT = 10.0
STEAL_CLEAR_PCT = 5.0
"""Percent of the time: netdata and awesome-prometheus-alerts warn above 10; cleared at netdata's 5."""

WANTED_PCT = 90.0
WANTED_CLEAR_PCT = 80.0
"""Percent of the time used or stolen. With time left over, what was stolen could be made up for."""


def assess(_: Measured, host: HostView) -> Assessment | None:
    """``steal`` for one machine: a share is stolen, and nothing is left over to make up for it."""
    cpu = None if host.rates is None else host.rates.cpu
    if cpu is None or cpu.steal is None:
        return None
    steal, wanted = cpu.steal, cpu.busy + cpu.steal
    sample = host.sample
    running = None if sample is None or sample.scheduler is None else sample.scheduler.running
    cores = 1 if sample is None else sample.facts.cores
    return Assessment(
        NAME,
        host.name,
        over=steal > STEAL_PCT and wanted > WANTED_PCT,
        held=steal > STEAL_CLEAR_PCT and wanted > WANTED_CLEAR_PCT,
        evidence=evidence_of(
            host.name,
            ("cpu.steal_pct", steal, STEAL_PCT, "%", "netdata: steal over 10 %"),
            ("cpu.wanted_pct", wanted, WANTED_PCT, "%", "PCP cpu/util, with what is stolen"),
        ),
        advice=lambda: Message(
            "The hypervisor gives {share:.0f} % of this machine's CPU away, about {lost:.1f} of {cores} cores: "
            "move to another machine, or pay for dedicated cores.",
            share=steal,
            lost=steal * cores / 100,
            cores=cores,
        ),
        confidence=agreement(exceeds(running, cores)),
    )


STEAL = Verdict(
    name=NAME,
    letter="T",
    title="STEAL",
    sentence="The hypervisor is the limit",
    headline="the hypervisor gives the CPU away",
    clause=True,
    family=Family.PROCESSOR,
    explains=("cpu", "cpu-core", Family.POOL),
    of_host=assess,
    titles={"cpu.steal_pct": "stolen", "cpu.wanted_pct": "used or stolen"},
)
