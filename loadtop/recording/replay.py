"""A recording's moments, computed again."""

from collections.abc import Iterable, Iterator

from loadtop.diagnosis.verdict import Diagnoser
from loadtop.model import Frame
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measurer


def snapshots(frames: Iterable[Frame]) -> Iterator[Snapshot]:
    """Rates and diagnosis of recorded frames, as the live test computed them."""
    measurer, diagnoser = Measurer(), Diagnoser()
    for frame in frames:
        measured = measurer.measure(frame)
        yield Snapshot(measured, diagnoser.diagnose(measured))
