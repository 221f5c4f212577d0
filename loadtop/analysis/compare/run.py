"""One recording, read for comparing."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from loadtop.analysis.compare.course import Course, Key
from loadtop.analysis.compare.significance import LEAST, Sample, sample
from loadtop.analysis.totals.settings import Setting, Settings
from loadtop.analysis.totals.totals import SummaryBuilder
from loadtop.pipeline.snapshot import Snapshot


@dataclass(slots=True)
class Run:
    """A run. ``course`` has the numbers of every interval in which load ran, of several together where it was long;
    ``beginning`` those of the time that other runs have as well, where that is a small part of it."""

    name: str
    path: str
    started: str = ""
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    settings: list[Setting] = field(default_factory=list[Setting])
    roles: dict[str, str] = field(default_factory=dict[str, str])
    command_line: tuple[str, ...] = ()
    course: Course = field(default_factory=Course)
    beginning: Course | None = None

    @property
    def duration(self) -> float:
        """Seconds of load."""
        return self.course.at[-1] if self.course.at else 0.0

    def sample(self, key: Key, first: float, last: float, step: int | None = None) -> Sample | None:
        """A number within these seconds (or in a step)."""
        course = self.course if step is not None or self.beginning is None else self.beginning
        known = course.series(key)
        if known is None:
            return None
        at, steps = np.asarray(course.at), np.asarray(course.steps)
        wanted = (at > first) & (at <= last) & _whole(course)
        if step is not None:
            wanted &= steps == step
            # The interval in which a step begins belongs to the step before as well.
            wanted &= np.concatenate(([True], steps[1:] == steps[:-1]))
        return sample(np.asarray(known)[wanted], course.width)

    def renamed(self, names: dict[str, str]) -> None:
        """Call machines otherwise, so that those of several runs can be told to be the same."""
        for course in (self.course, self.beginning):
            if course is not None:
                course.renamed(names)
        self.settings = [Setting(names.get(s.subject, s.subject), s.name, s.value) for s in self.settings]
        self.roles = {names.get(host, host): role for host, role in self.roles.items()}


def told(path: Path, command_line: tuple[str, ...], summary: SummaryBuilder, settings: Settings, course: Course) -> Run:
    """A run of which all of this is known."""
    run = Run(path.stem, str(path), command_line=command_line, course=course)
    run.figures = summary.as_json()
    run.started = run.figures["started"]
    run.settings, run.roles = settings.all(), settings.roles
    return run


def read(path: Path, url: str, command_line: tuple[str, ...], snapshots: Iterable[Snapshot]) -> Run:
    """Read a recording's moments through."""
    summary, settings, course = SummaryBuilder(url or None), Settings(), Course()
    for snapshot in snapshots:
        summary.add(snapshot)
        settings.add(snapshot)
        course.add(snapshot)
    return told(path, command_line, summary, settings, course)


def _whole(course: Course) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which points had load from end to end: not the first, nor the one in which it ended."""
    whole = np.ones(len(course.at), dtype=np.bool_)
    if whole.size > 2 * LEAST:
        whole[0] = False
        whole[-1] = not course.ended
    return whole
