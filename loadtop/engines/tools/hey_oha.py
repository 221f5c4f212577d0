"""hey and oha: a summary at the end (hey's requester/print.go, oha's src/printer.rs). oha's live view is not read."""

import re

from loadtop.engines.tools.reader import ToolReader, bytes_of, decimal, milliseconds, number_after, seconds
from loadtop.model import Failures

_VALUE = re.compile(r"\s+(Total|Slowest|Fastest|Average|Requests/sec|Total data):\s+(\S+)(.*)$")
_PERCENTILE = re.compile(r"\s+(\d+(?:\.\d+)?)%+ in (\S+ \S+)$")
_STATUS = re.compile(r"\s+\[(\d{3})\]\s+(\d+) responses$")
_ERROR = re.compile(r"\s+\[(\d+)\]\s+\S")
_ABORTED = " aborted due to deadline"
"""Requests in flight when oha's time was over. They have not failed, and oha's own success rate leaves them out too."""

_TIMES = {"Slowest": "max_ms", "Fastest": "min_ms", "Average": "mean_ms"}
_PERCENTS = {
    50.0: "p50_ms", 75.0: "p75_ms", 90.0: "p90_ms", 95.0: "p95_ms", 99.0: "p99_ms", 99.9: "p99_9_ms",
    99.99: "p99_99_ms",
}  # fmt: skip


class Hey(ToolReader):
    """One run of hey."""

    name = "hey"
    start = re.compile(r"\s+Total:\t[\d.]+ secs$")

    def __init__(self, argv: tuple[str, ...]) -> None:
        super().__init__(argv)
        self._statuses: dict[int, int] = {}
        self._errors = 0

    def _read_command(self, argv: tuple[str, ...]) -> None:
        timed = any(word.startswith(("-z", "--duration")) for word in argv)
        self._set(
            concurrency=number_after(argv, "-c") or 50,
            target_requests=None if timed else number_after(argv, "-n") or 200,
            keepalive={"-disable-keepalive", "--disable-keepalive"}.isdisjoint(argv),
        )

    def _read(self, line: str) -> None:
        if found := _VALUE.match(line):
            self._read_value(found[1], found[2], found[3].strip())
        elif (found := _PERCENTILE.match(line)) and float(found[1]) in _PERCENTS:
            self._set_time(_PERCENTS[float(found[1])], found[2])
        elif found := _STATUS.match(line):
            self._statuses[int(found[1])] = int(found[2])
            self._count()
        elif (found := _ERROR.match(line)) and self.final and not line.endswith(_ABORTED):
            self._errors += int(found[1])
            self._count()

    def _read_value(self, label: str, value: str, unit: str) -> None:
        if label in _TIMES:
            self._set_time(_TIMES[label], f"{value} {unit}")
        elif label == "Total":
            self.seconds = seconds(f"{value} {unit}")
        elif label == "Requests/sec":
            # Errors are printed after this line, and only if there are any.
            self._set(stated_rps=decimal(value), failures=Failures.undivided(0))
            self.final = True
        else:
            self._set(body_bytes=bytes_of(value, unit))

    def _count(self) -> None:
        answered = sum(self._statuses.values())
        self._set(
            requests=answered + self._errors,
            non_2xx=answered - sum(count for status, count in self._statuses.items() if 200 <= status < 300),
            failures=Failures.undivided(self._errors),
        )

    def _set_time(self, name: str, text: str) -> None:
        self._set_times(**{name: milliseconds(text)})
        if self._times["total"].mean_ms is None:  # no request was answered: the mean is NaN, the extremes mean nothing
            self._set(stated=())


class Oha(Hey):
    """One run of oha, whose summary reads like hey's."""

    name = "oha"
    start = re.compile(r"\s*Success rate:")
