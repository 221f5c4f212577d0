"""The diagnosis of what real machines produced: recordings of the lab, each named after the limit that was proven.

``LOADTOP_LAB_KEEP=tests/fixtures/lab make lab`` records them anew.
"""

from pathlib import Path

import pytest

from loadtop.analysis.totals.totals import Totals
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import Session
from loadtop.servers.registry import VERDICT_NAMES
from tests.lab.keeping import SUFFIX, unpack

RECORDINGS = sorted((Path(__file__).parents[1] / "fixtures" / "lab").glob(f"*{SUFFIX}"))
NAMES = sorted((name for name in VERDICT_NAMES), key=len, reverse=True)
CHANGES = 4
"""A verdict that changes more often than this in a run of seconds flaps."""


def limit_of(path: Path) -> str:
    """The limit that a recording is named after."""
    return next(name for name in NAMES if path.stem.startswith(f"{name}-"))


def test_there_are_recordings_of_most_limits() -> None:
    assert len({limit_of(path) for path in RECORDINGS}) >= 16


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_names_the_limit_that_was_proven(path: Path, tmp_path: Path) -> None:
    summary = Totals("http://lab/")
    with Session(unpack(path, tmp_path)) as session:
        for snapshot in snapshots(session.frames()):
            summary.add(snapshot)
        assert session.damage == []
    figures = summary.as_json()
    assert figures["verdict"]["bottleneck"] == limit_of(path), figures["timeline"]
    assert len(figures["timeline"]) <= CHANGES
