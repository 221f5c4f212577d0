"""k6: the state of its virtual users while it runs, metrics at the end. Its iterations are not requests."""

import re

from loadtop.engines.tools.reader import ToolReader, bytes_of, decimal, milliseconds, seconds
from loadtop.model import Failures

_LOOPING = re.compile(r"\s*\* \S+: (\d+) looping VUs for (\S+) ")
_METRIC = re.compile(r"\s*(http_\w+|data_\w+)\.*: +(.*)$")
_TIMES = {"http_req_duration": "total", "http_req_connecting": "connect", "http_req_waiting": "waiting"}
_STATISTICS = {
    "avg": "mean_ms", "min": "min_ms", "med": "p50_ms", "max": "max_ms", "p(50)": "p50_ms", "p(75)": "p75_ms",
    "p(90)": "p90_ms", "p(95)": "p95_ms", "p(99)": "p99_ms", "p(99.9)": "p99_9_ms",
}  # fmt: skip
_FAILED = re.compile(r"[\d.]+% +(?:(\d+) out of \d+|✓ (\d+))")
_SIZE = re.compile(r"([\d.]+) ([kMGT]?B) ")


class K6(ToolReader):
    """One run of k6. Its request times do not include connecting."""

    name = "k6"
    start = re.compile(r"running \((\S+?)\), (\d+)/(\d+) VUs, ")

    def _read(self, line: str) -> None:
        if found := self.start.match(line):
            self._set(concurrency=int(found[3]))
        elif found := _LOOPING.match(line):
            self._set(target_s=seconds(found[2]))
        elif found := _METRIC.match(line):
            self._read_metric(found[1], f"{found[2]} ")

    def _read_metric(self, name: str, text: str) -> None:
        if name in _TIMES:
            pairs = (word.partition("=")[::2] for word in text.split())
            self._set_times(
                _TIMES[name], **{_STATISTICS[key]: milliseconds(value) for key, value in pairs if key in _STATISTICS}
            )
        elif name == "http_reqs":
            requests, rate = text.split()[:2]
            self._set(requests=int(requests), stated_rps=decimal(rate.rstrip("/s")))
            self.final = True
            self._drop_times_without_answers()
        elif name == "http_req_failed" and (failed := _FAILED.match(text)):
            self._set(failures=Failures.undivided(int(failed[1] or failed[2])))
        elif size := _SIZE.match(text):
            field = {"data_received": "received_bytes", "data_sent": "sent_bytes"}.get(name)
            if field is not None:
                self._set(**{field: bytes_of(size[1], size[2])})

    def _drop_times_without_answers(self) -> None:
        """Drop the times if no request was answered: k6 prints 0 for those."""
        total, failures = self._times.get("total"), self.load.failures
        all_failed = failures is not None and failures.total == self.load.requests
        if all_failed and total is not None and not total.max_ms:
            self._set(stated=())
