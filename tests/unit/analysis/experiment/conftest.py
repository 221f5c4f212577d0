"""A small PLAN, and results of its cells."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadtop.analysis.experiment.plan import Cell, ExperimentPlan
from loadtop.analysis.experiment.results import CellResult
from loadtop.cli.options.experiment_plan import read_plan

PLAN = """\
title = "Processes"
options = ["-k"]
time = 2
warmup = 0.5
repeats = 2
concurrencies = [1, 10]
finish = ["echo finished >> log"]

[urls]
page = "http://127.0.0.1:8000/page.php"

[[variants]]
name = "one"
apply = ["echo one >> log"]

[[variants]]
name = "two"
apply = ["echo two >> log", "test ! -e broken"]
ready = "test -e log"
"""


def a_result(cell: Cell, rps: float | None = 100.0, **changes: Any) -> CellResult:
    fields: dict[str, Any] = {
        "key": cell.key, "variant": cell.variant.name, "url_name": cell.url_name, "concurrency": cell.level.concurrency,
        "rate": cell.level.rate, "repeat": cell.repeat, "requests": 1000, "failed": 0, "non_2xx": 0, "seconds": 10.0,
        "rps": rps, "mean_ms": 5.0, "p50_ms": 4.0, "p90_ms": 6.0, "p99_ms": 9.0, "max_ms": 12.0, "idle_pct": 40.0,
        "iowait_pct": 0.0, "swap_used_pct": None, "swap_kb_s": 0.0, "load1": 1.0, "running": 2.0, "httpd_running": 1.0,
        "busy": 3.0, "received_kb_s": 50.0, "bottleneck": "none", "host": None, "state": "done", "took_s": 3.0,
        "recording": "x.loadtop",
    }  # fmt: skip
    return CellResult(**{**fields, **changes})


@pytest.fixture
def write_plan(tmp_path: Path) -> Callable[[str], Path]:
    """Write a PLAN; the small one where no text is given."""

    def write(text: str = PLAN) -> Path:
        file = tmp_path / "plan.toml"
        file.write_text(text)
        return file

    return write


@pytest.fixture
def plan(write_plan: Callable[..., Path]) -> ExperimentPlan:
    return read_plan(write_plan())
