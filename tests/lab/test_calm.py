"""A calm load on a real server for as long as is wanted: no limit may be named in it.

``LOADTOP_LAB_CALM_S`` are the seconds (`make lab-calm` asks for an hour, `make lab` for one minute). What is said while
the kernel's counters show full processors is no false alarm: something else was at work on the machine.
"""

import os
from pathlib import Path

import pytest

from tests.lab.counters import Change, Counters
from tests.lab.load import Run, watch_load
from tests.lab.pages import SHORTLY
from tests.lab.table import Report, Result
from tests.servers.apache import ApacheFactory

CALM_S = int(os.environ.get("LOADTOP_LAB_CALM_S", "60"))
RATE, WORKERS = 20, 12
BUSY_S, IDLE = 5.0, 15.0
"""Seconds before an alarm in which less than this percentage of idle time explains it."""

pytestmark = [
    pytest.mark.lab, pytest.mark.servers, pytest.mark.usefixtures("lab"), pytest.mark.full,
    pytest.mark.timeout(CALM_S + 120),
]  # fmt: skip


def test_a_calm_load_has_no_alarm(apache: ApacheFactory, tmp_path: Path, report: Report) -> None:
    """A tenth of the slots are busy, and next to nothing of the processors."""
    server = apache(mpm="prefork", php="mod", workers=WORKERS, pages={"page.php": SHORTLY})
    with Counters() as counters:
        run = watch_load(
            f"{server.url}page.php", ("--rate", str(RATE), "-t", str(CALM_S), "--apache", server.status_url),
            directory=tmp_path, seconds=CALM_S,
        )  # fmt: skip
    alarms = [(at - run.first_line, said) for at, said in begun(run)]
    false = [(at, said) for at, said in alarms if not (said == "cpu" and is_busy(counters, run.first_line + at))]
    name = f"{CALM_S} s calm: {len(alarms)} alarms, {len(false)} false"
    report(Result(name, "none", "none" if not false else false[0][1], None))
    assert len(run.verdicts) >= 0.9 * CALM_S, "hardly anything was said at all"
    assert run.summary["load"]["failed"] == 0
    assert not false, f"seconds and verdicts: {false}"


def begun(run: Run) -> list[tuple[float, str]]:
    """Each verdict but ``none`` when it was first said."""
    before = "none"
    found: list[tuple[float, str]] = []
    for at, said in run.verdicts:
        if said not in ("none", before):
            found.append((at, said))
        before = said
    return found


def is_busy(counters: Counters, at: float) -> bool:
    """Whether the processors were full for a while before that moment."""
    shortly = [reading for reading in counters.readings if at - BUSY_S <= reading.at <= at]
    later = shortly[len(shortly) // 2 :]
    return len(later) > 1 and Change.between(later[0], later[-1]).idle < IDLE
