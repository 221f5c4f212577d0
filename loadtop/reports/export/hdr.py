"""Response times as a log of HdrHistogram, a histogram for each interval, for its plotters and log processors.

Source: http://hdrhistogram.org, V2 encoding and log format 1.3. Buckets of :mod:`loadtop.model.histogram` are those of
an HdrHistogram with two significant digits and a lowest value of 1, by the same numbers: counts go over as they are.
Values are microseconds.
"""

import base64
import struct
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from loadtop import __version__
from loadtop.model import Distribution, LoadState
from loadtop.pipeline.snapshot import Snapshot

CORRECTED = "intended-start"
"""The tag of times that count from when a request should have been sent (open model)."""

_COOKIE, _COMPRESSED_COOKIE = 0x1C849313, 0x1C849314
_HEADER = struct.Struct(">IIIIqqd")
_DIGITS, _LOWEST, _HIGHEST = 2, 1, 3_600_000_000  # one hour; more where an answer took longer


def hdr_log(snapshots: Iterable[Snapshot], started: float) -> Iterator[str]:
    """The lines of a log; ``started`` in seconds since 1970."""
    log = HdrLog(started)
    yield log.head
    for snapshot in snapshots:
        yield log.rows(snapshot)


class HdrLog:
    """Makes the rows of one interval after the other."""

    def __init__(self, started: float) -> None:
        when = datetime.fromtimestamp(started, UTC).isoformat(timespec="milliseconds")
        self.head = (
            f"#[Logged with loadtop {__version__}; values in microseconds, Interval_Max in milliseconds]\n"
            "#[Histogram log format version 1.3]\n"
            f"#[StartTime: {started:.3f} (seconds since epoch), {when}]\n"
            '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n'
        )
        self._at = 0.0

    def rows(self, snapshot: Snapshot) -> str:
        """The rows of the next interval, with their line ends; empty where no request of the test ended in it."""
        since, self._at = self._at, snapshot.at
        load = snapshot.load
        if load is None or load.latencies is None or load.state is LoadState.WARMUP:
            return ""
        parts = (("", load.latencies.total), (f"Tag={CORRECTED},", load.latencies.corrected))
        return "".join(
            f"{tag}{since:.3f},{self._at - since:.3f},{times.max_us / 1000:.3f},{encoded(times)}\n"
            for tag, times in parts
            if times is not None and times.count
        )


def encoded(times: Distribution) -> str:
    """The histogram in base64."""
    counts = bytearray()
    position = 0
    for bucket, count in zip(times.buckets, times.counts, strict=True):
        if bucket > position:
            counts += _zigzag(position - bucket)  # so many buckets are empty
        counts += _zigzag(count)
        position = bucket + 1
    header = _HEADER.pack(_COOKIE, len(counts), 0, _DIGITS, _LOWEST, max(_HIGHEST, times.max_us), 1.0)
    compressed = zlib.compress(header + counts)
    return base64.b64encode(struct.pack(">II", _COMPRESSED_COOKIE, len(compressed)) + compressed).decode("ascii")


def _zigzag(number: int) -> bytes:
    """ZigZag LEB128, for numbers of less than 56 bits."""
    rest = number << 1 if number >= 0 else (-number << 1) - 1
    found = bytearray()
    while rest > 127:
        found.append(rest & 127 | 128)
        rest >>= 7
    found.append(rest)
    return bytes(found)
