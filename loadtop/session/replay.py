"""A recording as a feed: the same moments again, computed again, at the pace at which they came."""

from collections.abc import Callable, Iterable, Iterator

from loadtop.commands import Command
from loadtop.diagnosis.verdict import Diagnoser
from loadtop.model import Frame
from loadtop.moment import Measurer, Moment
from loadtop.monitor import Clock, SystemClock


def moments(frames: Iterable[Frame]) -> Iterator[Moment]:
    """Rates and diagnosis of recorded frames, as the live test computed them."""
    measurer, diagnoser = Measurer(), Diagnoser()
    for frame in frames:
        measured = measurer.measure(frame)
        yield Moment(measured, diagnoser.diagnose(measured))


class ReplayFeed:
    """Shows recorded frames at the distance at which they were taken. Commands change nothing: it is over."""

    def __init__(self, title: str, interval_s: float, frames: Iterable[Frame], clock: Clock | None = None) -> None:
        self.title = title
        self.interval_s = interval_s
        self.recording = ""
        self._frames = frames
        self._clock = clock or SystemClock()

    async def run(self, show: Callable[[Moment], None]) -> None:
        began = self._clock.monotonic()
        for moment in moments(self._frames):
            await self._clock.sleep(max(0.0, began + moment.at - self._clock.monotonic()))
            show(moment)

    def command(self, command: Command) -> None:
        """Nothing can be changed in what has been."""
