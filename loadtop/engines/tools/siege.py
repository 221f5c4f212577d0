"""siege: a line for each request while it runs (verbose), a summary at the end, as text or as JSON."""

import re

from loadtop.engines.tools.reader import ToolReader, number_after
from loadtop.model import Failures

_REQUEST = re.compile(r"HTTP/\d(?:\.\d)?\s+(\d{3})\s+([\d.]+) secs:\s+(\d+) bytes ==>")
_SUMMARY = re.compile(r"\s*[{\"]*\s*\"?([A-Za-z][A-Za-z _]+?)\"?:\s+([\d.]+)(?: .*)?,?$")
_MEGABYTE = 1024 * 1024
_TIMES = {"response time": "mean_ms", "longest transaction": "max_ms", "shortest transaction": "min_ms"}


class Siege(ToolReader):
    """One run of siege. Its summary has whole transactions, and megabytes and seconds to two places."""

    name = "siege"
    start = re.compile(r"\*\* SIEGE ")

    def __init__(self, argv: tuple[str, ...]) -> None:
        super().__init__(argv)
        self._requests = self._non_2xx = self._bytes = 0

    def _read_command(self, argv: tuple[str, ...]) -> None:
        users, rounds = number_after(argv, "-c", "--concurrent"), number_after(argv, "-r", "--reps")
        self._set(concurrency=users, target_requests=users * rounds if users and rounds else None)

    def _read(self, line: str) -> None:
        if request := _REQUEST.match(line):
            self._requests += 1
            self._non_2xx += not 200 <= int(request[1]) < 300
            self._bytes += int(request[3])
            if not self.final:
                self._set(requests=self._requests, non_2xx=self._non_2xx, body_bytes=self._bytes)
        elif found := _SUMMARY.match(line):
            self._read_summary(found[1].lower().replace("_", " "), float(found[2].rstrip(".")))

    def _read_summary(self, label: str, value: float) -> None:
        match label:
            case "transactions":
                self._set(requests=int(value))
                self.final = True
            case "elapsed time":
                self.seconds = value
            case "data transferred":
                self._set(body_bytes=round(value * _MEGABYTE))
            case "transaction rate":
                self._set(stated_rps=value)
            case "failed transactions":
                self._set(failures=Failures.undivided(int(value)))
            case _ if label in _TIMES and self.load.requests:  # without requests siege prints zeros
                self._set_times(**{_TIMES[label]: round(1000 * value, 3)})
            case _:
                pass
