"""A test as it goes on, interval by interval, from made-up samples to the diagnosis."""

from collections.abc import Callable
from typing import Any

from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import Frame
from loadtop.rates.measured import Measurer
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS

Counted = Callable[[int], Any]


def counted(read: Counted) -> Counted:
    """A raw value that goes on with the number of the interval."""
    return read


class Course:
    """Each call is one interval and gives the diagnosis after it. Entries of ``changes`` and ``load`` that can be
    called are given the interval's number, so that counters go on."""

    def __init__(self, machine: Any, load: Any, frame_of: Callable[..., Frame]) -> None:
        self.machine, self.load, self.frame_of = machine, load, frame_of
        self.measurer, self.diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
        self.number = -1

    def go(self, *, cpu: float = 20.0, load: dict[str, Any] | None = None, **settings: Any) -> Diagnosis:
        self.number += 1
        if "changes" in settings:
            settings["changes"] = self._now(settings["changes"])
        sample = self.load.sample(cpu=cpu, **self._now(load or {}))
        frame = self.frame_of(self.number, sample, self.machine.state(**settings))
        return self.diagnoser.diagnose(self.measurer.measure(frame))

    def go_on(self, times: int, **settings: Any) -> Diagnosis:
        return [self.go(**settings) for _ in range(times)][-1]

    def _now(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: value(self.number) if callable(value) else value for name, value in values.items()}
