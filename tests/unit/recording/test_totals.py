"""What a recording adds up to is what its snapshots add up to."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from loadtop.analysis.compare.course import Course
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording.reader import Session
from loadtop.recording.totals import totals_of
from loadtop.reports.html import html
from loadtop.reports.markdown import markdown
from loadtop.reports.story import Story
from tests.lab.keeping import SUFFIX, unpack

Record = Callable[[Path, Sequence[Snapshot]], None]
Make = Callable[[int], list[Snapshot]]
LAB = sorted((Path(__file__).parents[2] / "fixtures" / "lab").glob(f"*{SUFFIX}"))


def read_through(session: Session) -> Story:
    """What the frames say, one after the other."""
    story = Story(session.meta.url or None, session.meta.command_line)
    for snapshot in snapshots(session.frames()):
        story.add(snapshot)
    return story


def told(story: Story) -> tuple[Any, ...]:
    """All that a report can say, to the bit."""
    figures = story.summary.as_json()
    return figures, story.settings.all(), story.curves.times, html(story), markdown(story)


def numbers(course: Course) -> tuple[Any, ...]:
    """All that a comparison reads, NaN as words."""
    values = {key: repr(course.series(key)) for key in course.values}
    return course.began, course.ended, course.width, course.at, course.steps, course.shapes, values


@pytest.mark.parametrize("kept", LAB, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_real_recordings_are_told_the_same_both_ways(kept: Path, tmp_path: Path, record: Record) -> None:
    with Session(unpack(kept, tmp_path)) as session:
        record(tmp_path / "again.loadtop", list(snapshots(session.frames())))
    with Session(tmp_path / "again.loadtop") as session:
        assert told(totals_of(session).story) == told(read_through(session))
        course = Course()
        for snapshot in snapshots(session.frames()):
            course.add(snapshot)
        assert numbers(totals_of(session).course) == numbers(course)
