"""One recording, read for comparing: every number of every interval in which load ran."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from loadtop.comparing.significance import LEAST, Series
from loadtop.metrics import HOST_METRICS, LOAD_METRICS
from loadtop.model import LoadSample, LoadState
from loadtop.moment import Moment
from loadtop.reporting.settings import LOAD, Setting, Settings
from loadtop.summary.builder import SummaryBuilder

Key = tuple[str, str]
"""Of what (:data:`LOAD` or a machine) and the metric's name."""

JUDGED = ("rps", "failed", "non_2xx", "received_kb_s", "p50", "p90", "p99")
"""The load's numbers that are compared: more percentiles would say the same again."""


@dataclass(slots=True)
class Run:
    """A run. ``at`` is seconds since its load began, one for each interval, and ``began`` when that was in
    seconds of the session; ``ended``: the load's end is in it; ``shapes`` is what load ran by step."""

    name: str
    path: str
    started: str = ""
    figures: dict[str, Any] = field(default_factory=dict[str, Any])
    settings: list[Setting] = field(default_factory=list[Setting])
    roles: dict[str, str] = field(default_factory=dict[str, str])
    command_line: tuple[str, ...] = ()
    began: float = 0.0
    ended: bool = False
    at: "array[float]" = field(default_factory=lambda: array("d"))
    steps: "array[int]" = field(default_factory=lambda: array("l"))
    shapes: dict[int, str] = field(default_factory=dict[int, str])
    values: "dict[Key, array[float]]" = field(default_factory=dict[Key, "array[float]"])

    @property
    def duration(self) -> float:
        """Seconds of load."""
        return self.at[-1] if self.at else 0.0

    def series(self, key: Key, first: float, last: float, step: int | None = None) -> Series:
        """The intervals that lie within these seconds (or of a step); NaN is not measured."""
        known = self.values.get(key)
        if known is None:
            return np.empty(0)
        at, steps = np.asarray(self.at), np.asarray(self.steps)
        wanted = (at > first) & (at <= last) & self._whole()
        if step is not None:
            wanted &= steps == step
            # The interval in which a step begins belongs to the step before as well.
            wanted &= np.concatenate(([True], steps[1:] == steps[:-1]))
        return np.asarray(known)[wanted]

    def _whole(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Which intervals had load from end to end: not the first, nor the one in which it ended."""
        whole = np.ones(len(self.at), dtype=np.bool_)
        if len(self.at) > 2 * LEAST:
            whole[0] = False
            whole[-1] = not self.ended
        return whole

    def renamed(self, names: dict[str, str]) -> None:
        """Call machines otherwise, so that those of several runs can be told to be the same."""
        self.values = {(names.get(of, of), name): known for (of, name), known in self.values.items()}
        self.settings = [Setting(names.get(s.subject, s.subject), s.name, s.value) for s in self.settings]
        self.roles = {names.get(host, host): role for host, role in self.roles.items()}


def read(path: Path, url: str, command_line: tuple[str, ...], moments: Iterable[Moment]) -> Run:
    """Read a recording's moments through."""
    run = Run(path.stem, str(path), command_line=command_line)
    summary, settings = SummaryBuilder(url or None), Settings()
    before: LoadSample | None = None
    last = 0.0
    for moment in moments:
        summary.add(moment)
        settings.add(moment)
        load = moment.measured.load
        if _counts(load, before):
            run.began = run.began if run.at else last
            _add(run, moment, moment.at - run.began)
        run.ended = load is not None and load.state.ended
        before, last = load, moment.at
    run.figures = summary.as_json()
    run.started = run.figures["started"]
    run.settings, run.roles = settings.all(), settings.roles
    return run


def _counts(load: LoadSample | None, before: LoadSample | None) -> bool:
    """Whether the interval was one of load, as the summary counts."""
    if load is None:
        return True
    if load.state in (LoadState.STARTING, LoadState.WARMUP):
        return False
    return not load.state.ended or (before is not None and not before.state.ended)


def _add(run: Run, moment: Moment, at: float) -> None:
    load = moment.measured.load
    run.at.append(at)
    run.steps.append(0 if load is None else load.step)
    if load is not None and not load.state.ended:
        shape = f"{load.rate:g}/s" if load.rate is not None else f"c={load.concurrency}"
        run.shapes.setdefault(load.step, shape)
    for metric in LOAD_METRICS if load is not None else ():
        if metric.name in JUDGED:
            _put(run, (LOAD, metric.name), metric.read(moment.measured))
    for host in moment.measured.hosts:
        for known in HOST_METRICS:
            _put(run, (host.name, known.name), known.read(host))


def _put(run: Run, key: Key, value: float | None) -> None:
    series = run.values.get(key)
    if series is None:
        series = run.values[key] = array("d")
    missing = len(run.at) - 1 - len(series)
    if missing:
        series.extend([float("nan")] * missing)
    series.append(float("nan") if value is None else float(value))
