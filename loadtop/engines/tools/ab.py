"""ApacheBench: progress on standard error, a report at the end (httpd's support/ab.c)."""

import re
from dataclasses import replace
from typing import Any

from loadtop.engines.figures import Figures, changed, decimal, number_after, timed
from loadtop.model import Failures, ServerSeen, StatedTimes

_THROUGH = re.compile(r"Benchmarking \S+ \[through (\S+)\] .*")
_PROGRESS = re.compile(r"(?:Completed|Finished) (\d+) requests")
_CLASSES = re.compile(r"\s*\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)")
_ROW = re.compile(r"(Connect|Processing|Waiting|Total):\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)$")
_SHORT_ROW = re.compile(r"(Connect|Processing|Waiting|Total):\s+(\d+)\s+(\d+)\s*(\d+)$")
_SERVED = re.compile(r"\s+(\d+)%\s+(\d+)")
_COUNTS = {
    "Concurrency Level": "concurrency",
    "Complete requests": "requests",
    "Non-2xx responses": "non_2xx",
    "Keep-Alive requests": "keepalive_requests",
    "Total transferred": "received_bytes",
    "Total body sent": "sent_bytes",
    "HTML transferred": "body_bytes",
}
_SEEN = {
    "Server Software": "software",
    "Server Hostname": "hostname",
    "Document Path": "path",
    "SSL/TLS Protocol": "tls",
    "Server Temp Key": "tls_key",
    "TLS Server Name": "tls_name",
}
_PERCENTS = {50, 66, 75, 80, 90, 95, 98, 99}


class Ab:
    """One run of ab."""

    name = "ab"

    def __init__(self, argv: tuple[str, ...]) -> None:
        requests, seconds = number_after(argv, "-n"), number_after(argv, "-t")
        self.figures = Figures(
            concurrency=number_after(argv, "-c") or (1 if argv else None),
            target_requests=requests if seconds is None else None,
            target_s=seconds,
            keepalive="-k" in argv if argv else None,
        )
        self._times: dict[str, StatedTimes] = {}
        self._seen = ServerSeen("", "", 0, "")

    @staticmethod
    def begins(line: str) -> bool:
        """Whether only ab prints such a line."""
        return line.startswith("This is ApacheBench, Version")

    def read(self, line: str) -> None:
        """Take the next line."""
        if progress := _PROGRESS.fullmatch(line):
            self.figures = replace(self.figures, requests=int(progress[1]))
        elif through := _THROUGH.fullmatch(line):
            self._see(proxy=through[1])
        elif classes := _CLASSES.fullmatch(line):
            connect, receive, length, exceptions = map(int, classes.groups())
            self.figures = replace(self.figures, failures=Failures(connect, receive, length, exceptions, None))
        elif line.startswith((" ", "Connect:", "Processing:", "Waiting:", "Total:")):
            self._read_times(line)
        else:
            self._read_count(line)

    def _read_count(self, line: str) -> None:
        label, colon, rest = line.partition(":")
        word = rest.split()[0] if colon and rest.split() else ""
        if label in _SEEN:
            self._see(**{_SEEN[label]: rest.strip()})
        elif label == "Server Port" and word.isdecimal():
            self._see(port=int(word))
        elif label == "Document Length":
            # With -l it is Variable. It is the last line on the server.
            self._see(document_bytes=int(word) if word.isdecimal() else None)
            self.figures = replace(self.figures, server=self._seen)
        elif label in _COUNTS and word.isdecimal():
            more = {"Keep-Alive requests": {"keepalive": True}, "Total body sent": {"with_body": True}}.get(label, {})
            self.figures = changed(self.figures, {_COUNTS[label]: int(word), **more})
        elif label == "Failed requests" and word.isdecimal():
            # The classes follow where any failed; none is of time-outs, after which ab gives up. It leaves the lines of
            # answers other than 2xx out where there are none, and of kept connections without -k.
            failed = int(word)
            failures = Failures.undivided(failed) if failed else Failures(timeout=None)
            keepalive = bool(self.figures.keepalive)
            self.figures = replace(self.figures, failures=failures, non_2xx=0, keepalive=keepalive)
        elif label == "Time taken for tests":
            self.figures = replace(self.figures, seconds=decimal(word))
        elif label == "Requests per second":
            self.figures = replace(self.figures, rps=decimal(word), final=True)

    def _read_times(self, line: str) -> None:
        if row := _ROW.fullmatch(line):
            part, low, middle, spread, median, high = row.groups()
            self._put(
                part,
                min_ms=float(low),
                mean_ms=float(middle),
                sd_ms=float(spread),
                p50_ms=float(median),
                max_ms=float(high),
            )
        elif row := _SHORT_ROW.fullmatch(line):
            part, low, middle, high = row.groups()
            self._put(part, min_ms=float(low), mean_ms=float(middle), max_ms=float(high))
        elif (served := _SERVED.match(line)) and int(served[1]) in _PERCENTS:
            self._put("Total", **{f"p{served[1]}_ms": float(served[2])})

    def _see(self, **values: Any) -> None:
        self._seen = replace(self._seen, **values)

    def _put(self, part: str, **times: float) -> None:
        name = part.lower()
        self._times[name] = timed(self._times.get(name, StatedTimes(name)), {**times})
        self.figures = replace(self.figures, times=tuple(self._times.values()))
