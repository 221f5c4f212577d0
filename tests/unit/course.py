"""A test as it continues, interval by interval, from generated samples to the diagnosis, and on to its totals."""

import json
from collections.abc import Callable
from typing import Any

from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.diagnosis.finding import Diagnosis, Evidence
from loadtop.model import Frame, GeneratorSample, HostState, Latencies, LoadSample
from loadtop.model.histogram import distribution
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from loadtop.rates.measured import Measurer
from loadtop.reports.text import report
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS

Counted = Callable[[int], Any]

FULL: dict[str, Any] = {"busy": (100.0, 98.0), "running": 9, "cpu_stall": 60.0}
"""A machine whose processors are full."""


def counted(read: Counted) -> Counted:
    """A raw value that continues with the number of the interval."""
    return read


def named(diagnosis: Diagnosis) -> str:
    return diagnosis.verdict.bottleneck


def evidence(diagnosis: Diagnosis, metric: str) -> Evidence:
    return next(item for item in diagnosis.verdict.evidence if item.metric == metric)


def generator(*, cpu_s: float = 0.2, delay_s: float = 0.001, **others: Any) -> Counted:
    """A generator that takes so many CPU seconds in each interval. What can be called of ``others`` are counters."""

    def sample(number: int) -> GeneratorSample:
        values: dict[str, Any] = {name: value(number) if callable(value) else value for name, value in others.items()}
        return GeneratorSample((cpu_s * number,), delay_s, **values)

    return sample


def served(rps: float, *milliseconds: float, c: int = 20, **changes: Any) -> dict[str, Any]:
    """A load of ``c`` connections, and the times of its requests."""
    latencies = Latencies(distribution([round(1000 * each) for each in milliseconds]))
    return {"rps": rps, "latencies": latencies, "concurrency": c, "in_flight": c, "connections": c, **changes}


def frame_of(number: int, load: LoadSample | None, *hosts: HostState, marks: tuple[str, ...] = ()) -> Frame:
    """What is known in the second ``number``."""
    return Frame(number, float(number), 1_700_000_000.0 + number, load, hosts, marks)


class Course:
    """Each call is one interval and gives the diagnosis after it. Entries of ``changes`` and ``load`` that can be
    called are given the interval's number, so that counters go on."""

    def __init__(self, machine: Any, load: Any) -> None:
        self.machine, self.load = machine, load
        self.measurer, self.diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
        self.number = -1

    def go(self, *, cpu: float = 20.0, load: dict[str, Any] | None = None, **settings: Any) -> Diagnosis:
        self.number += 1
        if "changes" in settings:
            settings["changes"] = self._now(settings["changes"])
        sample = self.load.sample(cpu=cpu, **self._now(load or {}))
        frame = frame_of(self.number, sample, self.machine.state(**settings))
        return self.diagnoser.diagnose(self.measurer.measure(frame))

    def go_on(self, times: int, **settings: Any) -> Diagnosis:
        return [self.go(**settings) for _ in range(times)][-1]

    def _now(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value(self.number) if callable(value) else value for name, value in values.items()}


class Run:
    """A test whose intervals are added up as they go; without a ``load``, its machine is only watched."""

    def __init__(self, machine: Any, load: Any = None) -> None:
        self.machine, self.load = machine, load
        self.pipeline, self.totals = Pipeline(), Totals("http://web1/")
        self.number = -1

    def go(
        self, times: int = 1, *, load: dict[str, Any] | None = None, marks: tuple[str, ...] = (), **settings: Any
    ) -> Snapshot:
        """So many intervals alike; the last of them."""
        return [self._interval(load or {}, marks, settings) for _ in range(times)][-1]

    def see(self, **readings: Any) -> Snapshot:
        """One interval in which these parts of the machine are so, and these servers."""
        return self.go(changes=readings)

    def _interval(self, load: dict[str, Any], marks: tuple[str, ...], settings: dict[str, Any]) -> Snapshot:
        self.number += 1
        times = {"latencies": Latencies(distribution([1000, 2000, 3000]))}
        sample = None if self.load is None else self.load.sample(**times | load)
        snapshot = self.pipeline.snapshot(frame_of(self.number, sample, self.machine.state(**settings), marks=marks))
        self.totals.add(snapshot)
        return snapshot

    def json(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(json.dumps(self.totals.as_json()))
        return figures

    @property
    def host(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json()["hosts"][0]
        return found

    def result(self) -> RunResult:
        """What reports read, as it comes back from JSON."""
        return RunResult.from_data(json.loads(json.dumps(self.totals.result().as_data())))

    def report(self) -> str:
        return report(self.result())
