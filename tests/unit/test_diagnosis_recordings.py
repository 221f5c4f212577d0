"""The diagnosis of what real machines produced: recordings of the lab, each named after the limit that was proven.

``LOADTOP_LAB_KEEP=tests/fixtures/lab make lab`` records them again.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadtop.analysis.totals.totals import Totals
from loadtop.diagnosis.cpu import STEAL_PCT
from loadtop.model import Frame
from loadtop.pipeline.snapshot import snapshots
from tests.lab.keeping import SUFFIX, kept_frames
from tests.unit.lab_recordings import RECORDINGS, limit_of
from tests.unit.stealing import Thieves

CHANGES = 4
"""A verdict that changes more often than this in a run of seconds flaps."""


def test_there_are_recordings_of_most_limits() -> None:
    assert len({limit_of(path) for path in RECORDINGS}) >= 16


ALL = pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(SUFFIX))


def judged(path: Path, change: Callable[[Frame], Frame] = lambda frame: frame) -> dict[str, Any]:
    """What is said of a recording, each frame of which is changed."""
    summary = Totals("http://lab/")
    for snapshot in snapshots(map(change, kept_frames(path))):
        summary.add(snapshot)
    return summary.as_json()


@ALL
def test_names_the_limit_that_was_proven(path: Path) -> None:
    figures = judged(path)
    assert figures["verdict"]["bottleneck"] == limit_of(path), figures["timeline"]
    assert len(figures["timeline"]) <= CHANGES


@pytest.mark.parametrize(
    ("name", "resource", "rps"),
    [
        ("none-half-load.", "cpu", 357),  # as "cpu-a-full-pool-on-a-busy-CPU" has of the same page
        ("none-swap-occupied-long-ago", "apache-workers", 320),  # 20 slots, 62 ms
        ("none-a-neighbour-that-takes-a-core", "apache-workers", 320),
        ("none-an-unrelated-busy-disk", "apache-workers", 320),
    ],
)
def test_predicts_the_next_limit(name: str, resource: str, rps: float) -> None:
    """In some of these recordings other work fills half of the machine."""
    found = judged(next(path for path in RECORDINGS if path.name.startswith(name)))["forecast"]
    assert found["resource"] == resource
    assert found["rps"] == pytest.approx(rps, rel=0.1)
    assert found["low"] <= rps <= found["high"]


@pytest.mark.parametrize("stolen", [5, 15, 30])
@ALL
def test_names_it_too_where_the_hypervisor_steals(path: Path, stolen: int) -> None:
    """Or says ``steal``, where that takes what a machine without any idle time needs."""
    thieves = Thieves(stolen / 100)
    figures = judged(path, thieves.steal)
    named, expected = figures["verdict"]["bottleneck"], limit_of(path)
    taken = named == "steal" and stolen > STEAL_PCT and thieves.needed()
    assert named == expected or taken, figures["timeline"]
