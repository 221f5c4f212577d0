"""One raw reading of a machine, near or far: texts of files and of processes, and the machine's own clock."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from collectors.errors import AbsentError
from loadtop.i18n import Message, Translatable, verbatim

LIMIT_BYTES = 1 << 20
"""No file is read beyond this: none of those wanted is as long, whatever a machine prints."""

IDLE_EVERY = 5
"""Processes that sleep are read once in so many samples."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to read, at most ``limit`` bytes of it. A transport may leave out lines that do not match the extended
    regular expression ``lines``. A path that ends in ``/`` is a directory of symbolic links: its text is the target of
    each, one a line. The transport itself makes the text of a path that begins with ``@``."""

    path: str
    limit: int = LIMIT_BYTES
    lines: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """``asleep`` are processes that need to be read only once in :data:`IDLE_EVERY` readings: the transport chooses
    when. ``pss`` are those whose ``smaps_rollup`` is wanted, which may come with a later reading."""

    files: tuple[Wanted, ...]
    processes: bool = False
    asleep: frozenset[int] = frozenset()
    pss: tuple[int, ...] = ()


NO_FILE: Translatable = "no such file"
NOT_PERMITTED: Translatable = "not permitted"
UNSUPPORTED: Translatable = "not supported"
_REASONS: dict[str, Translatable] = {
    "No such file or directory": NO_FILE,
    "Not a directory": NO_FILE,
    "Permission denied": NOT_PERMITTED,
    "Operation not permitted": NOT_PERMITTED,
    "No such process": "the process has ended",
    "Operation not supported": UNSUPPORTED,
    "Not supported": UNSUPPORTED,
}
"""What the C library says of an error, in our words."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no text: in our words, or in the system's own."""

    reason: str

    @classmethod
    def because(cls, system: str) -> "Missing":
        """For what the C library, or a program there, says of an error."""
        return cls(_REASONS.get(system, system.lower()[:80]))

    @property
    def message(self) -> Message:
        return Message(self.reason) if self.reason in _REASONS.values() else verbatim(self.reason)

    def at(self, path: str) -> Message:
        return Message("{path}: {reason}", path=path, reason=self.message)


def lines_of(text: str | Missing | None) -> list[str]:
    """Without line ends; none where there is no text."""
    return text.splitlines() if isinstance(text, str) else []


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """The fields wanted of one ``stat``: ticks since boot, resident memory in pages."""

    pid: int
    name: str
    state: str
    parent: int
    threads: int
    cpu_ticks: int
    started_ticks: int
    rss_pages: int


class Texts(Protocol):
    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        """The texts of files now, by path. Raises :class:`~collectors.errors.TransportError`."""
        ...


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read at ``at``, the machine's own uptime in seconds (on Linux that of CLOCK_BOOTTIME).

    ``processes`` maps a pid to its ``stat`` (a text, or what it tells), ``pss`` to the text of its ``smaps_rollup``;
    ``pids`` are all that exist. ``own`` are processes of loadtop itself: they and their descendants are the
    generator's. ``seconds`` is the time that each file took where the transport can tell."""

    at: float
    files: Mapping[str, str | Missing]
    page_kb: int = 4
    processes: Mapping[int, str | ProcessStat] | Missing = Missing("not asked for")
    pids: frozenset[int] = frozenset()
    pss: Mapping[int, str | Missing] = field(default_factory=dict[int, str | Missing])
    own: frozenset[int] = frozenset()
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])

    def text(self, path: str) -> str:
        """The text of a file that is needed; raises :class:`AbsentError` with the reason where there is none."""
        text = self.files.get(path, Missing("not read"))
        if isinstance(text, Missing):
            raise AbsentError(text.at(path))
        return text

    def optional(self, path: str) -> str | None:
        text = self.files.get(path)
        return text if isinstance(text, str) else None


@dataclass(frozen=True, slots=True)
class Page:
    """``url`` is without user and password, ``text`` is cut at 1 MiB; ``took_s`` runs from the request's start to the
    last byte."""

    url: str
    status: int
    content_type: str
    text: str
    took_s: float


def without_credentials(url: str) -> str:
    """The URL as it may be shown and recorded: without user and password. What is no URL is not shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def page_url(url: str, path: str, key: str = "", without: Collection[str] = ()) -> str:
    """The URL of a status page: with the usual path where it has none, and with a key in its query in place of others.
    Anything but a URL is given back: fetching it says so."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError:
        return url
    keys = [each for each in parts.query.split("&") if each and each not in without]
    if key and key not in keys:
        keys.append(key)
    path = path if parts.path in ("", "/") else parts.path
    return urlunsplit((parts.scheme, parts.netloc, path, "&".join(keys), ""))


class Connection(Protocol):
    """Where pages and answers come from."""

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """A page, fetched from that machine. Raises :class:`~collectors.errors.FetchError`."""
        ...

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        """All that a stream socket of that machine answers: ``HOST:PORT``, or the path of a unix socket. Raises
        :class:`~collectors.errors.FetchError`."""
        ...

    async def close(self) -> None: ...


class Transport(Connection, Protocol):
    """One machine with /proc. Calls of :meth:`read` do not overlap; the others may run beside it."""

    source: str
    """``local`` or ``ssh://...``, for people."""

    async def read(self, request: Request) -> Reading:
        """One reading, on the machine's own clock. Raises :class:`~collectors.errors.TransportError`."""
        ...
