"""Readers for the output of load tools. A tool is recognised by its command or by a line that only it prints."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

from msgspec.structs import replace

from loadtop.model import Failures, LoadSample, LoadState, ServerSeen, StatedTimes

MAX_DIGITS = 20  # of a 64-bit number, which JMeter prints as the least time of none: a line with more is damaged
_FAILURES = ("connect", "receive", "length", "exceptions", "timeout")
_TIMES = set(StatedTimes.__struct_fields__) - {"part"}
_UNITS_MS = {
    "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "seconds": 1e3, "secs": 1e3, "sec": 1e3, "s": 1e3,
    "m": 6e4, "h": 3.6e6,
}  # fmt: skip
_DURATION = re.compile(rf"([\d.]+)\s*({'|'.join(_UNITS_MS)})(?![A-Za-z])")
_SIZE = re.compile(r"([\d.]+)\s*([kKMGTP]?)(iB|B|bytes|)")


class ToolReader:
    """Reads the output of one run of a tool. ``argv`` is its command line, empty if unknown.

    ``load`` holds the counters since the start and the tool's own statistics; ``None`` means not printed. ``seconds``
    is the duration of the load as the tool measured it. ``final``: the tool has printed its last results.
    """

    name: ClassVar[str]  # the command, and the name of the engine

    start: ClassVar[str]  # a pattern for a line that only this tool prints

    lines: ClassVar[Sequence[str]]
    """Patterns for the lines to read; the first match counts. Groups are named after what :meth:`_take` takes."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.load = LoadSample(0.0, self.name, LoadState.RUNNING, "closed", 0.0, keepalive=None)
        self.seconds: float | None = None
        self.final = False
        self._times: dict[str, StatedTimes] = {}
        if argv:
            self._read_command(argv)

    def read(self, line: str) -> None:
        """Take the next line of output, without escape sequences. A damaged line is ignored."""
        found = next((found for pattern in self.lines if (found := re.match(pattern, line))), None)
        if found is not None:
            texts = {name: text for name, text in found.groupdict().items() if text is not None}
            if not any(text.isdecimal() and len(text) > MAX_DIGITS for text in texts.values()):
                with suppress(ValueError):
                    self._take(texts)

    def _read_command(self, argv: tuple[str, ...]) -> None:
        """Take what the command line says of the load."""

    def _take(self, texts: dict[str, str]) -> None:
        """Take fields of the load, classes of failures and ``failed`` without a class, times of ``part`` with their
        units, the time of ``percent``, and ``seconds``. May raise ValueError."""
        if "percent" in texts:
            texts[_percentile(texts.pop("percent"))] = texts.pop("time")
        times: dict[str, Any] = {name: milliseconds(text) for name, text in texts.items() if name in _TIMES}
        if times:
            part = texts.get("part", "total").lower()
            self._times[part] = replace(self._times.get(part, StatedTimes(part)), **times)
        if "connect" in texts:
            classes: dict[str, Any] = {name: int(texts[name]) if name in texts else None for name in _FAILURES}
            self._set(failures=Failures(**classes))
        for name, text in texts.items():
            if name in ("seconds", "target_s"):
                duration = milliseconds(text)
                duration_s = None if duration is None else duration / 1000
                if name == "seconds":
                    self.seconds = duration_s
                else:
                    self._set(target_s=duration_s)
            elif name == "failed":
                self._set(failures=Failures.undivided(int(text)))
            elif name == "stated_rps":
                self._set(stated_rps=decimal(text))
                self.final = True
            elif name.endswith("_bytes"):
                self._set(**{name: bytes_of(text)})
            elif name in ("requests", "non_2xx", "concurrency", "keepalive_requests"):
                self._set(**{name: int(text)})
        self._set(stated=tuple(self._times.values()) if self._has_answers() else ())

    def _has_answers(self) -> bool:
        """Return whether the times mean anything: without answers, tools print zeros and worse."""
        return self.load.requests != 0

    def _set(self, **changes: Any) -> None:
        self.load = replace(self.load, **changes)


