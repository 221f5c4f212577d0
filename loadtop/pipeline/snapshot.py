"""One snapshot per interval: the frame, its rates, its diagnosis and the breakdown of its requests' time. Everything
downstream takes it."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from loadtop.diagnosis.breakdown import Breakdown, breakdown
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import Frame, LoadSample
from loadtop.model.secrets import blanked
from loadtop.rates.measured import Measured, Measurer
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS


class Snapshot(Struct, frozen=True):
    """A frame with its rates (``measured``), its diagnosis, and where the time of its requests goes."""

    measured: Measured
    diagnosis: Diagnosis
    breakdown: Breakdown | None = None

    @property
    def at(self) -> float:
        """Seconds since the session began."""
        return self.measured.frame.at

    @property
    def load(self) -> LoadSample | None:
        return self.measured.frame.load


class Pipeline:
    """Turns frames into snapshots. What it remembers comes from the frames before, so a replay gives what was live.

    Secrets in the texts of a frame are blanked here: everything that shows or writes figures takes snapshots.
    """

    def __init__(self) -> None:
        self._measurer = Measurer(KINDS)
        self._diagnoser = Diagnoser(VERDICTS, DEMANDS)

    def snapshot(self, frame: Frame) -> Snapshot:
        measured = self._measurer.measure(blanked(frame))
        return Snapshot(measured, self._diagnoser.diagnose(measured), breakdown(measured))


def snapshots(frames: Iterable[Frame]) -> Iterator[Snapshot]:
    """The snapshots of recorded frames, from the first on."""
    return map(Pipeline().snapshot, frames)
