"""Numbers, durations and points of time as people read them."""

from typing import Any

from loadtop.i18n.message import tr


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


def duration(seconds: float) -> str:
    """Return a duration short enough for a title: ``9 s``, ``2 min 5 s``, ``1 h 12 min``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return tr("{s} s", s=whole)
    if whole < 3600:
        if whole % 60:
            return tr("{min} min {s} s", min=whole // 60, s=whole % 60)
        return tr("{min} min", min=whole // 60)
    return tr("{h} h {min} min", h=whole // 3600, min=whole % 3600 // 60)


def clock(seconds: float) -> str:
    """Return a point on the session's axis: ``00:42``, ``1:02:03``."""
    whole = max(0, int(seconds))
    if whole < 3600:
        return f"{whole // 60:02d}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
