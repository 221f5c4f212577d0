"""One raw reading of a machine: texts of files and of processes, and the machine's own clock, before any parse.

A reading is the only thing that differs between a near and a far machine; every parser works on its texts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from collectors.errors import AbsentError

LIMIT_BYTES = 1 << 20
"""No file is read beyond this: none of those wanted is as long, whatever a machine prints."""

IDLE_EVERY = 5
"""Processes that sleep are read once in so many samples."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to read, at most ``limit`` bytes of it.

    ``lines`` is an extended regular expression for the lines that are needed: a transport may leave out the others.
    A path that ends in ``/`` is a directory of symbolic links: its text is the target of each, one a line. A path that
    begins with ``@`` is no file but something that the transport makes a text of (see :mod:`collectors.linux.tcp`).
    """

    path: str
    limit: int = LIMIT_BYTES
    lines: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What one reading shall contain.

    ``asleep`` are processes that need to be read only once in :data:`IDLE_EVERY` readings: the transport chooses when.
    ``pss`` are those whose ``smaps_rollup`` is
    wanted, which may come with a later reading.
    """

    files: tuple[Wanted, ...]
    processes: bool = False
    asleep: frozenset[int] = frozenset()
    pss: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no text: ``no such file``, ``not permitted``, or the system's own words."""

    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read at ``at``, the machine's own uptime in seconds (on Linux that of CLOCK_BOOTTIME).

    ``processes`` maps a pid to the text of its ``stat``, ``pss`` to that of its ``smaps_rollup``; ``pids`` are all that
    exist, also those not read. ``own`` are the processes of loadtop itself on that machine: they and their descendants
    are the generator's. ``seconds`` is the time that each file took where the transport can tell.
    """

    at: float
    files: Mapping[str, str | Missing]
    page_kb: int = 4
    processes: Mapping[int, str] | Missing = Missing("not asked for")
    pids: frozenset[int] = frozenset()
    pss: Mapping[int, str | Missing] = field(default_factory=dict[int, str | Missing])
    own: frozenset[int] = frozenset()
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    def text(self, path: str) -> str:
        """The text of a file that is needed; raises :class:`AbsentError` with the reason where there is none."""
        text = self.files.get(path, Missing("not read"))
        if isinstance(text, Missing):
            raise AbsentError(f"{path}: {text.reason}")
        return text

    def optional(self, path: str) -> str | None:
        """The text of a file that may be missing."""
        text = self.files.get(path)
        return text if isinstance(text, str) else None
