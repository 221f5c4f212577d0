"""Answers that are mostly errors: however fast they come, they are no throughput."""

from functools import partial
from pathlib import Path

import pytest

from tests.lab.case import Bench, Build, Case, Proof, Stand, judge, marked
from tests.lab.table import Report
from tests.servers.apache import Apache

pytestmark = [pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120)]

PLACES = """<?php
for ($place = 0; $place < 2; $place++) {
    $lock = fopen(__DIR__ . "/place$place", 'c');
    if (flock($lock, LOCK_EX | LOCK_NB)) { usleep(100000); echo 'served'; exit; }
}
usleep(20000);
http_response_code(503);
echo 'no place is free';
"""
"""Two places of 100 ms; anyone who finds none is sent away, as by a full session pool."""


def wrong_answers(server: Apache) -> float:
    """Percent of the lines of the access log that tell of no 2xx."""
    lines = server.access_log.read_text(errors="replace").splitlines()
    codes = [line.split('" ')[1][0] for line in lines if line.count('" ') == 1 and "server-status" not in line]
    return 100.0 * sum(code != "2" for code in codes) / max(1, len(codes))


def page(name: str) -> Build:
    def build(bench: Bench, _lifted: bool) -> Stand:
        server = bench.apache(mpm="prefork", php="mod", workers=40, pages={"places.php": PLACES})
        server.documents.chmod(0o777)
        return Stand(f"{server.url}{name}", ("--apache", server.status_url), sign=partial(wrong_answers, server))

    return build


def mostly_wrong(proof: Proof) -> bool:
    return proof.peak > 50 and proof.rps > 100


CASES = [
    Case(
        name="two places, else 503", expected="errors", build=page("places.php"), concurrency=12, proven=mostly_wrong,
        evidence="load.", advice="Fix this first: most requests failed", gain=None,
    ),
    Case(
        name="a page that is not there", expected="errors", build=page("missing.html"), concurrency=8,
        proven=mostly_wrong, evidence="load.non_2xx_pct", advice="Fix this first: most requests failed", gain=None,
    ),
    Case(
        name="two places for two to twelve", expected="errors", build=page("places.php"), concurrency=12,
        proven=mostly_wrong, evidence="load.least_failed_pct", gain=None,
        advice="Failures grow with the load: only 0 % failed at c=2",
        options=("--steps", "2,8,12", "--step-time", "3"), at_once=True,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", marked(CASES))
def test_says_that_the_figures_measure_failures(case: Case, tmp_path: Path, report: Report) -> None:
    judge(case, tmp_path, report)
