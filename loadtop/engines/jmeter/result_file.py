"""JMeter's results, row by row as CSV: counters, and the response times of one interval."""

import csv
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress

from loadtop.generator.notable import MOST_KINDS, MOST_SLOW, STATUS
from loadtop.i18n import verbatim
from loadtop.model import Failures, Latencies, RequestRecord, Requests
from loadtop.model.histogram import distribution_of_milliseconds

COLUMNS = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "bytes", "sentBytes",
    "grpThreads", "allThreads", "Latency", "Connect",
)  # fmt: skip
"""The columns that we request, in JMeter's order: it writes no header into a pipe."""

_OLD_COLUMNS = tuple(name for name in COLUMNS if name != "sentBytes")  # before JMeter 3.1
_STEP = re.compile(r"\bs(\d{1,9}) \d{1,9}-\d{1,9}$")
"""A thread of our plan: its group is named after its step; ``s0`` is the warm-up."""

_STATUS = re.compile(r"[1-5]\d\d", re.ASCII)
_NO_RESPONSE = "Non HTTP response message: "
_NO_RESPONSE_CODE = "Non HTTP"
_TRANSACTION = "Number of samples in transaction"
_FAILURES = (
    ("timeout", ("SocketTimeoutException", "ConnectTimeoutException", "TimeoutException")),
    ("connect", ("ConnectException", "HttpHostConnectException", "UnknownHostException", "NoRouteToHostException")),
    ("receive", ("NoHttpResponseException", "SocketException", "ConnectionClosedException", "EOFException")),
)
"""Java's exceptions by our classes of failures. The first match counts."""

MAX_DIGITS = 15  # of a number in a row: more is damage
MAX_WORDS = 200  # characters of a label or a message in the lists of requests
MAX_ROW = 65_536  # bytes of a row, with the line breaks in its quoted fields; longer ones are left out


class Results:
    """Everything counted so far, of all machines together. ``error`` is the last failure."""

    def __init__(self) -> None:
        self.requests = 0
        self.non_2xx = 0
        self.received_bytes: int | None = None
        self.sent_bytes: int | None = None
        self.step = 1
        self.error = ""
        self.counting = True
        self._failed: Counter[str] = Counter()
        self._times: dict[str, Counter[int]] = defaultdict(Counter)
        self._slowest: list[tuple[int, int, dict[str, str]]] = []
        self._first_failures: dict[tuple[str, str], dict[str, str]] = {}

    @property
    def failures(self) -> Failures:
        """JMeter's errors: no response, a status of 400 or above, or a failed assertion. It compares no lengths."""
        failed = self._failed
        return Failures(
            failed["connect"], failed["receive"], None, failed["exceptions"], failed["timeout"], failed["unclassified"]
        )

    def count(self, row: dict[str, str]) -> None:
        """Count one row. Raises ValueError if it is damaged."""
        message = row["responseMessage"]
        if not self.counting or message.startswith(_TRANSACTION):  # the sum of requests with rows of their own
            return
        if found := _STEP.search(row["threadName"]):
            if found[1] == "0":
                return
            self.step = max(self.step, int(found[1]))
        elapsed = _number(row["elapsed"])
        for name in ("timeStamp", "Latency", "Connect"):
            _number(row[name])
        self.requests += 1
        code = row["responseCode"]
        if code.isdecimal() and not code.startswith("2"):
            self.non_2xx += 1
        self._note(row, code, elapsed)
        if row["success"] != "true":
            self._failed[_failure_class(code)] += 1
            self.error = f"{row['label']}: {message.removeprefix(_NO_RESPONSE) or code}"[:200]
        self._times["total"][elapsed] += 1
        if code.startswith(_NO_RESPONSE_CODE):  # bytes and times are those of Java's error text
            return
        self.received_bytes = (self.received_bytes or 0) + _number(row["bytes"])
        if "sentBytes" in row:
            self.sent_bytes = (self.sent_bytes or 0) + _number(row["sentBytes"])
        connect = min(_number(row["Connect"]), elapsed)
        self._times["connect"][connect] += 1
        self._times["processing"][elapsed - connect] += 1
        self._times["waiting"][max(0, _number(row["Latency"]) - connect)] += 1

    def _note(self, row: dict[str, str], code: str, elapsed: int) -> None:
        """Keep the row if it is among the slowest, or the first failure of its kind."""
        if len(self._slowest) < MOST_SLOW:
            heapq.heappush(self._slowest, (elapsed, -self.requests, row))
        elif elapsed > self._slowest[0][0]:
            heapq.heapreplace(self._slowest, (elapsed, -self.requests, row))
        if row["success"] != "true" and len(self._first_failures) < MOST_KINDS:
            self._first_failures.setdefault(_failure_kind(code), row)

    def noted(self) -> Requests:
        """The slowest requests and the first failures, with labels instead of URLs; JMeter does not time sending."""
        slowest = (row for _, _, row in sorted(self._slowest, key=lambda entry: entry[:2], reverse=True))
        failures = self._first_failures.items()
        return Requests(
            tuple(_record(row) for row in slowest), tuple(_record(row, failure) for (failure, _), row in failures)
        )

    def latencies(self) -> Latencies | None:
        """Return the response times of the rows since the last call, to the millisecond."""
        times, self._times = self._times, defaultdict(Counter)
        found = {part: distribution_of_milliseconds(counts) for part, counts in times.items()}
        return Latencies(**found) if found else None


