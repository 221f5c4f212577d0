"""One test as it is compared: its result, and its series as numbers."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from loadtop.analysis.compare.significance import LEAST, Sample, sample
from loadtop.analysis.totals.series import Key, Series
from loadtop.analysis.totals.settings import Setting
from loadtop.analysis.totals.totals import Json, RunResult


@dataclass(slots=True)
class Run:
    """A run by the name of its recording. ``series`` covers all of it; ``beginning`` the time that other runs have as
    well, where that is a small part of a long run."""

    path: Path
    result: RunResult
    series: Series
    settings: list[Setting]
    roles: dict[str, str]
    beginning: Series | None = None

    @classmethod
    def of(cls, path: Path, result: RunResult) -> "Run":
        """The run whose result this is."""
        return cls(path, result, Series.from_data(result.series), list(result.settings), dict(result.roles))

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def summary(self) -> Json:
        return self.result.summary

    @property
    def duration(self) -> float:
        """Seconds of load."""
        return self.series.duration

    def sample(self, key: Key, first: float, last: float, step: int | None = None) -> Sample | None:
        """One metric between two times in seconds of load, or in a step; ``None`` where it was not measured."""
        series = self.series if step is not None or self.beginning is None else self.beginning
        loaded = np.asarray(series.loaded, dtype=np.bool_)
        at, steps = np.asarray(series.at)[loaded] - series.began, np.asarray(series.steps)[loaded]
        wanted = (at > first) & (at <= last)
        if wanted.size > 2 * LEAST:
            # Load ran for a part only of the interval in which it began, and of that in which it ended.
            wanted[0] = False
            wanted[-1] &= not series.ended
        if step is not None:
            # The interval in which a step begins belongs to the step before as well.
            wanted &= (steps == step) & np.concatenate(([True], steps[1:] == steps[:-1]))
        return sample(np.asarray(series.of(*key))[loaded][wanted], series.width)

    def rename(self, names: dict[str, str]) -> None:
        """Give machines other names, so that those of several runs match."""
        for series in (self.series, self.beginning):
            if series is not None:
                series.rename(names)
        self.settings = [replace(each, subject=names.get(each.subject, each.subject)) for each in self.settings]
        self.roles = {names.get(host, host): role for host, role in self.roles.items()}
