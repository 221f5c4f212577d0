"""What a sweep found: knee, limit and setting, as figures and as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadtop.analysis.tune.knee import Knee, find_knee, limit_of
from loadtop.analysis.tune.sizing import Sizing, size
from loadtop.analysis.tune.step import StepResult


@dataclass(frozen=True, slots=True)
class Outcome:
    """``results`` in the order in which they were measured. ``limit`` is the step whose verdict is the limit;
    ``reason`` why the sweep went no further, where that is known."""

    results: tuple[StepResult, ...]
    knee: Knee | None
    limit: StepResult | None
    sizing: Sizing | None
    reason: str = ""

    @classmethod
    def of(cls, results: Sequence[StepResult], reason: str = "") -> "Outcome":
        """Everything that follows from the results."""
        knee = find_knee(results)
        limit = limit_of(results, knee)
        return cls(tuple(results), knee, limit, size(results, knee, limit), reason)

    def into(self, figures: dict[str, Any]) -> dict[str, Any]:
        """The JSON summary with the steps as far as they were steady, ``knee`` and ``sizing``."""
        return {**figures, "steps": [result.as_json() for result in self.results], **self.found()}

    def found(self) -> dict[str, Any]:
        """``knee`` and ``sizing`` of the JSON summary."""
        return {
            "knee": None if self.knee is None else self.knee.as_json(),
            "sizing": None if self.sizing is None else self.sizing.as_json(),
        }
