"""Services of no kind that loadtop knows, loaded themselves or behind a web server."""

from pathlib import Path

import pytest

from tests.lab.case import RUN_S, Bench, Case, Proof, Stand, judge, marked
from tests.lab.table import Report
from tests.servers.apache import proxying
from tests.servers.service import BURNING, PLACES, RESETTING

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]


def beside_an_idle_apache(bench: Bench, lifted: bool) -> Stand:
    bench.apache(workers=4)
    return Stand(bench.service(BURNING, int(lifted)).url)


def behind_apache(bench: Bench, lifted: bool) -> Stand:
    server = bench.apache(workers=32, extra=proxying(bench.service(BURNING, int(lifted)).url))
    return Stand(server.url, ("--apache", server.status_url))


def fills_one_core(proof: Proof) -> bool:
    return 25 < proof.change.idle < 60


def two_places(bench: Bench, lifted: bool) -> Stand:
    return Stand(bench.service(PLACES, 8 if lifted else 2).url)


def resetting(bench: Bench, _lifted: bool) -> Stand:
    return Stand(bench.service(RESETTING, 0.45).url, sign=resets)


def resets() -> float:
    """Connections that this machine has reset so far (Linux, net/ipv4/proc.c: OutRsts)."""
    names, values = (line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line[:4] == "Tcp:")
    return float(values[names.index("OutRsts")])


CASES = [
    Case(
        name="a service beside an idle Apache", expected="cpu-core", build=beside_an_idle_apache, concurrency=8,
        proven=fills_one_core, evidence="process.cpu_pct", advice="fills one core",
    ),
    Case(
        name="a service behind Apache", expected="cpu-core", build=behind_apache, concurrency=8,
        proven=fills_one_core, evidence="process.cpu_pct", advice="fills one core",
    ),
    Case(
        name="two places for three", expected="waiting", build=two_places, concurrency=3, evidence="load.rps",
        proven=lambda proof: 36 < proof.rps < 41, options=("--steps", "2,3,4", "--step-time", "3"), at_once=True,
    ),
    Case(
        name="45 of 100 connections are reset", expected="errors", build=resetting, concurrency=4, gain=None,
        proven=lambda proof: proof.peak - proof.before > 100, evidence="load.receive_pct", advice="Fix this first",
        options=("-r", "-c", "4", "-t", str(RUN_S)),
    ),
    Case(
        name="45 of 100 are reset, with any load", expected="errors", build=resetting, concurrency=4, gain=None,
        proven=lambda proof: proof.peak - proof.before > 100, evidence="load.receive_pct",
        advice="The load is not the cause", options=("-r", "--steps", "2,4", "--step-time", "12"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_service(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
