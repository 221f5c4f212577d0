"""What a recording adds up to is what its snapshots add up to."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording.reader import Session
from loadtop.recording.totals import result_of
from loadtop.reports.html import html
from loadtop.reports.markdown import markdown
from tests.lab.keeping import SUFFIX, unpack

Record = Callable[[Path, Sequence[Snapshot]], None]
Make = Callable[[int], list[Snapshot]]
LAB = sorted((Path(__file__).parents[2] / "fixtures" / "lab").glob(f"*{SUFFIX}"))


def told(result: RunResult) -> tuple[Any, ...]:
    """All that reports and comparisons can say, to the bit."""
    return result.as_data(), html(result), markdown(result)


@pytest.mark.parametrize("kept", LAB, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_real_recordings_are_told_the_same_both_ways(kept: Path, tmp_path: Path, record: Record) -> None:
    with Session(unpack(kept, tmp_path)) as session:
        made = list(snapshots(session.frames()))
        totals = Totals(session.meta.url or None, session.meta.command_line)
    record(tmp_path / "again.loadtop", made)
    for snapshot in made:
        totals.add(snapshot)
    with Session(tmp_path / "again.loadtop") as session:
        result = replace(result_of(session), url=totals.url, command_line=totals.command_line)
    result.summary["url"] = totals.as_json()["url"]
    assert told(result) == told(totals.result())
    assert told(RunResult.from_data(json.loads(json.dumps(result.as_data())))) == told(result)