class ResultReader:
    """Reads the rows of one machine, which come in pieces. ``threads`` is how many ran at the last row."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._rest = b""
        self._unfinished = ""
        self._skipping = False  # the rest of a row that is too long
        self.threads: int | None = None

    def feed(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if self._skipping:
                self._skipping = False
            else:
                self._read(line.decode("utf-8", "replace").rstrip("\r"))
        if len(self._rest) > MAX_ROW:
            self._rest, self._skipping = b"", True

    def _read(self, line: str) -> None:
        line = f"{self._unfinished}{line}"
        if len(line) > MAX_ROW:
            self._unfinished = ""
            return
        if line.count('"') % 2:  # a quoted field continues on the next line
            self._unfinished = f"{line}\n"
            return
        self._unfinished = ""
        try:
            fields: Sequence[str] = next(csv.reader([line])) if '"' in line else line.split(",")
        except csv.Error:  # a line end in the middle of a field
            return
        if len(fields) < len(_OLD_COLUMNS):
            return
        columns = COLUMNS if len(fields) >= len(COLUMNS) else _OLD_COLUMNS
        row = dict(zip(columns, fields, strict=False))
        with suppress(ValueError):
            self._results.count(row)
            self.threads = _number(row["allThreads"])


def _number(text: str) -> int:
    if len(text) > MAX_DIGITS or not (text.isascii() and text.isdigit()):
        raise ValueError("not a number")
    return int(text)


def _record(row: dict[str, str], failure: str = "") -> RequestRecord:
    code, elapsed = row["responseCode"], _number(row["elapsed"])
    answered = not code.startswith(_NO_RESPONSE_CODE)
    connect = min(_number(row["Connect"]), elapsed)
    latency = min(max(_number(row["Latency"]), connect), elapsed)
    message = row["responseMessage"].removeprefix(_NO_RESPONSE)[:MAX_WORDS]
    return RequestRecord(
        started=_number(row["timeStamp"]) / 1000,
        method="",
        url=row["label"][:MAX_WORDS],
        total_ms=float(elapsed),
        connect_ms=float(connect) if answered else None,
        waiting_ms=float(latency - connect) if answered else None,
        receiving_ms=float(elapsed - latency) if answered else None,
        status=_number(code) if _STATUS.fullmatch(code) else None,
        failure=failure,
        reason=verbatim(message) if failure and message else "",
    )


def _failure_kind(code: str) -> tuple[str, str]:
    """A class of failures, or ``status`` and which."""
    return (STATUS, code) if _STATUS.fullmatch(code) and not code.startswith("2") else (_failure_class(code), "")


def _failure_class(code: str) -> str:
    found = next((name for name, exceptions in _FAILURES if code.endswith(exceptions)), None)
    return found or ("exceptions" if code.startswith(_NO_RESPONSE_CODE) else "unclassified")
