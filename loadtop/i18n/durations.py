"""Times and durations in the reader's language."""

from loadtop.i18n.message import tr


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
