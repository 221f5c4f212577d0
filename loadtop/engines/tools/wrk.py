"""wrk: nothing while it runs, a report at the end (its src/wrk.c, src/units.c). wrk2 prints the same."""

import re
from dataclasses import replace

from loadtop.engines.figures import Figures, decimal, milliseconds, number_after, timed
from loadtop.model import Failures, StatedTimes

_BEGIN = re.compile(r"Running (\S+) test @ ")
_CONNECTIONS = re.compile(r"\s*\d+ threads? and (\d+) connections?")
_LATENCY = re.compile(r"\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+%")
_SERVED = re.compile(r"\s+(\d+(?:\.\d+)?)%\s+([\d.]+\w+)")
_TOTAL = re.compile(r"\s*(\d+) requests in (\S+), ([\d.]+)([KMGTP]?)B read")
_ERRORS = re.compile(r"\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"\s*Non-2xx or 3xx responses: (\d+)")
_PERCENTS = {50.0: "p50_ms", 75.0: "p75_ms", 90.0: "p90_ms", 99.0: "p99_ms", 99.9: "p99_9_ms"}


class Wrk:
    """One run of wrk."""

    name = "wrk"

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.figures = Figures(concurrency=number_after(argv, "-c", "--connections"), keepalive=True)
        self._times = StatedTimes("total")

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only wrk prints such a line."""
        return _BEGIN.match(line) is not None

    def read(self, line: str) -> None:
        """Take the next line."""
        if begin := _BEGIN.match(line):
            duration = milliseconds(begin[1])
            self.figures = replace(self.figures, target_s=None if duration is None else duration / 1000)
        elif found := _CONNECTIONS.fullmatch(line):
            self.figures = replace(self.figures, concurrency=int(found[1]))
        elif found := _LATENCY.fullmatch(line):
            mean, spread, high = (milliseconds(text) for text in found.groups())
            self._put(mean_ms=mean, sd_ms=spread, max_ms=high)
        elif (found := _SERVED.fullmatch(line)) and float(found[1]) in _PERCENTS:
            self._put(**{_PERCENTS[float(found[1])]: milliseconds(found[2])})
        else:
            self._read_counts(line)

    def _read_counts(self, line: str) -> None:
        if found := _TOTAL.fullmatch(line):
            duration = milliseconds(found[2])
            # wrk leaves the lines of errors out where there are none, and states 0 for times where it has none. Its
            # units are powers of 1024.
            self.figures = replace(
                self.figures,
                requests=int(found[1]),
                seconds=None if duration is None else duration / 1000,
                received_bytes=round(float(found[3]) * 1024 ** " KMGTP".index(found[4] or " ")),
                failures=Failures(length=None),
                non_2xx=0,
                times=self.figures.times if int(found[1]) else (),
            )
        elif found := _ERRORS.fullmatch(line):
            connect, read, write, timeout = map(int, found.groups())
            self.figures = replace(self.figures, failures=Failures(connect, read, None, write, timeout))
        elif found := _STATUS.fullmatch(line):
            self.figures = replace(self.figures, non_2xx=int(found[1]))
        elif line.startswith("Requests/sec:"):
            self.figures = replace(self.figures, rps=decimal(line.split()[1]), final=True)

    def _put(self, **times: float | None) -> None:
        self._times = timed(self._times, times)
        self.figures = replace(self.figures, times=(self._times,))
