"""A recording's moments, computed again, each beside what was shown live."""

from dataclasses import dataclass

from loadtop.diagnosis.finding import Diagnosis
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from loadtop.recording.reader import Session


@dataclass(frozen=True, slots=True)
class Seen:
    """A moment, and the verdict that was shown live where that was another one (empty otherwise)."""

    snapshot: Snapshot
    live: str = ""

    @property
    def at(self) -> float:
        return self.snapshot.at


class Track:
    """Reads on from one frame, also those that are written meanwhile.

    What the diagnosis remembers begins there as well. Where that is not the first frame, a finding may have begun
    before: as long as the verdict is the one that was shown live, its own beginning is taken over.
    """

    def __init__(self, session: Session, index: int, *, alone: bool = False) -> None:
        """``index`` counts frames from 1. ``alone``: too little is read for a diagnosis to remember anything, so it is
        the one that was shown live."""
        self._session = session
        self._alone = alone
        self._whole = index <= 1
        self._frames = session.frames_from(index)
        self._verdicts = session.verdicts_from(index)
        self._live: tuple[float, Diagnosis] | None = None
        self._pipeline = Pipeline()
        self._last: float | None = None
        self._count = session.count

    def next(self) -> Seen | None:
        """The next moment; ``None`` where there is none so far."""
        frame = next(self._frames, None)
        if frame is None:
            if self._session.count <= self._count:
                return None
            self._count = self._session.count
            index = 1 if self._last is None else self._session.index(self._last) + 1
            self._frames, self._verdicts = self._session.frames_from(index), self._session.verdicts_from(index)
            frame = next(self._frames, None)
            if frame is None:
                return None
        self._last = frame.at
        snapshot, live = self._pipeline.snapshot(frame), self._shown_live(frame.at)
        measured, diagnosis = snapshot.measured, snapshot.diagnosis
        if live is None:
            return Seen(snapshot)
        if self._alone:
            return Seen(Snapshot(measured, live))
        if _name(live) == _name(diagnosis):
            return Seen(snapshot if self._whole else Snapshot(measured, live))
        return Seen(snapshot, _name(live))

    def _shown_live(self, at: float) -> Diagnosis | None:
        while self._live is None or self._live[0] < at:
            self._live = next(self._verdicts, None)
            if self._live is None:
                return None
        return self._live[1] if self._live[0] == at else None


def _name(diagnosis: Diagnosis) -> str:
    verdict = diagnosis.verdict
    return f"{verdict.bottleneck} on {verdict.host}" if verdict.host else verdict.bottleneck
