"""What the lab found, for the table at its end."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. ``seconds`` from the onset of the limit to the verdict on it."""

    scenario: str
    expected: str
    found: str
    seconds: float | None

    def __str__(self) -> str:
        seconds = "-" if self.seconds is None else f"{self.seconds:.1f} s"
        return f"{self.scenario:36} {self.expected:16} {self.found:16} {seconds}"


HEADING = f"{'scenario':36} {'expected':16} {'found':16} onset to verdict"
Report = Callable[[Result], None]
