"""The lab needs root on Linux. Without, `make lab` fails, and other runs leave it out and say so."""

import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.lab.beside import beside
from tests.lab.counters import Change, read_counters
from tests.lab.table import HEADING, Report, Result, confusion
from tests.loads.engines import LOCUST

CALM_IDLE, CALM_S, PATIENCE_S = 70.0, 1.0, 60.0


REPEATS = int(os.environ.get("LOADTOP_LAB_REPEATS", "1"))
"""How often each test of the lab runs; the table and the matrix at the end are over all of them."""

_lab_possible = sys.platform == "linux" and hasattr(os, "geteuid") and os.geteuid() == 0
_results = pytest.StashKey[list[Result]]()
_left_out = pytest.StashKey[int]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if REPEATS > 1:
        metafunc.fixturenames.append("repeat")
        metafunc.parametrize("repeat", range(1, REPEATS + 1), ids=lambda number: f"repeat {number}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.alone("drives a server into a limit"))
    asked = "lab" in str(config.option.markexpr)
    if asked:
        return
    left_out = "full" if _lab_possible else "lab"
    lab = [item for item in items if item.get_closest_marker(left_out)]
    config.stash[_left_out] = len(lab)
    config.hook.pytest_deselected(items=lab)
    items[:] = [item for item in items if not item.get_closest_marker(left_out)]


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    lines: list[str] = []
    if any(item.path.name == "test_generators.py" for item in items) and not (LOCUST / "locust").exists():
        lines.append("tests/lab/test_generators.py will fail, it needs Locust: `make engines` installs that")
    count = config.stash.get(_left_out, 0)
    return [*lines, f"left out: {count} lab tests, which `sudo make lab` runs (on Linux)"] if count else lines


@pytest.fixture(scope="session")
def _beside(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    with beside(tmp_path_factory.mktemp("beside")):
        yield


@pytest.fixture
def lab(_beside: None) -> None:
    """Fails where the lab cannot work, and waits for other work on this machine to end."""
    if not _lab_possible:
        pytest.fail("the lab needs root on Linux: it makes control groups and swap (sudo make lab)", pytrace=False)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        before = read_counters()
        time.sleep(CALM_S)
        idle = Change.between(before, read_counters()).idle
        if idle >= CALM_IDLE:
            return
        if time.monotonic() > deadline:
            pytest.fail(
                f"this machine is busy with other work (idle {idle:.0f} %): nothing can be proven on it", pytrace=False
            )


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Adds a line to the table at the end."""
    return request.config.stash.setdefault(_results, []).append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _results not in config.stash:
        return
    terminalreporter.section("lab")
    terminalreporter.write_line(HEADING)
    for result in config.stash[_results]:
        agrees = result.expected == result.found
        terminalreporter.write_line(str(result), green=agrees, red=not agrees)
    terminalreporter.section("lab: expected (rows) and found (columns)")
    results: list[Result] = config.stash[_results]
    for line in confusion(results):
        terminalreporter.write_line(line)
