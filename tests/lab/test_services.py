"""Services of no kind that loadtop knows, loaded themselves or behind a web server."""

from pathlib import Path

import pytest

from tests.lab.case import Bench, Case, Proof, Stand, judge, marked
from tests.lab.table import Report
from tests.servers.apache import proxying
from tests.servers.service import BURNING

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]


def beside_an_idle_apache(bench: Bench, lifted: bool) -> Stand:
    bench.apache(workers=4)
    return Stand(bench.service(BURNING, int(lifted)).url)


def behind_apache(bench: Bench, lifted: bool) -> Stand:
    server = bench.apache(workers=32, extra=proxying(bench.service(BURNING, int(lifted)).url))
    return Stand(server.url, ("--apache", server.status_url))


def fills_one_core(proof: Proof) -> bool:
    return 25 < proof.change.idle < 60


CASES = [
    Case(
        name="a service beside an idle Apache", expected="cpu-core", build=beside_an_idle_apache, concurrency=8,
        proven=fills_one_core, evidence="process.cpu_pct", advice="fills one core",
    ),
    Case(
        name="a service behind Apache", expected="cpu-core", build=behind_apache, concurrency=8,
        proven=fills_one_core, evidence="process.cpu_pct", advice="fills one core",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_names_the_service(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
