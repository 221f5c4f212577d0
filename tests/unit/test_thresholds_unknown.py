"""What a verdict of a machine needs to be assessed at all: where it was not measured, nothing is said of it."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.cpu import CPU, CPU_CORE, STEAL, THROTTLED
from loadtop.diagnosis.disk import DISK
from loadtop.diagnosis.memory import MEMORY, SWAP
from loadtop.diagnosis.network import LISTEN_QUEUE, NETWORK
from loadtop.diagnosis.verdict import Verdict
from loadtop.model import CgroupLimits
from loadtop.rates.measured import HostView
from loadtop.rates.records import CgroupRates, CoreShares, DiskRates, NetworkRates
from tests.unit.interval import NO_PAGING, RATES, SAMPLE, assessment, busy, group, host
from tests.unit.known import known

DISK_RATES = DiskRates("vda", 99.0, 25.0, 2.0, 100.0, 200.0, 40.0, swap=False)
LINE = NetworkRates("eth0", 1, 1, 1, 1, 0, 100, 20.0)
GROUP = CgroupLimits("/web", 2, 50_000, 100_000)
KNOWN: dict[str, Any] = {
    "cores": (CoreShares(0, busy(10.0)), CoreShares(1, busy(90.0))),
    "disks": (DISK_RATES,),
    "networks": (LINE,),
    "cgroup": CgroupRates(30.0, 100.0, 0.0, None),
}


def everything(sample: dict[str, Any] | None = None, **rates: Any) -> HostView:
    return host({"cgroup": GROUP, **(sample or {})}, **KNOWN | rates)


@pytest.mark.parametrize(
    ("verdict", "sample", "rates"),
    [
        (CPU, {}, {"cpu": None}),
        (CPU_CORE, {}, {"cpu": None}),
        (CPU_CORE, {}, {"cores": KNOWN["cores"][:1]}),
        (STEAL, {}, {"cpu": None}),
        (STEAL, {}, {"cpu": replace(busy(50.0), steal=None)}),
        (THROTTLED, {"cgroup": None}, {}),
        (THROTTLED, {"cgroup": replace(GROUP, cpu_quota_us=None)}, {}),
        (THROTTLED, {}, {"cgroup": None}),
        (THROTTLED, {}, {"cgroup": replace(KNOWN["cgroup"], throttled=None)}),
        (SWAP, {}, {"paging": None}),
        (SWAP, {}, {"paging": replace(NO_PAGING, swap_in_kb=None)}),
        (SWAP, {}, {"paging": replace(NO_PAGING, swap_out_kb=None)}),
        (MEMORY, {"memory": None}, {}),
        (MEMORY, {}, {"paging": None}),
        (MEMORY, {}, {"paging": replace(NO_PAGING, refaults_pages=None, direct_reclaimed_pages=None)}),
        (DISK, {}, {"disks": None}),
        (DISK, {}, {"disks": ()}),
        (DISK, {}, {"disks": (replace(DISK_RATES, util=None),)}),
        (DISK, {}, {"disks": (replace(DISK_RATES, swap=True),)}),
        (DISK, {"scheduler": None}, {}),
        (DISK, {"scheduler": None}, {"groups": (group(processes=2, threads=5),)}),
        (NETWORK, {}, {"networks": None}),
        (NETWORK, {}, {"networks": (replace(LINE, util=None),)}),
        (NETWORK, {}, {"networks": (replace(LINE, link_mbit=None),)}),
        (LISTEN_QUEUE, {}, {"tcp": None}),
        (LISTEN_QUEUE, {}, {"tcp": replace(known(RATES.tcp), listen_overflows=None)}),
    ],
)
def test_its_requirements(verdict: Verdict, sample: dict[str, Any], rates: dict[str, Any]) -> None:
    assert assessment(verdict, everything()) is not None
    assert assessment(verdict, everything(sample, **rates)) is None


@pytest.mark.parametrize("verdict", [CPU, CPU_CORE, STEAL, THROTTLED, SWAP, MEMORY, DISK, NETWORK, LISTEN_QUEUE])
def test_it_needs_rates(verdict: Verdict) -> None:
    """As before the second sample."""
    assert assessment(verdict, replace(everything(), rates=None)) is None


@pytest.mark.parametrize("verdict", [CPU, MEMORY, DISK, LISTEN_QUEUE])
def test_it_needs_a_sample(verdict: Verdict) -> None:
    view = everything()
    assert assessment(verdict, replace(view, state=replace(view.state, sample=None))) is None


@pytest.mark.parametrize(
    ("verdict", "sample", "rates"),
    [
        (CPU, {"scheduler": None}, {"pressure": None}),
        (CPU_CORE, {}, {"processes": None, "groups": None}),
        (STEAL, {"scheduler": None}, {}),
        (THROTTLED, {}, {"cgroup": replace(KNOWN["cgroup"], throttled_ms=None)}),
        (SWAP, {}, {"paging": replace(NO_PAGING, major_faults=None), "pressure": None}),
        (MEMORY, {"cgroup": None}, {"paging": replace(NO_PAGING, refaults_pages=None), "pressure": None}),
        (MEMORY, {"memory": replace(known(SAMPLE.memory), available_kb=None)}, {}),
        (DISK, {}, {"disks": (replace(DISK_RATES, await_ms=None, queue=None),), "pressure": None}),
        (NETWORK, {}, {"tcp": None}),
        (LISTEN_QUEUE, {"tcp": None}, {}),
    ],
)
def test_what_it_can_do_without(verdict: Verdict, sample: dict[str, Any], rates: dict[str, Any]) -> None:
    found = known(assessment(verdict, everything(sample, **rates)))
    assert not found.over or verdict is THROTTLED
