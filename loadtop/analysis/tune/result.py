"""What a sweep found: the knee, the limit and the setting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadtop.analysis.tune.knee import Knee, find_knee, limit_of
from loadtop.analysis.tune.sizing import Sizing, size
from loadtop.analysis.tune.step import StepResult
from loadtop.i18n import Message


@dataclass(frozen=True, slots=True)
class TuneResult:
    """``steps`` in the order in which they were measured. ``limit`` is the step whose verdict is the limit; ``reason``
    says why the sweep went no further, where that is known."""

    steps: tuple[StepResult, ...]
    knee: Knee | None
    limit: StepResult | None
    sizing: Sizing | None
    reason: Message | None = None

    @classmethod
    def of(cls, steps: Sequence[StepResult], reason: Message | None = None) -> "TuneResult":
        """Everything that follows from the steps."""
        knee = find_knee(steps)
        limit = limit_of(steps, knee)
        return cls(tuple(steps), knee, limit, size(steps, knee, limit), reason)

    def into(self, summary: dict[str, Any]) -> dict[str, Any]:
        """The JSON summary with these steps, as far as they were steady, ``knee`` and ``sizing``."""
        return {**summary, "steps": [step.as_json() for step in self.steps], **self.as_json()}

    def as_json(self) -> dict[str, Any]:
        """``knee`` and ``sizing`` of the JSON summary."""
        return {
            "knee": None if self.knee is None else self.knee.as_json(),
            "sizing": None if self.sizing is None else self.sizing.as_json(),
        }
