"""What a recording's frames add up to, for reports and comparisons."""

from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import Session


def result_of(session: Session) -> RunResult:
    """The result of the recorded test, from all its frames."""
    totals = Totals(session.meta.url or None, session.meta.command_line)
    for snapshot in snapshots(session.frames()):
        totals.add(snapshot)
    return totals.result()
