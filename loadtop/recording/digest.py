"""A recording added up as far as it goes, kept in it: reports and comparisons need not read a day's frames again.

It says nothing that the frames do not say: it is what reading them would give, and only the program that wrote it takes
it at its word. Any other (a newer version, another diagnosis) reads the frames.
"""

import zlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import loadtop
from loadtop import model
from loadtop.analysis.compare import course
from loadtop.analysis.totals import host, load, servers, settings, statistic, steps, timeline, totals
from loadtop.analysis.tune import step
from loadtop.diagnosis import assessment, diagnoser, finding, forecast, verdict, waiting
from loadtop.model import Frame
from loadtop.model.secrets import url_without_secrets
from loadtop.pipeline import snapshot
from loadtop.pipeline.snapshot import Pipeline
from loadtop.rates import measured as measured_model
from loadtop.rates import records as rate_model
from loadtop.recording.definitions import Row, summed
from loadtop.recording.graph import Graph
from loadtop.reports import curves, story

EVERY = 256
"""Intervals after which it is written again: what a report of a recording that was cut short has to read itself."""

_GRAPH = Graph(
    (
        model, rate_model, measured_model, snapshot,
        assessment, course, finding, forecast, diagnoser, verdict, waiting, curves, settings, story,
        totals, host, load, servers, statistic, steps, timeline, step,
    ),
    text=url_without_secrets,
)  # fmt: skip

_MAKERS = (
    "model",
    "rates",
    "pipeline",
    "analysis",
    "diagnosis",
    "reports",
)
"""Files and directories of this package that decide what a digest says."""


class Digest:
    """Takes every frame once, in order, in constant memory. ``frame`` is the number of the last one in the file."""

    def __init__(self) -> None:
        self.frame = 0
        self.story, self.course = story.Story(), course.Course()
        self._pipeline = Pipeline()

    def add(self, frame: Frame) -> None:
        """Measure, diagnose and count the next one."""
        seen = self._pipeline.snapshot(frame)
        self.story.add(seen)
        self.course.add(seen)
        self.frame += 1

    def row(self) -> Row:
        """What is written, without secrets."""
        parts = (self.story, self.course, self._pipeline)
        return summed((1, self.frame, maker(), zlib.compress(_GRAPH.written(parts).encode(), 3)))

    @classmethod
    def of(cls, row: Row) -> "Digest | None":
        """What was written; ``None`` where another program did it. ``row`` is without its check sum."""
        _, frame, made_by, stored = row
        if made_by != maker():
            return None
        try:
            parts: Any = _GRAPH.read(zlib.decompress(stored).decode())
            digest = cls()
            digest.frame = frame
            digest.story, digest.course, digest._pipeline = parts
        except (zlib.error, ValueError, TypeError, LookupError, AttributeError, RecursionError):
            return None
        return digest


@cache
def maker() -> str:
    """The version of this program, and a check sum of the code that decides what a digest says."""
    package = files(loadtop)
    total = 0
    for name in _MAKERS:
        total = _checksum(package.joinpath(name), total)
    return f"{loadtop.__version__} {total:08x}"


def _checksum(place: Traversable, total: int) -> int:
    if place.is_dir():
        for each in sorted(place.iterdir(), key=lambda each: each.name):
            total = _checksum(each, total)
        return total
    return zlib.crc32(place.read_bytes(), total) if place.name.endswith(".py") else total
