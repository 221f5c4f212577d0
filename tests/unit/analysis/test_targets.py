"""Several machines serve the load: which are targets, and what is reported of them in one number."""

from typing import Any

import pytest
from msgspec.structs import replace

from collectors.transport.ssh.transport import SshTransport
from loadtop.analysis.totals.totals import Totals
from loadtop.analysis.tune.step import Sweep
from loadtop.cli.hosts import watched_hosts
from loadtop.cli.options.command_line import parse
from loadtop.model import Frame, LoadState
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from tests.unit.conftest import Machine
from tests.unit.course import frame_of


class Far(SshTransport):
    """A remote host of which nothing is known but its address."""

    def __init__(self, address: str) -> None:
        super().__init__(f"ssh://{address}")
        self.names = frozenset({address})


HOSTS = {"one": "127.0.0.2", "two": "127.0.0.3", "db": "192.0.2.9"}


def roles(*urls: str) -> dict[str, str]:
    """With a database and two web servers far away, and this machine, where the load is made."""
    words = [word for name, address in HOSTS.items() for word in ("--host", f"{name}=ssh://{address}")]
    options = parse(["run", *words, "--host", "here=local", *urls])
    far: Any = {name: Far(address) for name, address in HOSTS.items()}
    return {host.name: host.role for host in watched_hosts(options, options.plan, None, far)}


@pytest.mark.parametrize(
    ("urls", "found"),
    [
        (["http://127.0.0.2:81/"], ["target", "other", "other", "generator"]),
        (["http://127.0.0.2:81/", "http://127.0.0.3:82/"], ["target", "target", "other", "generator"]),
        (["http://192.0.2.8/", "http://127.0.0.3/a", "http://127.0.0.3/b"], ["other", "target", "other", "generator"]),
        (["http://127.0.0.3/", "http://127.0.0.1/"], ["other", "target", "other", "target+generator"]),
        (["http://192.0.2.8/"], ["other", "other", "other", "generator"]),
    ],
)
def test_each_machine_that_serves_a_url_is_a_target(urls: list[str], found: list[str]) -> None:
    assert roles(*urls) == dict(zip([*HOSTS, "here"], found, strict=True))


class TwoTargets:
    """A test of two web servers, added up as it goes."""

    def __init__(self, load: Any) -> None:
        self.machines = (Machine("db", "other"), Machine("one"), Machine("two"))
        self.load = load
        self.pipeline = Pipeline()
        self.summary, self.sweep = Totals("http://one/"), Sweep()
        self.number = -1

    def go(self, times: int, *settings: dict[str, Any], **load: Any) -> Snapshot:
        """So many intervals, with what the machines do in each."""
        for _ in range(times):
            self.number += 1
            states = [machine.state(**each) for machine, each in zip(self.machines, settings, strict=True)]
            self.add(frame_of(self.number, self.load.sample(**load), *states))
        return self.last

    def add(self, frame: Frame) -> None:
        self.last = self.pipeline.snapshot(frame)
        self.summary.add(self.last)
        self.sweep.add(self.last)


@pytest.fixture
def two(load: Any) -> TwoTargets:
    return TwoTargets(load)


FULL: dict[str, Any] = {"busy": (97.0, 97.0)}
WAITS: dict[str, Any] = {"busy": (40.0, 40.0), "iowait": 30.0, "swap_used": 250_000}


def test_a_step_shows_the_worst_target(two: TwoTargets) -> None:
    two.go(9, FULL, {}, WAITS, step=1, steps=2, concurrency=1)
    two.go(9, {}, FULL, WAITS, step=2, steps=2, concurrency=4)
    two.go(1, {}, {}, {}, step=2, steps=2, state=LoadState.DONE)
    first, second = two.summary.as_json()["steps"]
    told = ("idle_pct", "iowait_pct", "swap_used_pct")
    assert [first[name] for name in told] == pytest.approx([30.0, 30.0, 25.0])
    assert [second[name] for name in told] == pytest.approx([12.2, 27.0, 22.5], abs=0.1)  # the last interval is calm
    steady = [result.as_json() for result in two.sweep.results]
    assert [steady[0][name] for name in told] == pytest.approx([30.0, 30.0, 25.0])
    assert [steady[1][name] for name in told[1:]] == pytest.approx([30.0, 25.0], abs=4.0)


def test_what_is_to_be_set_is_worked_out_of_one_machine(two: TwoTargets) -> None:
    two.go(9, FULL, {"busy": (20.0, 20.0)}, WAITS, step=1, steps=1, concurrency=4)
    two.go(1, {}, {}, {}, step=1, steps=1, state=LoadState.DONE)
    (result,) = two.sweep.results
    assert result.used == pytest.approx(20.0, abs=3.0)
    assert result.idle == pytest.approx(30.0, abs=5.0)


def test_a_step_swaps_where_the_second_target_does(two: TwoTargets) -> None:
    swaps: dict[str, Any] = {"swap_in": 4_000.0, "swap_out": 4_000.0, "memory_stall": 40.0, "faults": 500.0}
    two.go(9, {}, {}, swaps, step=1, steps=1, concurrency=4)
    two.go(1, {}, {}, swaps, step=1, steps=1, state=LoadState.DONE)
    (result,) = two.sweep.results
    assert (result.bottleneck, result.verdict.host, result.swaps) == ("swap", "two", True)


def test_no_headroom_is_claimed_while_one_target_is_silent(two: TwoTargets, load: Any) -> None:
    two.go(4, {}, {}, {})
    states = [machine.state() for machine in two.machines]
    for _ in range(4):
        two.number += 1
        silent = replace(states[2], fresh=False, problem="no answer")
        two.add(frame_of(two.number, load.sample(), states[0], two.machines[1].state(), silent))
    advice = two.last.diagnosis.verdict.advice
    assert str(advice) == "No sample from two for 4 s, so the headroom is unknown."
