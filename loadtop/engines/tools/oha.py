"""oha: a summary at the end, as text (its src/printer.rs). Its window, which it shows in a terminal, is not read."""

import re
from dataclasses import replace

from loadtop.engines.figures import Figures, bytes_of, decimal, milliseconds, number_after, timed
from loadtop.model import Failures, StatedTimes

_LABEL = re.compile(r"\s+(Success rate|Total|Slowest|Fastest|Average|Requests/sec|Total data):\s+(\S+)(?: (\S+))?$")
_SERVED = re.compile(r"\s+(\d+\.\d+)% in (\S+ \S+)$")
_STATUS = re.compile(r"\s+\[(\d{3})\] (\d+) responses$")
_ERROR = re.compile(r"\s+\[(\d+)\] \S")
_CUT_OFF = " aborted due to deadline"
"""What was under way at the end of the time: no failure, and no part of oha's own success rate."""

_TIMES = {"Slowest": "max_ms", "Fastest": "min_ms", "Average": "mean_ms"}
_PERCENTS = {
    "50.00": "p50_ms",
    "75.00": "p75_ms",
    "90.00": "p90_ms",
    "95.00": "p95_ms",
    "99.00": "p99_ms",
    "99.90": "p99_9_ms",
    "99.99": "p99_99_ms",
}


class Oha:
    """One run of oha."""

    name = "oha"

    def __init__(self, argv: tuple[str, ...]) -> None:
        timed = any(word.startswith(("-z", "--duration")) for word in argv)
        self.figures = Figures(
            concurrency=number_after(argv, "-c") or (50 if argv else None),
            target_requests=None if timed or not argv else number_after(argv, "-n") or 200,
            keepalive="--disable-keepalive" not in argv if argv else None,
        )
        self._times = StatedTimes("total")
        self._statuses: dict[int, int] = {}
        self._errors = 0

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only oha prints such a line."""
        return line.strip().startswith("Success rate:")

    def read(self, line: str) -> None:
        """Take the next line."""
        if found := _LABEL.match(line):
            self._read_label(found[1], found[2], found[3] or "")
        elif (found := _SERVED.match(line)) and found[1] in _PERCENTS:
            self._put(_PERCENTS[found[1]], milliseconds(found[2]))
        elif found := _STATUS.match(line):
            self._statuses[int(found[1])] = int(found[2])
            self._count()
        elif (found := _ERROR.match(line)) and self.figures.final and not line.endswith(_CUT_OFF):
            self._errors += int(found[1])
            self._count()

    def _read_label(self, label: str, value: str, unit: str) -> None:
        if label in _TIMES:
            self._put(_TIMES[label], milliseconds(f"{value} {unit}"))
        elif label == "Total":
            duration = milliseconds(f"{value} {unit}")
            self.figures = replace(self.figures, seconds=None if duration is None else duration / 1000)
        elif label == "Requests/sec":
            # What follows says of no error where there is none.
            self.figures = replace(self.figures, rps=decimal(value), failures=Failures.undivided(0), final=True)
        elif label == "Total data":
            self.figures = replace(self.figures, body_bytes=bytes_of(value, unit))

    def _count(self) -> None:
        answered = sum(self._statuses.values())
        self.figures = replace(
            self.figures,
            requests=answered + self._errors,
            non_2xx=answered - sum(count for status, count in self._statuses.items() if 200 <= status < 300),
            failures=Failures.undivided(self._errors),
        )

    def _put(self, name: str, value: float | None) -> None:
        self._times = timed(self._times, {name: value})
        # Where no request was answered, these are NaN and infinite.
        self.figures = replace(self.figures, times=() if self._times.mean_ms is None else (self._times,))
