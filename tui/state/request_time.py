"""Where the time of requests went lately: the parts of a request's mean time, and how they developed."""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from loadtop.analysis.totals.breakdown import BreakdownTotals
from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from tui.drawing.graph import Ring

RECENT = 5  # intervals whose mean is shown: the parts of a single one jump
HUES = 5  # parts with a colour and a filling of their own; the others share one
LEAST = 0.05  # share of the mean time from which a part gets its own

Place = tuple[Part, str | None, str | None]


class PartOfTime(NamedTuple):
    """A part of the mean time in ms. ``part`` is ``None`` for what remains unexplained, which may be negative. ``hue``
    numbers the parts with a colour of their own, and is :data:`HUES` for all others."""

    part: Part | None
    host: str | None
    name: str | None
    ms: float
    kind: str | None = None
    exchanges: float | None = None
    service_host: str | None = None
    hue: int = HUES


class Times(NamedTuple):
    """The mean response time in ms, its parts, the largest first, and the parts that cannot be measured here."""

    mean_ms: float
    parts: tuple[PartOfTime, ...]
    unknown: tuple[Part, ...]


class RequestTime:
    """Follows the breakdown of each interval. A part keeps its hue for the whole session."""

    def __init__(self) -> None:
        self.course = Ring[tuple[float, ...]]()
        """Per interval, ms of each hue, of the other parts, and of what remains unexplained (at least 0)."""
        self._recent = deque[Breakdown | None](maxlen=RECENT)
        self._hues: dict[Place, int] = {}
        self._now: Times | None = None
        self._is_new = False
        self.known = False
        """Whether there have been parts at all."""

    def add(self, found: Breakdown | None, *, over: bool) -> None:
        """``over``: the load has ended, and what was known of it stays."""
        known = found is not None and found.shares is not None
        if not over or known:
            self._recent.append(found if known else None)
            self._is_new = True
        if found is None or found.shares is None:
            self.course.append(None)
            return
        self.known = True
        for share in sorted(found.shares, key=lambda share: -(share.ms or 0.0)):
            if (share.ms or 0.0) >= LEAST * found.mean_ms > 0 and len(self._hues) < HUES:
                self._hues.setdefault(_place(share.part, share.host, share.name), len(self._hues))
        self.course.append(self._by_hue(found.shares, found.unexplained_ms or 0.0))

    def now(self) -> Times | None:
        """The mean over the newest intervals; ``None`` while nothing is known."""
        if self._is_new:
            self._now, self._is_new = self._mean(), False
        return self._now

    def _by_hue(self, shares: Iterable[Share], unexplained_ms: float) -> tuple[float, ...]:
        sums = [0.0] * (HUES + 1)
        for share in shares:
            sums[self._hue(share.part, share.host, share.name)] += share.ms or 0.0
        return (*sums, max(0.0, unexplained_ms))

    def _hue(self, part: Part, host: str | None, name: str | None) -> int:
        return self._hues.get(_place(part, host, name), HUES)

    def _mean(self) -> Times | None:
        totals = BreakdownTotals()
        for each in self._recent:
            totals.add(each)
        found = totals.as_json()
        if found is None or found["parts"] is None:
            return None
        parts = [
            PartOfTime(
                Part(each["part"]),
                each["host"],
                each["name"],
                each["ms"],
                each.get("kind"),
                each.get("exchanges"),
                each.get("service_host"),
                self._hue(Part(each["part"]), each["host"], each["name"]),
            )
            for each in found["parts"]
            if each["ms"]
        ]
        parts.append(PartOfTime(None, None, None, found["unexplained_ms"]))
        unknown = dict.fromkeys(Part(each["part"]) for each in found["parts"] if each["ms"] is None)
        return Times(found["mean_ms"], tuple(sorted(parts, key=lambda part: -part.ms)), tuple(unknown))


def _place(part: Part, host: str | None, name: str | None) -> Place:
    """The parts with a separate hue. All locks share one: there may be a new file for each session."""
    return part, host, None if part is Part.LOCK else name
