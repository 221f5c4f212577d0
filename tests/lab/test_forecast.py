"""The next limit, predicted at a third of the load that then turns out to be the ceiling."""

import contextlib
from pathlib import Path

import pytest

from tests.lab.case import Bench, Build
from tests.lab.load import watch_load
from tests.lab.pages import COMPUTING, WAITING
from tests.lab.table import Report, Result
from tests.lab.test_machine import line
from tests.lab.test_pools import fpm
from tests.lab.test_traps import page

pytestmark = [
    pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.timeout(120), pytest.mark.full,
]  # fmt: skip

CEILING_S, CALM_S = 6, 12
WITHIN = 0.20


@pytest.mark.parametrize(
    ("resource", "build", "concurrency"),
    [
        ("cpu", page(COMPUTING, 30), 12),
        ("apache-workers", page(WAITING, 9), 20),
        ("fpm-workers", fpm(6, WAITING), 20),
        ("network", line(20, 50), 12),
    ],
    ids=["cpu", "apache-workers", "fpm-workers", "network"],
)
def test_predicts_the_ceiling(resource: str, build: Build, concurrency: int, tmp_path: Path, report: Report) -> None:
    with contextlib.ExitStack() as stack:
        stand = build(Bench(stack), False)
        full = watch_load(
            stand.url, ("-c", str(concurrency), "-t", str(CEILING_S), *stand.watch), directory=tmp_path,
            seconds=CEILING_S, launcher=stand.launcher,
        )  # fmt: skip
        assert full.bottleneck == resource
        ceiling = full.summary["load"]["rps"]
        third = watch_load(
            stand.url, ("--rate", f"{ceiling / 3:.1f}", "-t", str(CALM_S), *stand.watch), directory=tmp_path,
            seconds=CALM_S, launcher=stand.launcher,
        )  # fmt: skip
    found = third.summary["forecast"]
    assert found is not None, third.summary["verdict"]
    error = found["rps"] / ceiling - 1
    numbers = f"{found['rps']:.0f} foretold, {ceiling:.0f} measured, {error:+.0%}"
    report(Result(numbers, resource, found["resource"], None))
    assert found["resource"] == resource
    assert abs(error) <= WITHIN, numbers
