"""What all readers of load tools share: the load as it was printed, and how tools write durations and sizes."""

import re
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from math import isfinite
from typing import Any, ClassVar

from loadtop.model import LoadSample, LoadState, StatedTimes


class ToolReader(ABC):
    """Reads the output of one run of a tool. ``argv`` is its command line, empty if unknown.

    ``load`` holds the counters since the start and the tool's own statistics; ``None`` means not printed. ``seconds``
    is the duration of the load as the tool measured it. ``final``: the tool has printed its last results.
    """

    name: ClassVar[str]
    """The command, and the name of the engine."""

    start: ClassVar[re.Pattern[str]]
    """Matches a line that only this tool prints."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.load = LoadSample(0.0, self.name, LoadState.RUNNING, "closed", 0.0, keepalive=None)
        self.seconds: float | None = None
        self.final = False
        self._times: dict[str, StatedTimes] = {}
        if argv:
            self._read_command(argv)

    def read(self, line: str) -> None:
        """Take the next line of output, without escape sequences. A damaged line is ignored."""
        with suppress(ValueError):
            self._read(line)

    def _read_command(self, argv: tuple[str, ...]) -> None:  # noqa: B027 - some command lines say nothing of the load
        """Take what the command line says of the load."""

    @abstractmethod
    def _read(self, line: str) -> None:
        """Take the next line. May raise ValueError."""

    def _set(self, **changes: Any) -> None:
        self.load = replace(self.load, **changes)

    def _set_times(self, part: str = "total", /, **times: Any) -> None:
        self._times[part] = replace(self._times.get(part, StatedTimes(part)), **times)
        self._set(stated=tuple(self._times.values()))


_UNITS_MS = {
    "ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "secs": 1e3, "m": 6e4, "h": 3.6e6,
}  # fmt: skip
_UNITS_BYTES = {
    "B": 1, "bytes": 1, "kB": 1000, "KB": 1024, "MB": 1000**2, "GB": 1000**3, "TB": 1000**4,
    "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3, "TiB": 1024**4,
}  # fmt: skip
_DURATION = re.compile(r"([\d.]+)\s*(ns|us|µs|μs|ms|secs|sec|s|m|h)(?![A-Za-z])")


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


def seconds(text: str) -> float | None:
    """Parse a duration as :func:`milliseconds` does, in seconds."""
    duration = milliseconds(text)
    return None if duration is None else duration / 1000


def bytes_of(number: str, unit: str) -> int:
    """Parse a size such as ``1.5``, ``MB``. Raises ValueError for an unknown unit."""
    if unit not in _UNITS_BYTES:
        raise ValueError(f"{unit} is not a unit of size")
    return round(decimal(number) * _UNITS_BYTES[unit])


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
