"""Numbers as people read them in reports and tables."""

from typing import Any


def figure(value: float | None) -> str:
    """A number in at most four digits or thousands; ``-`` for what was not measured."""
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value)}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def mean_figure(statistic: dict[str, Any] | None) -> str:
    """The mean of a statistic of the JSON summary."""
    return figure(None if statistic is None else statistic["mean"])
