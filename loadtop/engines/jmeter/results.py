"""JMeter's results, row by row as CSV: counters, and the times of what ended in one interval."""

import csv
import re
from collections import Counter
from collections.abc import Sequence

from loadtop.model import Distribution, Failures, Latencies
from loadtop.model.histogram import EMPTY, bucket_of

COLUMNS = (
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "bytes", "sentBytes",
    "grpThreads", "allThreads", "Latency", "Connect",
)  # fmt: skip
"""What is asked for, in JMeter's own order. It writes no heading into a pipe; versions before 3.1 know no sentBytes."""

_OLD_COLUMNS = tuple(name for name in COLUMNS if name != "sentBytes")
_STEP = re.compile(r"\bs(\d+) \d+-\d+$")
"""A thread of a plan made here: its group is named after its step, and ``s0`` is the warm-up."""

_NO_ANSWER = "Non HTTP response message: "
_NO_CODE = "Non HTTP"
_TRANSACTION = "Number of samples in transaction"
_CLASSES = (
    ("timeout", ("SocketTimeoutException", "ConnectTimeoutException", "TimeoutException")),
    ("connect", ("ConnectException", "HttpHostConnectException", "UnknownHostException", "NoRouteToHostException")),
    ("receive", ("NoHttpResponseException", "SocketException", "ConnectionClosedException", "EOFException")),
)
"""Classes of Java's exceptions that say what failed, in the contract's words."""


class Results:
    """Everything that was counted so far, of all machines together."""

    def __init__(self) -> None:
        self.requests = 0
        self.non_2xx = 0
        self.received_bytes: int | None = None
        self.sent_bytes: int | None = None
        self.step = 1
        self.error = ""
        self.counting = True
        self._failed: Counter[str] = Counter()
        self._total: Counter[int] = Counter()
        self._connect: Counter[int] = Counter()
        self._waiting: Counter[int] = Counter()
        self._processing: Counter[int] = Counter()

    @property
    def failures(self) -> Failures:
        """What JMeter calls an error: no answer, an answer of 400 or above, or an assertion that did not hold. A length
        that differs is none to it."""
        failed = self._failed
        return Failures(
            failed["connect"], failed["receive"], None, failed["exceptions"], failed["timeout"], failed["unclassified"]
        )

    def count(self, row: dict[str, str]) -> None:
        """Take one row. Raises ValueError or KeyError where it is damaged."""
        message = row.get("responseMessage", "")
        if not self.counting:
            return
        if message.startswith(_TRANSACTION):
            return  # the sum of requests that have rows of their own
        if found := _STEP.search(row.get("threadName", "")):
            if found[1] == "0":
                return
            self.step = max(self.step, int(found[1]))
        elapsed = int(row["elapsed"])
        self.requests += 1
        code = row["responseCode"]
        if code.isdecimal() and not code.startswith("2"):
            self.non_2xx += 1
        if row["success"] != "true":
            self._failed[_class_of(code)] += 1
            self.error = f"{row.get('label', '')}: {message.removeprefix(_NO_ANSWER) or code}"[:200]
        self._total[elapsed] += 1
        if not code.startswith(_NO_CODE):  # then bytes and times are those of Java's own words
            self._count_bytes(row)
            self._count_parts(row, elapsed)

    def _count_bytes(self, row: dict[str, str]) -> None:
        if "bytes" in row:
            self.received_bytes = (self.received_bytes or 0) + int(row["bytes"])
        if "sentBytes" in row:
            self.sent_bytes = (self.sent_bytes or 0) + int(row["sentBytes"])

    def _count_parts(self, row: dict[str, str], elapsed: int) -> None:
        connect = min(int(row["Connect"]), elapsed)
        self._connect[connect] += 1
        self._processing[elapsed - connect] += 1
        self._waiting[max(0, int(row["Latency"]) - connect)] += 1

    def latencies(self) -> Latencies | None:
        """Those of the rows since the last call, to the millisecond."""
        if not self._total:
            return None
        found = Latencies(
            _distribution(self._total),
            connect=_distribution(self._connect) if self._connect else None,
            processing=_distribution(self._processing) if self._processing else None,
            waiting=_distribution(self._waiting) if self._waiting else None,
        )
        for times in (self._total, self._connect, self._processing, self._waiting):
            times.clear()
        return found


class Rows:
    """The rows of one machine, cut out of what comes in pieces."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._rest = b""
        self._open = ""
        self.threads: int | None = None

    def feed(self, data: bytes) -> None:
        """Take the next piece."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line.decode("utf-8", "replace").rstrip("\r"))

    def _take(self, line: str) -> None:
        line = f"{self._open}{line}"
        if '"' not in line:
            fields: Sequence[str] = line.split(",")
        elif line.count('"') % 2:
            self._open = f"{line}\n"  # a quoted field goes on
            return
        else:
            fields = next(csv.reader([line]))
        self._open = ""
        if len(fields) < len(_OLD_COLUMNS):
            return
        columns = COLUMNS if len(fields) >= len(COLUMNS) else _OLD_COLUMNS
        row = dict(zip(columns, fields, strict=False))
        try:
            self._results.count(row)
            self.threads = int(row["allThreads"])
        except (ValueError, KeyError):
            return


def _class_of(code: str) -> str:
    found = next((name for name, words in _CLASSES if code.endswith(words)), None)
    return found or ("exceptions" if code.startswith(_NO_CODE) else "unclassified")


def _distribution(times: Counter[int]) -> Distribution:
    """Counts by whole milliseconds as a distribution."""
    if not times:
        return EMPTY
    buckets: Counter[int] = Counter()
    for time_ms, count in times.items():
        buckets[bucket_of(time_ms * 1000)] += count
    order = sorted(buckets)
    return Distribution(
        count=times.total(),
        sum_us=sum(time_ms * count for time_ms, count in times.items()) * 1000,
        sum_squares_us2=sum(time_ms**2 * count for time_ms, count in times.items()) * 1_000_000,
        min_us=min(times) * 1000,
        max_us=max(times) * 1000,
        buckets=tuple(order),
        counts=tuple(buckets[each] for each in order),
    )
