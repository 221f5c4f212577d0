"""What is known of a machine at one moment, with and without samples and rates."""

import pytest
from msgspec.structs import replace

from loadtop.model import HostState
from loadtop.rates.measured import HostView
from loadtop.rates.records import CoreShares
from tests.unit.interval import RATES, SAMPLE, busy, host

THREE = tuple(CoreShares(number, busy(1.0)) for number in range(3))
UNSEEN = HostView(HostState("web1", "target", None, fresh=False), None, 0.0)


@pytest.mark.parametrize(
    ("view", "cores"),
    [
        (UNSEEN, 1),
        (replace(UNSEEN, rates=RATES), 1),
        (replace(UNSEEN, rates=replace(RATES, cores=THREE)), 3),
        (replace(host(), rates=None), SAMPLE.facts.cores),
        (host(), SAMPLE.facts.cores),
        (host(cores=THREE), 3),
    ],
)
def test_the_cores_that_are_online_or_else_those_of_the_machine(view: HostView, cores: int) -> None:
    assert view.cores == cores


def test_tasks_that_run_or_wait_for_a_processor() -> None:
    assert UNSEEN.runnable is None
    assert host({"scheduler": None}).runnable is None
    assert host().runnable == 1
