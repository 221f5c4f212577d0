"""A recording's moments, computed again."""

from collections.abc import Iterable, Iterator

from loadtop.diagnosis.verdict import Diagnoser
from loadtop.model import Frame
from loadtop.moment import Measurer, Moment


def moments(frames: Iterable[Frame]) -> Iterator[Moment]:
    """Rates and diagnosis of recorded frames, as the live test computed them."""
    measurer, diagnoser = Measurer(), Diagnoser()
    for frame in frames:
        measured = measurer.measure(frame)
        yield Moment(measured, diagnoser.diagnose(measured))
