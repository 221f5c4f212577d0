"""wrk: nothing while it runs, a report at the end (its src/wrk.c, src/units.c). wrk2 prints the same."""

import re

from loadtop.engines.tools.reader import ToolReader, decimal, milliseconds, number_after, seconds
from loadtop.model import Failures

_CONNECTIONS = re.compile(r"\s*\d+ threads? and (\d+) connections?")
_LATENCY = re.compile(r"\s+Latency\s+(\S+)\s+(\S+)\s+(\S+)\s+\S+%")
_PERCENTILE = re.compile(r"\s+(\d+(?:\.\d+)?)%\s+([\d.]+\w+)")
_TOTAL = re.compile(r"\s*(\d+) requests in (\S+), ([\d.]+)([KMGTP]?)B read")
_ERRORS = re.compile(r"\s*Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)")
_STATUS = re.compile(r"\s*Non-2xx or 3xx responses: (\d+)")
_PERCENTS = {50.0: "p50_ms", 75.0: "p75_ms", 90.0: "p90_ms", 99.0: "p99_ms", 99.9: "p99_9_ms"}


class Wrk(ToolReader):
    """One run of wrk."""

    name = "wrk"
    start = re.compile(r"Running (\S+) test @ ")

    def _read_command(self, argv: tuple[str, ...]) -> None:
        self._set(concurrency=number_after(argv, "-c", "--connections"), keepalive=True)

    def _read(self, line: str) -> None:
        if found := self.start.match(line):
            self._set(target_s=seconds(found[1]), keepalive=True)
        elif found := _CONNECTIONS.fullmatch(line):
            self._set(concurrency=int(found[1]))
        elif found := _LATENCY.fullmatch(line):
            mean, sd, high = map(milliseconds, found.groups())
            self._set_times(mean_ms=mean, sd_ms=sd, max_ms=high)
        elif (found := _PERCENTILE.fullmatch(line)) and float(found[1]) in _PERCENTS:
            self._set_times(**{_PERCENTS[float(found[1])]: milliseconds(found[2])})
        elif found := _TOTAL.fullmatch(line):
            self.seconds = seconds(found[2])
            # wrk prints no line for errors if there are none, and times of 0 if there are no requests. Its units are
            # powers of 1024.
            self._set(
                requests=int(found[1]),
                received_bytes=round(float(found[3]) * 1024 ** " KMGTP".index(found[4] or " ")),
                failures=Failures(length=None),
                non_2xx=0,
                stated=self.load.stated if int(found[1]) else (),
            )
        elif found := _ERRORS.fullmatch(line):
            connect, read, write, timeout = map(int, found.groups())
            self._set(failures=Failures(connect, read, None, write, timeout))
        elif found := _STATUS.fullmatch(line):
            self._set(non_2xx=int(found[1]))
        elif line.startswith("Requests/sec:"):
            self._set(stated_rps=decimal(line.split()[1]))
            self.final = True