class Ab(ToolReader):
    """ApacheBench: progress on standard error, a report at the end (httpd's support/ab.c)."""

    name = "ab"
    start = "This is ApacheBench, Version"
    lines = (
        r"(?:Completed|Finished|Complete requests:) +(?P<requests>\d+)",
        r"Benchmarking \S+ \[through (?P<proxy>\S+)\] ",
        r"Server Software:(?P<software>.*)",
        r"Server Hostname:(?P<hostname>.*)",
        r"Server Port: +(?P<port>\d+)",
        r"SSL/TLS Protocol:(?P<tls>.*)",
        r"Server Temp Key:(?P<tls_key>.*)",
        r"TLS Server Name:(?P<tls_name>.*)",
        r"Document Path:(?P<path>.*)",
        r"Document Length: +(?P<document_bytes>\S+)",
        r"Concurrency Level: +(?P<concurrency>\d+)",
        r"Time taken for tests: +(?P<seconds>\S+ seconds)",
        r"Failed requests: +(?P<failed>\d+)",
        (
            r" *\(Connect: (?P<connect>\d+), Receive: (?P<receive>\d+), Length: (?P<length>\d+), "
            r"Exceptions: (?P<exceptions>\d+)\)"
        ),
        r"Non-2xx responses: +(?P<non_2xx>\d+)",
        r"Keep-Alive requests: +(?P<keepalive_requests>\d+)",
        r"Total transferred: +(?P<received_bytes>\d+)",
        r"Total body sent: +(?P<sent_bytes>\d+)",
        r"HTML transferred: +(?P<body_bytes>\d+)",
        r"Requests per second: +(?P<stated_rps>\S+)",
        (
            r"(?P<part>Connect|Processing|Waiting|Total): +(?P<min_ms>\d+) +(?P<mean_ms>\d+)"
            r"(?: +(?P<sd_ms>[\d.]+) +(?P<p50_ms>\d+) +| *)(?P<max_ms>\d+)$"
        ),
        r" +(?P<percent>\d+)% +(?P<time>\d+)",
    )

    _server = ServerSeen("", "", 0, "")

    def _read_command(self, argv: tuple[str, ...]) -> None:
        duration = number_after(argv, "-t")
        self._set(
            concurrency=number_after(argv, "-c") or 1,
            target_requests=number_after(argv, "-n") if duration is None else None,
            target_s=duration,
            keepalive="-k" in argv,
        )

    def _take(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            if name == "port":
                self._server = replace(self._server, port=int(text))
            elif name in ("proxy", "software", "hostname", "tls", "tls_key", "tls_name", "path"):
                stated: dict[str, Any] = {name: text.strip()}
                self._server = replace(self._server, **stated)
            elif name == "document_bytes":  # "Variable" with -l. It is the last line about the server.
                length = int(text) if text.isdecimal() else None
                self._set(server=replace(self._server, document_bytes=length))
                return
            elif name == "keepalive_requests":
                self._set(keepalive=True)
            elif name == "sent_bytes":
                self._set(with_body=True)
        super()._take({name: f"{text}ms" if name in _TIMES or name == "time" else text for name, text in texts.items()})
        if "failed" in texts:
            # Classes follow if any failed. ab does not count timeouts: it gives up after one. It prints no line for
            # non-2xx responses if there are none, nor for kept connections without -k.
            failures = self.load.failures if self.load.failed else Failures(timeout=None)
            self._set(failures=failures, non_2xx=0, keepalive=bool(self.load.keepalive))


class Wrk(ToolReader):
    """wrk: nothing while it runs, a report at the end (its src/wrk.c, src/units.c). wrk2 prints the same."""

    name = "wrk"
    start = r"Running (?P<target_s>\S+) test @ "
    lines = (
        start,
        r"\s*\d+ threads? and (?P<concurrency>\d+) connections?$",
        r"\s+Latency\s+(?P<mean_ms>\S+)\s+(?P<sd_ms>\S+)\s+(?P<max_ms>\S+)\s+\S+%$",
        r"\s+(?P<percent>\d+(?:\.\d+)?)%\s+(?P<time>[\d.]+\w+)$",
        r"\s*(?P<requests>\d+) requests in (?P<seconds>\S+), (?P<received_bytes>[\d.]+[KMGTP]?)B read$",
        (
            r"\s*Socket errors: connect (?P<connect>\d+), read (?P<receive>\d+), write (?P<exceptions>\d+), "
            r"timeout (?P<timeout>\d+)$"
        ),
        r"\s*Non-2xx or 3xx responses: (?P<non_2xx>\d+)$",
        r"Requests/sec:\s+(?P<stated_rps>\S+)",
    )

    def _read_command(self, argv: tuple[str, ...]) -> None:
        self._set(concurrency=number_after(argv, "-c", "--connections"), keepalive=True)

    def _take(self, texts: dict[str, str]) -> None:
        if "target_s" in texts:
            self._set(keepalive=True)
        if "requests" in texts:  # lines for errors follow if there are any
            self._set(failures=Failures(length=None), non_2xx=0)
        super()._take(texts)


class Hey(ToolReader):
    """hey: a summary at the end (its requester/print.go)."""

    name = "hey"
    start = r"\s+Total:\t[\d.]+ secs$"
    lines = (
        r"\s+Total:\s+(?P<seconds>.+)",
        r"\s+Slowest:\s+(?P<max_ms>.+)",
        r"\s+Fastest:\s+(?P<min_ms>.+)",
        r"\s+Average:\s+(?P<mean_ms>.+)",
        r"\s+Requests/sec:\s+(?P<stated_rps>\S+)",
        r"\s+Total data:\s+(?P<body_bytes>.+)",
        r"\s+(?P<percent>\d+(?:\.\d+)?)%+ in (?P<time>\S+ \S+)$",
        r"\s+\[(?P<status>\d{3})\]\s+(?P<responses>\d+) responses$",
        # Requests in flight when oha's time was over have not failed: its own success rate leaves them out too.
        r"\s+\[(?P<errors>\d+)\]\s+(?!.*aborted due to deadline$)\S",
    )

    def _read_command(self, argv: tuple[str, ...]) -> None:
        timed = any(word.startswith(("-z", "--duration")) for word in argv)
        self._set(
            concurrency=number_after(argv, "-c") or 50,
            target_requests=None if timed else number_after(argv, "-n") or 200,
            keepalive={"-disable-keepalive", "--disable-keepalive"}.isdisjoint(argv),
        )

    def _take(self, texts: dict[str, str]) -> None:
        super()._take(texts)
        if "stated_rps" in texts:  # statuses and errors are printed after this line, if there are any
            self._set(requests=None, non_2xx=None, failures=Failures.undivided(0))
        elif "status" in texts or ("errors" in texts and self.final):
            answers, errors = int(texts.get("responses", 0)), int(texts.get("errors", 0))
            bad = 0 if texts.get("status", "").startswith("2") else answers
            self._set(
                requests=(self.load.requests or 0) + answers + errors,
                non_2xx=(self.load.non_2xx or 0) + bad,
                failures=Failures.undivided((self.load.failed or 0) + errors),
            )

    def _has_answers(self) -> bool:  # without any, the mean is NaN
        return "total" in self._times and self._times["total"].mean_ms is not None


class Oha(Hey):
    """oha, whose summary reads like hey's (its src/printer.rs). Its live view is not read."""

    name = "oha"
    start = r"\s*Success rate:"


class Siege(ToolReader):
    """siege: a line for each request while it runs (verbose), a summary at the end, as text or as JSON. The summary has
    whole transactions, and megabytes and seconds to two places."""

    name = "siege"
    start = r"\*\* SIEGE "
    lines = (
        r"HTTP/\d(?:\.\d)?\s+(?P<status>\d{3})\s+[\d.]+ secs:\s+(?P<size>\d+) bytes ==>",
        r"[\s{\"]*(?P<label>[A-Za-z][A-Za-z _]+?)\"?:\s+(?P<value>[\d.]+)(?: .*)?,?$",
    )
    _FIELDS: ClassVar[Mapping[str, tuple[str, str]]] = {
        "transactions": ("requests", ""),
        "elapsed time": ("seconds", "s"),
        "data transferred": ("body_bytes", "MiB"),
        "response time": ("mean_ms", "s"),
        "transaction rate": ("stated_rps", ""),
        "failed transactions": ("failed", ""),
        "longest transaction": ("max_ms", "s"),
        "shortest transaction": ("min_ms", "s"),
    }
    """Fields and units by label."""

    def _read_command(self, argv: tuple[str, ...]) -> None:
        users, rounds = number_after(argv, "-c", "--concurrent"), number_after(argv, "-r", "--reps")
        self._set(concurrency=users, target_requests=users * rounds if users and rounds else None)

    def _take(self, texts: dict[str, str]) -> None:
        if "status" in texts:
            if not self.final:
                self._set(
                    requests=(self.load.requests or 0) + 1,
                    non_2xx=(self.load.non_2xx or 0) + (not texts["status"].startswith("2")),
                    body_bytes=(self.load.body_bytes or 0) + int(texts["size"]),
                )
            return
        name, unit = self._FIELDS.get(texts["label"].lower().replace("_", " "), ("", ""))
        super()._take({name: texts["value"] + unit})
        self.final = self.final or name == "requests"


class K6(ToolReader):
    """k6: the state of its virtual users while it runs, metrics at the end. Its iterations are not requests. Its
    request times do not include connecting."""

    name = "k6"
    start = r"running \(\S+?\), \d+/(?P<concurrency>\d+) VUs, "
    lines = (
        start,
        r"\s*\* \S+: \d+ looping VUs for (?P<target_s>\S+) ",
        r"\s*http_req_(?P<metric>duration|connecting|waiting)\.*: +(?P<statistics>.*)",
        r"\s*http_req_failed\.*: +[\d.]+% +(?:✓ )?(?P<failed>\d+)",
        r"\s*http_reqs\.*: +(?P<requests>\d+) +(?P<stated_rps>[\d.]+)/s",
        r"\s*data_received\.*: +(?P<received_bytes>[\d.]+ [kMGT]?B)",
        r"\s*data_sent\.*: +(?P<sent_bytes>[\d.]+ [kMGT]?B)",
    )

    def _take(self, texts: dict[str, str]) -> None:
        if "metric" in texts:
            names = {"avg": "mean_ms", "min": "min_ms", "med": "p50_ms", "max": "max_ms"}
            found = re.findall(r"(avg|min|med|max|p\(([\d.]+)\))=(\S+)", texts["statistics"])
            part = {"duration": "total", "connecting": "connect"}.get(texts["metric"], "waiting")
            texts = {"part": part} | {names.get(key) or _percentile(percent): value for key, percent, value in found}
        super()._take(texts)

    def _has_answers(self) -> bool:  # without any, all failed and times are 0
        total = self._times.get("total")
        return self.load.failed is None or self.load.failed != self.load.requests or not total or bool(total.max_ms)


class Jmeter(ToolReader):
    """JMeter without its window (``jmeter -n``): lines of its summariser, every 30 s and at the end (Summariser.java).
    Times are in whole ms; an error is what its assertions call one."""

    name = "jmeter"
    start = r"Creating summariser <|Starting (?:the test|standalone test) @ |\S+ \+\s+\d+ in\s+\S+ =\s+\S+/s Avg:"
    lines = (
        r"(?P<end>\.\.\. end of run)",
        (
            r"\S+ (?P<sign>[+=])\s+(?P<requests>\d+) in\s+(?P<clock>[\d:]+)s? =\s+(?P<stated_rps>[\d.,]+|\*+)/s "
            r"Avg:\s+(?P<mean_ms>\d+) Min:\s+(?P<min_ms>\d+) Max:\s+(?P<max_ms>-?\d+) Err:\s+(?P<failed>\d+) "
            r"(?:.*Active: (?P<active>\d+) Started: )?"
        ),
    )

    def _take(self, texts: dict[str, str]) -> None:
        if "end" in texts:
            self.final = True
            return
        self._set(concurrency=int(texts.get("active", 0)) or self.load.concurrency)
        # The first "+" line of a run is its total so far; later ones are followed by a "=" line with the total.
        if texts["sign"] == "=" or self.load.requests is None:
            super()._take({name: texts[name] for name in ("requests", "failed")})
        if texts["sign"] == "=":
            super()._take({name: f"{text}ms" for name, text in texts.items() if name in _TIMES})
            # Without requests JMeter prints asterisks and the extremes of its number types.
            rps = None if "*" in texts["stated_rps"] else decimal(texts["stated_rps"].replace(",", "."))
            self._set(stated_rps=rps)
            # The duration is in whole seconds (00:01:30; 90 from old versions), 0 for a short run; the rate is
            # computed from milliseconds.
            whole = sum(int(part or 0) * 60**place for place, part in enumerate(texts["clock"].split(":")[::-1]))
            self.seconds = float(whole) or (int(texts["requests"]) / rps if rps else None)


TOOLS: tuple[type[ToolReader], ...] = (Ab, Wrk, Siege, Hey, Oha, K6, Jmeter)


def reader_of_command(argv: Sequence[str]) -> ToolReader | None:
    """Return a reader for the tool that this command line runs, if it is a known one."""
    name = Path(argv[0]).name.removesuffix(".sh") if argv else ""
    return next((tool(tuple(argv)) for tool in TOOLS if tool.name == name), None)


def reader_of_line(line: str) -> ToolReader | None:
    """Return a reader for the tool that prints this line: for scripts and wrappers with unknown options."""
    return next((tool(()) for tool in TOOLS if re.match(tool.start, line)), None)


def decimal(text: str) -> float:
    """Parse a finite number. Raises ValueError for anything else."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def milliseconds(text: str) -> float | None:
    """Parse a duration such as ``4.2ms``, ``1m30.5s`` or ``0.0440 secs``; ``None`` for anything else."""
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        return None
    try:
        return round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts), 6)
    except ValueError:
        return None


def bytes_of(text: str) -> int:
    """Parse a size: ``1.5 MB`` is 1.5 * 1000^2, ``1.5 MiB`` and wrk's ``1.5M`` are 1.5 * 1024^2. Raises ValueError."""
    if (found := _SIZE.fullmatch(text)) is None:
        raise ValueError(f"{text} is not a size")
    number, prefix, unit = found.groups()
    base = 1000.0 if unit == "B" and prefix != "K" else 1024.0
    return round(decimal(number) * base ** " KMGTP".index(prefix.upper() or " "))


def number_after(argv: tuple[str, ...], *options: str) -> int | None:
    """Return the whole number given with one of these options: ``-c 10``, ``-c10``, ``--vus=10``."""
    found: int | None = None
    for index, word in enumerate(argv):
        for option in options:
            if word == option:
                text = argv[index + 1] if index + 1 < len(argv) else ""
            else:
                prefix = f"{option}=" if option.startswith("--") else option
                text = word.removeprefix(prefix) if word.startswith(prefix) else ""
            if text.isdecimal():
                found = int(text)
    return found


def _percentile(percent: str) -> str:
    """Return the field of a percentile; the name of no field for one that is not kept."""
    return f"p{decimal(percent):g}_ms".replace(".", "_")
