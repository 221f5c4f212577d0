"""The kernel's raw counters, read and subtracted by the lab itself: what loadtop says is held against these."""

import threading
import time
from pathlib import Path
from typing import Self

from msgspec import Struct

PERIOD_S = 0.25
PAGE_KB = 4


class Reading(Struct, frozen=True):
    """Processor ticks by state and pages swapped since boot. ``at`` is the monotonic clock in seconds."""

    at: float
    user: int
    system: int
    idle: int
    iowait: int
    steal: int
    swapped_in: int
    swapped_out: int

    @property
    def ticks(self) -> int:
        return self.user + self.system + self.idle + self.iowait + self.steal


class Change(Struct, frozen=True):
    """Between two readings: processor states in percent, swap traffic in kB/s."""

    seconds: float
    user: float
    system: float
    idle: float
    iowait: float
    swap_in_kb_s: float
    swap_out_kb_s: float

    @classmethod
    def between(cls, before: Reading, after: Reading) -> "Change":
        ticks = max(after.ticks - before.ticks, 1)
        seconds = after.at - before.at
        return cls(
            seconds=seconds,
            user=100 * (after.user - before.user) / ticks,
            system=100 * (after.system - before.system) / ticks,
            idle=100 * (after.idle - before.idle) / ticks,
            iowait=100 * (after.iowait - before.iowait) / ticks,
            swap_in_kb_s=PAGE_KB * (after.swapped_in - before.swapped_in) / seconds,
            swap_out_kb_s=PAGE_KB * (after.swapped_out - before.swapped_out) / seconds,
        )


def read_counters() -> Reading:
    """/proc/stat's first line (see proc(5)) and the swap counters of /proc/vmstat."""
    at = time.monotonic()
    fields = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, idle, iowait, irq, softirq, steal = fields[:8]
    pages = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    return Reading(
        at=at, user=user + nice, system=system + irq + softirq, idle=idle, iowait=iowait, steal=steal,
        swapped_in=int(pages["pswpin"]), swapped_out=int(pages["pswpout"]),
    )  # fmt: skip


class Repeatedly:
    """Calls :meth:`read` four times a second in a thread while a load runs."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def read(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._ended.wait(PERIOD_S):
            self.read()


class Counters(Repeatedly):
    """The counters before a load and while it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = [read_counters()]

    def read(self) -> None:
        self.readings.append(read_counters())

    def changes(self) -> list[tuple[float, Change]]:
        """When each period began (monotonic clock), and what changed in it."""
        pairs = zip(self.readings, self.readings[1:], strict=False)
        return [(before.at, Change.between(before, after)) for before, after in pairs]

    def between(self, began: float, ended: float) -> Change:
        """What changed over the readings taken in that time."""
        inside = [reading for reading in self.readings if began <= reading.at <= ended]
        return Change.between(inside[0], inside[-1])
