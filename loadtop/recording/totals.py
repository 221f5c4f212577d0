"""What a recording's frames add up to, for reports and comparisons."""

from loadtop.analysis.compare.course import Course
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording.reader import Session
from loadtop.reports.story import Story


class Totals:
    """Takes every snapshot once, in order, in constant memory."""

    def __init__(self) -> None:
        self.story, self.course = Story(), Course()

    def add(self, snapshot: Snapshot) -> None:
        self.story.add(snapshot)
        self.course.add(snapshot)


def totals_of(session: Session) -> Totals:
    """Return what all frames of the recording add up to."""
    totals = Totals()
    for snapshot in snapshots(session.frames()):
        totals.add(snapshot)
    totals.story.summary.url = session.meta.url or None
    totals.story.command_line = session.meta.command_line
    return totals


def story_of(session: Session) -> Story:
    """Return what a report of the recording needs."""
    return totals_of(session).story
