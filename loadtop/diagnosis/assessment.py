"""How one resource stands in one interval, and the latch that makes a finding of it without flapping."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from loadtop.diagnosis.finding import Evidence, Finding
from loadtop.i18n import Message

RAISE_OF = 3
RAISE_COUNT = 2
"""A resource is found full when it was over its threshold in two of the last three intervals.

Every published duration is minutes (netdata 10 min, PCP 2 min); a load test lasts seconds, so this one is our own,
checked against the recorded laboratory runs.
"""

ADVICE_EVERY = 3
"""Intervals for which an advice stays as it is, numbers and all, so that it can be read and is recorded once."""

CLEAR_AFTER = 3
"""Intervals in a row below the lower threshold after which a finding is dropped."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """One resource in one interval.

    ``over``: above the threshold at which it counts as full. ``held``: still above the lower one at which a finding
    stays. ``confidence`` from 0 to 1 is the share of the signals for this resource that were measured and agree.
    ``certain``: one interval is enough, as the system itself has said so (an error, a limit that cannot be met).
    ``advice`` may be a function, which is called only where the advice is shown: making it takes time.
    """

    bottleneck: str
    host: str | None
    over: bool
    held: bool
    evidence: tuple[Evidence, ...]
    advice: Message | Callable[[], Message]
    confidence: float
    certain: bool = False


def exceeds(value: float | None, threshold: float) -> bool | None:
    """A vote: whether the value is above the threshold; ``None`` where it was not measured."""
    return None if value is None else value > threshold


def agreement(*votes: bool | None) -> float:
    """Confidence from supporting signals: 0.7 for the decisive ones, the rest by how many of ``votes`` agree.

    A vote is ``None`` where its signal could not be measured: it counts as half, neither for nor against. The weights
    are our own.
    """
    if not votes:
        return 0.7
    worth = sum(0.5 if vote is None else float(vote) for vote in votes)
    return round(0.7 + 0.3 * worth / len(votes), 3)


SILENT_FOR = 7
"""Intervals without a sample of its machine in which a finding stays up before those begin to count: a machine that
swaps may not answer for seconds. Our own."""


class Latch:
    """Remembers one resource of one host: raised quickly, cleared slowly, never flapping."""

    def __init__(self, needed: int = RAISE_COUNT) -> None:
        """``needed`` of the last :data:`RAISE_OF` intervals must be over the threshold."""
        self._needed = needed
        self._over: deque[tuple[float, bool]] = deque(maxlen=RAISE_OF)
        self._below = 0
        self._unknown = 0
        self._since: float | None = None
        self._newest: Assessment | None = None
        self._advice: Message | None = None
        self._advised = 0

    def update(self, began: float, at: float, assessment: Assessment | None, *, silent: bool = False) -> Finding | None:
        """The finding that holds after the interval from ``began`` to ``at`` (seconds of the session).

        ``assessment`` is ``None`` where nothing was measured: that neither raises nor clears before its time.
        ``silent``: because no sample of the machine came.
        """
        over = assessment is not None and assessment.over
        if assessment is not None:
            self._over.append((began, over))
        self._unknown = self._unknown + 1 if assessment is None else 0
        if assessment is not None and (assessment.held or over):
            self._below = 0
        elif not silent or self._unknown > SILENT_FOR:
            self._below += 1
        if assessment is not None and (over or self._newest is None):
            self._newest = assessment
        if self._unknown >= CLEAR_AFTER:
            self._over.clear()
        if self._since is None:
            raised = [start for start, was_over in self._over if was_over]
            if len(raised) >= self._needed or (assessment is not None and over and assessment.certain):
                self._since = raised[0] if len(raised) >= self._needed else began
        elif self._below >= CLEAR_AFTER:
            self._since = None
            self._newest = assessment
            self._advised = 0
            self._over.clear()
        if self._since is None or self._newest is None:
            return None
        if self._advice is None or not self._advised:
            advice = self._newest.advice
            self._advice, self._advised = advice if isinstance(advice, Message) else advice(), ADVICE_EVERY
        self._advised -= 1
        now = self._newest
        return Finding(
            now.bottleneck, now.host, self._since, at - self._since, now.confidence, now.evidence, self._advice
        )
