"""The web server's CPU quota: its control group has used up its time and must stand still until the next period."""

from loadtop.diagnosis.assessment import Assessment, agreement, exceeds
from loadtop.diagnosis.finding import evidence_of
from loadtop.diagnosis.verdict import Family, Verdict
from loadtop.i18n import Message, sentences
from loadtop.model import CgroupLimits
from loadtop.rates.measured import HostView, Measured

NAME = "throttled"

PERIODS_PCT = 25.0
PERIODS_CLEAR_PCT = 10.0
"""Percent of the periods in which it was throttled: awesome-prometheus-alerts warns above 25; cleared at 10."""

LOST_MS_S = 20.0
"""ms per second that it stood still: our own, so that throttling of some microseconds is no limit."""


def assess(_: Measured, host: HostView) -> Assessment | None:
    """``throttled`` for one machine: the quota stops the server in many periods, for a time that is felt."""
    rates, sample = host.rates, host.sample
    group = None if sample is None else sample.cgroup
    if rates is None or rates.cgroup is None or rates.cgroup.throttled is None:
        return None
    if group is None or group.cpu_quota_us is None:
        return None
    share, lost = rates.cgroup.throttled, rates.cgroup.throttled_ms
    felt = lost is None or lost > LOST_MS_S
    return Assessment(
        NAME,
        host.name,
        over=share > PERIODS_PCT and felt,
        held=share > PERIODS_CLEAR_PCT,
        evidence=evidence_of(
            host.name,
            ("cgroup.throttled_pct", share, PERIODS_PCT, "%", "awesome-prometheus-alerts: 25 %"),
            ("cgroup.throttled_ms_s", lost, LOST_MS_S, "ms/s", "loadtop, calibrated"),
        ),
        advice=lambda: _advice(group, share),
        confidence=agreement(exceeds(lost, LOST_MS_S), share > 2 * PERIODS_PCT),
    )


def _advice(group: CgroupLimits, share: float) -> Message:
    stopped = Message("The server's control group is stopped in {share:.0f} % of its periods.", share=share)
    if group.version == 2:  # in version 1 the path is that of another hierarchy
        stopped = Message(
            "The server's control group {path} is stopped in {share:.0f} % of its periods.",
            path=group.path,
            share=share,
        )
    if group.cpu_quota_us is None or not group.cpu_period_us:
        return sentences(stopped, Message("Raise its CPU quota."))
    cores = group.cpu_quota_us / group.cpu_period_us
    setting = f"CPUQuota={cores * 200:.0f}%" if group.version == 2 else f"cpu.cfs_quota_us={2 * group.cpu_quota_us}"
    raised = Message(
        "Raise its quota of {cores:.2g} cores (for example {setting}), or take it away.", cores=cores, setting=setting
    )
    return sentences(stopped, raised)


THROTTLED = Verdict(
    name=NAME,
    letter="R",
    title="THROTTLED",
    sentence="The CPU quota is the limit",
    headline="a CPU quota is the limit",
    clause=True,
    family=Family.PROCESSOR,
    explains=("cpu", "cpu-core", Family.POOL),
    of_host=assess,
    titles={"cgroup.throttled_pct": "periods throttled", "cgroup.throttled_ms_s": "stopped by the quota"},
)
