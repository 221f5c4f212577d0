"""k6: the state of its virtual users while it runs, metrics at the end. Its iterations are not requests."""

import re
from dataclasses import replace

from loadtop.engines.figures import Figures, bytes_of, changed, decimal, milliseconds, timed
from loadtop.model import Failures, StatedTimes

_RUNNING = re.compile(r"running \((\S+?)\), (\d+)/(\d+) VUs, ")
_LOOPING = re.compile(r"\s*\* \S+: (\d+) looping VUs for (\S+) ")
_METRIC = re.compile(r"\s*(http_\w+|data_\w+)\.*: +(.*)$")
_TIMES = {"http_req_duration": "total", "http_req_connecting": "connect", "http_req_waiting": "waiting"}
_STATISTICS = {
    "avg": "mean_ms", "min": "min_ms", "med": "p50_ms", "max": "max_ms", "p(50)": "p50_ms", "p(75)": "p75_ms",
    "p(90)": "p90_ms", "p(95)": "p95_ms", "p(99)": "p99_ms", "p(99.9)": "p99_9_ms",
}  # fmt: skip
_FAILED = re.compile(r"[\d.]+% +(?:(\d+) out of \d+|✓ (\d+))")
_AMOUNT = re.compile(r"([\d.]+) ([kMGT]?B) ")


class K6:
    """One run of k6. Its times of requests are without connecting."""

    name = "k6"

    def __init__(self, argv: tuple[str, ...]) -> None:  # noqa: ARG002 - the script says what is run
        self.figures = Figures()
        self._times: dict[str, StatedTimes] = {}

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only k6 prints such a line."""
        return _RUNNING.match(line) is not None

    def read(self, line: str) -> None:
        """Take the next line."""
        if found := _RUNNING.match(line):
            self.figures = replace(self.figures, concurrency=int(found[3]))
        elif found := _LOOPING.match(line):
            duration = milliseconds(found[2])
            self.figures = replace(self.figures, target_s=None if duration is None else duration / 1000)
        elif found := _METRIC.match(line):
            self._read_metric(found[1], f"{found[2]} ")

    def _read_metric(self, name: str, text: str) -> None:
        if name in _TIMES:
            pairs = (word.partition("=")[::2] for word in text.split())
            known = {_STATISTICS[key]: milliseconds(value) for key, value in pairs if key in _STATISTICS}
            part = _TIMES[name]
            self._times[part] = timed(StatedTimes(part), known)
            self.figures = replace(self.figures, times=tuple(self._times.values()))
        elif name == "http_reqs":
            requests, rate = text.split()[:2]
            self.figures = replace(self.figures, requests=int(requests), rps=decimal(rate.rstrip("/s")), final=True)
            self._drop_times_of_no_answers()
        elif name == "http_req_failed" and (failed := _FAILED.match(text)):
            self.figures = replace(self.figures, failures=Failures.undivided(int(failed[1] or failed[2])))
        elif amount := _AMOUNT.match(text):
            field = {"data_received": "received_bytes", "data_sent": "sent_bytes"}.get(name)
            if field is not None:
                self.figures = changed(self.figures, {field: bytes_of(amount[1], amount[2])})

    def _drop_times_of_no_answers(self) -> None:
        """k6 states times of 0 for requests without an answer: where there was none at all, it has measured none."""
        now, total = self.figures, self._times.get("total")
        none = now.failures is not None and now.failures.total == now.requests
        if none and total is not None and not total.max_ms:
            self.figures = replace(now, times=())
