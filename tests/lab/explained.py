"""How much of the mean response time the breakdown explains, over the intervals of a steady state."""

from collections.abc import Iterable
from pathlib import Path
from statistics import median

from loadtop.diagnosis.breakdown import Breakdown
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording.reader import Session

STEADY = 0.15  # of the median mean time: intervals further from it are no steady state
LEAST_REQUESTS = 20  # whose mean says something
CLOSE = 0.1  # of the mean time that may remain unexplained
BEGINNING = 2  # intervals in which a closed load fills queues and processes are found


def steady(moments: Iterable[Snapshot]) -> list[Breakdown]:
    """The breakdowns of intervals with about the same mean time, while load runs."""
    running = (each for each in moments if each.load is not None and not each.load.state.ended)
    found = [each.breakdown for each in running if each.breakdown is not None and each.breakdown.shares is not None]
    found = [each for each in found[BEGINNING:] if each.requests >= LEAST_REQUESTS]
    middle = median(each.mean_ms for each in found) if found else 0.0
    return [each for each in found if abs(each.mean_ms - middle) <= STEADY * middle]


def explained(found: Iterable[Breakdown]) -> list[bool]:
    """Of each breakdown, whether its parts sum to the mean time within :data:`CLOSE`."""
    return [abs(each.unexplained_ms or 0.0) <= CLOSE * each.mean_ms for each in found]


def explained_of_recording(path: Path) -> list[bool]:
    with Session(path) as session:
        return explained(steady(snapshots(session.frames())))
