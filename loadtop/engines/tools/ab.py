"""ApacheBench: progress on standard error, a report at the end (httpd's support/ab.c)."""

import re
from dataclasses import replace
from typing import Any

from loadtop.engines.tools.reader import ToolReader, decimal, number_after
from loadtop.model import Failures, ServerSeen

_PROXY = re.compile(r"Benchmarking \S+ \[through (\S+)\] .*")
_PROGRESS = re.compile(r"(?:Completed|Finished) (\d+) requests")
_FAILURES = re.compile(r"\s*\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)")
_ROW = re.compile(r"(Connect|Processing|Waiting|Total):\s+(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+(\d+)$")
_SHORT_ROW = re.compile(r"(Connect|Processing|Waiting|Total):\s+(\d+)\s+(\d+)\s*(\d+)$")
_PERCENTILE = re.compile(r"\s+(\d+)%\s+(\d+)")
_PERCENTS = {50, 66, 75, 80, 90, 95, 98, 99}
_COUNTS = {
    "Concurrency Level": "concurrency",
    "Complete requests": "requests",
    "Non-2xx responses": "non_2xx",
    "Keep-Alive requests": "keepalive_requests",
    "Total transferred": "received_bytes",
    "Total body sent": "sent_bytes",
    "HTML transferred": "body_bytes",
}
_SERVER = {
    "Server Software": "software",
    "Server Hostname": "hostname",
    "Document Path": "path",
    "SSL/TLS Protocol": "tls",
    "Server Temp Key": "tls_key",
    "TLS Server Name": "tls_name",
}


class Ab(ToolReader):
    """One run of ab."""

    name = "ab"
    start = re.compile("This is ApacheBench, Version")

    def __init__(self, argv: tuple[str, ...]) -> None:
        super().__init__(argv)
        self._server = ServerSeen("", "", 0, "")

    def _read_command(self, argv: tuple[str, ...]) -> None:
        seconds = number_after(argv, "-t")
        self._set(
            concurrency=number_after(argv, "-c") or 1,
            target_requests=number_after(argv, "-n") if seconds is None else None,
            target_s=seconds,
            keepalive="-k" in argv,
        )

    def _read(self, line: str) -> None:
        if progress := _PROGRESS.fullmatch(line):
            self._set(requests=int(progress[1]))
        elif proxy := _PROXY.fullmatch(line):
            self._set_server(proxy=proxy[1])
        elif failures := _FAILURES.fullmatch(line):
            connect, receive, length, exceptions = map(int, failures.groups())
            self._set(failures=Failures(connect, receive, length, exceptions, None))
        elif line.startswith((" ", "Connect:", "Processing:", "Waiting:", "Total:")):
            self._read_times(line)
        else:
            self._read_value(line)

    def _read_value(self, line: str) -> None:
        label, colon, rest = line.partition(":")
        word = rest.split()[0] if colon and rest.split() else ""
        if label in _SERVER:
            self._set_server(**{_SERVER[label]: rest.strip()})
        elif label == "Server Port" and word.isdecimal():
            self._set_server(port=int(word))
        elif label == "Document Length":
            # "Variable" with -l. It is the last line about the server.
            self._set_server(document_bytes=int(word) if word.isdecimal() else None)
            self._set(server=self._server)
        elif label in _COUNTS and word.isdecimal():
            more = {"Keep-Alive requests": {"keepalive": True}, "Total body sent": {"with_body": True}}.get(label, {})
            self._set(**{_COUNTS[label]: int(word)}, **more)
        elif label == "Failed requests" and word.isdecimal():
            # Their classes follow if there are any. ab does not count timeouts: it gives up after one. It prints no
            # line for non-2xx responses if there are none, nor for kept connections without -k.
            failures = Failures.undivided(int(word)) if int(word) else Failures(timeout=None)
            self._set(failures=failures, non_2xx=0, keepalive=bool(self.load.keepalive))
        elif label == "Time taken for tests":
            self.seconds = decimal(word)
        elif label == "Requests per second":
            self._set(stated_rps=decimal(word))
            self.final = True

    def _read_times(self, line: str) -> None:
        if row := _ROW.fullmatch(line):
            low, mean, sd, median, high = map(float, row.groups()[1:])
            self._set_times(row[1].lower(), min_ms=low, mean_ms=mean, sd_ms=sd, p50_ms=median, max_ms=high)
        elif row := _SHORT_ROW.fullmatch(line):
            low, mean, high = map(float, row.groups()[1:])
            self._set_times(row[1].lower(), min_ms=low, mean_ms=mean, max_ms=high)
        elif (found := _PERCENTILE.match(line)) and int(found[1]) in _PERCENTS:
            self._set_times(**{f"p{found[1]}_ms": float(found[2])})

    def _set_server(self, **values: Any) -> None:
        self._server = replace(self._server, **values)
