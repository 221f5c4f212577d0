"""siege: a line for each request while it runs (verbose), a summary at the end, as text or as JSON."""

import re
from dataclasses import replace

from loadtop.engines.figures import Figures, number_after, timed
from loadtop.model import Failures, StatedTimes

_REQUEST = re.compile(r"HTTP/\d(?:\.\d)?\s+(\d{3})\s+([\d.]+) secs:\s+(\d+) bytes ==>")
_SUMMARY = re.compile(r"\s*[{\"]*\s*\"?([A-Za-z][A-Za-z _]+?)\"?:\s+([\d.]+)(?: .*)?,?$")
_MEGABYTE = 1024 * 1024


class Siege:
    """One run of siege. Its summary counts transactions in whole, megabytes and seconds to two places."""

    name = "siege"

    def __init__(self, argv: tuple[str, ...]) -> None:
        users, rounds = number_after(argv, "-c", "--concurrent"), number_after(argv, "-r", "--reps")
        self.figures = Figures(concurrency=users, target_requests=users * rounds if users and rounds else None)
        self._requests = self._wrong = self._bytes = 0
        self._times = StatedTimes("total")

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only siege prints such a line."""
        return line.startswith("** SIEGE ")

    def read(self, line: str) -> None:
        """Take the next line."""
        if request := _REQUEST.match(line):
            self._requests += 1
            self._wrong += not 200 <= int(request[1]) < 300
            self._bytes += int(request[3])
            if not self.figures.final:
                self.figures = replace(
                    self.figures, requests=self._requests, non_2xx=self._wrong, body_bytes=self._bytes
                )
        elif found := _SUMMARY.match(line):
            self._read_summary(found[1].lower().replace("_", " "), float(found[2].rstrip(".")))

    def _read_summary(self, label: str, value: float) -> None:
        match label:
            case "transactions":
                self.figures = replace(self.figures, requests=int(value), final=True)
            case "elapsed time":
                self.figures = replace(self.figures, seconds=value)
            case "data transferred":
                self.figures = replace(self.figures, body_bytes=round(value * _MEGABYTE))
            case "transaction rate":
                self.figures = replace(self.figures, rps=value)
            case "failed transactions":
                self.figures = replace(self.figures, failures=Failures.undivided(int(value)))
            case "response time":
                self._put(mean_ms=1000 * value)
            case "longest transaction":
                self._put(max_ms=1000 * value)
            case "shortest transaction":
                self._put(min_ms=1000 * value)
            case _:
                pass

    def _put(self, **times: float) -> None:
        self._times = timed(self._times, {name: round(value, 3) for name, value in times.items()})
        # Its times of no transaction are zeros that mean nothing.
        self.figures = replace(self.figures, times=(self._times,) if self.figures.requests else ())
