"""Results of generated servers, so that a test names only what it is about."""

from collections.abc import Sequence
from typing import Any

import pytest

from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.cpu import MORE_CPU
from loadtop.diagnosis.finding import Finding
from loadtop.i18n import Message
from loadtop.model.histogram import distribution
from loadtop.servers.kind import WorkerPool


def a_pool(busy: int, **changes: Any) -> WorkerPool:
    """A prefork Apache with 40 slots: 8 MB for each process and 12 MB more for a busy one, 2 MB of it shared."""
    fields: dict[str, Any] = {
        "kind": "apache", "name": "", "manager": "prefork", "capacity": 40, "started": 40, "busy": busy,
        "busy_most": busy, "threads_per_child": None, "processes": 40,
        "rss_kb": 41 * 10_240 + busy * 12_288, "shared_kb": 41 * 2_048.0,
    }  # fmt: skip
    return WorkerPool(**{**fields, **changes})


def a_result(concurrency: int, rps: float, **changes: Any) -> StepResult:
    """A steady step of 10 s, in which no limit is reached and nothing is swapped."""
    bottleneck = changes.pop("bottleneck", "none")
    advice = MORE_CPU if bottleneck == "cpu" else Message("Advice.")
    fields: dict[str, Any] = {
        "concurrency": concurrency, "at_s": 10.0 * concurrency, "seconds": 10.0, "requests": round(10 * rps),
        "failed": 0, "non_2xx": 0, "steady": True,
        "latency": distribution([round(1e6 * concurrency / rps)] * 10 if rps else []),
        "idle": 60.0, "iowait": 0.0, "swap_used": 0.0, "swap_kb_s": 0.0,
        "verdict": Finding(bottleneck, None, 0.0, 5.0, 1.0, (), advice),
        "pools": (a_pool(min(40, concurrency)),), "room_kb": 2_000_000.0,
    }  # fmt: skip
    fields |= changes
    fields.setdefault("used", None if fields["idle"] is None else 100.0 - fields["idle"] - (fields["iowait"] or 0.0))
    return StepResult(**fields)


@pytest.fixture
def flattening() -> Sequence[StepResult]:
    """A server whose processor is full from four connections on."""
    rates = {1: 100.0, 2: 200.0, 4: 380.0, 8: 385.0, 16: 380.0}
    return [a_result(n, x, bottleneck="cpu" if n >= 4 else "none") for n, x in rates.items()]


@pytest.fixture
def swapping() -> Sequence[StepResult]:
    """A server with memory for seven busy workers."""
    rates = {1: 10.0, 2: 20.0, 4: 40.0, 6: 60.0, 7: 69.0}
    calm = [a_result(n, x, room_kb=96 * 1024.0) for n, x in rates.items()]
    return [*calm, a_result(8, 30.0, swap_kb_s=90_000.0, bottleneck="swap", iowait=30.0, swap_used=12.0)]
