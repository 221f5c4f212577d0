"""The mean and the extremes of a gauge or a rate over the intervals in which it was measured."""


class Statistic:
    """Adds values up in constant memory. What was never measured is ``None`` in the summary, not 0."""

    __slots__ = ("count", "highest", "lowest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.lowest = 0.0
        self.highest = 0.0

    def add(self, value: float | None) -> None:
        """Count one interval's value; ``None`` (not measured) counts as no interval."""
        if value is None:
            return
        self.lowest = min(self.lowest, value) if self.count else value
        self.highest = max(self.highest, value) if self.count else value
        self.count += 1
        self.total += value

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    def as_json(self) -> dict[str, float] | None:
        """``{"mean", "min", "max"}`` to three decimals, or ``None``."""
        if not self.count:
            return None
        mean = self.total / self.count
        return {"mean": round(mean, 3), "min": round(self.lowest, 3), "max": round(self.highest, 3)}
