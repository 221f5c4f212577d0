"""One snapshot per interval: what was measured and what it means."""

from dataclasses import dataclass

from loadtop.diagnosis.finding import Diagnosis
from loadtop.rates.measured import Measured


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A measured frame and what it means."""

    measured: Measured
    diagnosis: Diagnosis

    @property
    def at(self) -> float:
        return self.measured.frame.at
