"""What a load tool has said so far of the load it makes."""

import re
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from loadtop.model import Failures, ServerSeen, StatedTimes


@dataclass(frozen=True, slots=True)
class Figures:
    """Counters since the start and the tool's own statistics of the whole load; ``None`` is what it has not said.

    ``final``: it has said its last figures. ``seconds`` is how long the load took as the tool counts it.
    """

    requests: int | None = None
    failures: Failures | None = None
    non_2xx: int | None = None
    keepalive_requests: int | None = None
    received_bytes: int | None = None
    body_bytes: int | None = None
    sent_bytes: int | None = None
    in_flight: int | None = None
    concurrency: int | None = None
    target_requests: int | None = None
    target_s: float | None = None
    keepalive: bool | None = None
    with_body: bool = False
    seconds: float | None = None
    rps: float | None = None
    times: tuple[StatedTimes, ...] = ()
    message: str = ""
    final: bool = False
    server: ServerSeen | None = None


def changed(now: Figures, values: dict[str, Any]) -> Figures:
    """The figures with some of them new, by name."""
    return replace(now, **values)


def timed(now: StatedTimes, values: dict[str, float | None]) -> StatedTimes:
    """The times with some of them new, by name."""
    more: dict[str, Any] = dict(values)
    return replace(now, **more)


UNITS_MS = {
    "ns": 1e-6,
    "us": 1e-3,
    "µs": 1e-3,
    "μs": 1e-3,
    "ms": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "secs": 1e3,
    "m": 6e4,
    "h": 3.6e6,
}
UNITS_BYTES = {
    "B": 1, "kB": 1000, "KB": 1024, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4,
}  # fmt: skip


def decimal(text: str) -> float:
    """A number. Raises ValueError for anything else, and for infinity and NaN, which say that there is none."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is no number")
    return number


_DURATION = re.compile(r"([\d.]+)\s*(ns|us|µs|μs|ms|secs|sec|s|m|h)(?![A-Za-z])")


def milliseconds(text: str) -> float | None:
    """A duration such as ``4.2ms``, ``1m30.5s`` or ``0.0440 secs`` in ms; ``None`` for anything else."""
    parts = _DURATION.findall(text)
    if not parts or _DURATION.sub("", text).strip():
        return None
    try:
        return round(sum(float(number) * UNITS_MS[unit] for number, unit in parts), 6)
    except ValueError:
        return None


def bytes_of(number: str, unit: str) -> int:
    """An amount of bytes such as ``1.5``, ``MB``. wrk's 1024-based units are the caller's business."""
    return round(float(number) * UNITS_BYTES[unit])


def number_after(words: tuple[str, ...], *options: str) -> int | None:
    """The whole number that a command line gives with one of these options: ``-c 10``, ``-c10``, ``--vus=10``."""
    found: int | None = None
    for place, word in enumerate(words):
        for option in options:
            if word == option and place + 1 < len(words):
                text = words[place + 1]
            elif option.startswith("--") and word.startswith(f"{option}="):
                text = word[len(option) + 1 :]
            elif not option.startswith("--") and word.startswith(option) and len(word) > len(option):
                text = word[len(option) :]
            else:
                continue
            if text.isdecimal():
                found = int(text)
    return found
