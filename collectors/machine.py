"""A machine local or remote: how its files and pages are read, and how it is sampled."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct, field

from collectors.errors import AbsentError, ParseError
from loadtop.i18n import Message, Text, Translatable, verbatim
from loadtop.model import Cause, HostSample, Outcome, State

T = TypeVar("T")

_BATCH = 8

LIMIT_BYTES = 1 << 20  # no file is read beyond this: none of those wanted is as long, whatever a machine prints
IDLE_EVERY = 20
"""Processes that sleep are read once in so many samples, and when someone uses CPU time unseen. A transport may report
one that hardly runs as unchanged for twice as long, a thread of the kernel until it has run for a tick."""


class Wanted(Struct, frozen=True):
    """A file to read, at most ``limit`` bytes of it. A transport may leave out lines that do not match the extended
    regular expression ``lines``. A path that ends in ``/`` is a directory of symbolic links: its text is the target of
    each, one a line. The transport itself makes the text of a path that begins with ``@``. A ``regular`` file is not
    opened if it is a pipe or a device: so are files that the kernel did not put there."""

    path: str
    limit: int = LIMIT_BYTES
    lines: str = ""
    regular: bool = False

    @property
    def made_of(self) -> tuple[str, str]:
        """What the transport makes and of what: ``@holders`` and ``1,2`` of ``@holders/1,2``. Of a file, the first is
        empty."""
        what, _, words = self.path.partition("/")
        return what, words


class Request(Struct, frozen=True):
    """``asleep`` are processes that need to be read only once in :data:`IDLE_EVERY` readings: the transport chooses
    when. ``pss`` are those whose ``smaps_rollup`` is wanted, which may come with a later reading, ``waits`` those whose
    ``schedstat`` is wanted, with the number of their threads. ``threads``, as ``PID/task/TID``, are those of which the
    next such reading is to tell where they wait. Of more sockets than are read, those at ``ports`` come first."""

    files: tuple[Wanted, ...]
    processes: bool = False
    asleep: frozenset[int] = frozenset()
    pss: tuple[int, ...] = ()
    waits: Mapping[int, int] = field(default_factory=dict[int, int])
    threads: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset()


NO_FILE: Translatable = "no such file"
NOT_PERMITTED: Translatable = "not permitted"
UNSUPPORTED: Translatable = "not supported"
NO_REGULAR_FILE: Translatable = "not a regular file"
FOREIGN_PROCESS: Translatable = "not read, for safety: the process belongs to neither root nor this user"
_REASONS: dict[str, Translatable] = {  # what the C library says of an error, in our words
    "No such file or directory": NO_FILE,
    "Not a directory": NO_FILE,
    "Permission denied": NOT_PERMITTED,
    "Operation not permitted": NOT_PERMITTED,
    "No such process": "the process has ended",
    "Operation not supported": UNSUPPORTED,
    "Not supported": UNSUPPORTED,
    NO_REGULAR_FILE: NO_REGULAR_FILE,  # ours, also on a remote host
    FOREIGN_PROCESS: FOREIGN_PROCESS,
}


class Missing(Struct, frozen=True):
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


NOT_REGULAR = Missing(NO_REGULAR_FILE)
FOREIGN = Missing(FOREIGN_PROCESS)


def lines_of(text: str | Missing | None) -> list[str]:
    """Without line ends; none where there is no text."""
    return text.splitlines() if isinstance(text, str) else []


def batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """So many files or directories at once that a remote host answers within its limits of time and size."""
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


class ProcessStat(Struct, frozen=True):
    """The fields wanted of one ``stat``: ticks since boot, resident memory in pages. ``ended_ticks`` is the CPU time of
    children that have ended, with that of their own ended children."""

    pid: int
    name: str
    state: str
    parent: int
    threads: int
    cpu_ticks: int
    started_ticks: int
    rss_pages: int
    ended_ticks: int = 0


class Texts(Protocol):
    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        """The texts of files now, by path. Raises :class:`~collectors.errors.TransportError`."""
        ...


class Reading(Struct, frozen=True):
    """What was read at ``at``, the machine's own uptime in seconds (on Linux that of CLOCK_BOOTTIME).

    ``processes`` maps a pid to its ``stat`` (a text, or what it tells), ``pss`` to the text of its ``smaps_rollup``;
    ``pids`` are all that exist. ``own`` are processes of loadtop itself: they and their descendants are the
    generator's. ``seconds`` is the time that each file took where the transport can tell. ``waits`` maps a pid to a
    line for each thread: its number and its ``schedstat``. What did nothing since the last such reading may be missing.
    ``wchan`` maps a thread that the request before named to lines of :mod:`collectors.linux.sleeping`, from several
    moments since then where the transport can look at that many."""

    at: float
    files: Mapping[str, str | Missing]
    page_kb: int = 4
    processes: Mapping[int, str | ProcessStat] | Missing = Missing("not requested")
    pids: frozenset[int] = frozenset()
    pss: Mapping[int, str | Missing] = field(default_factory=dict[int, str | Missing])
    own: frozenset[int] = frozenset()
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    waits: Mapping[int, str] = field(default_factory=dict[int, str])
    wchan: Mapping[str, str] = field(default_factory=dict[str, str])

    def text(self, path: str) -> str:
        """The text of a file that is needed; raises :class:`AbsentError` with the reason if there is none."""
        text = self.files.get(path, Missing("not read"))
        if isinstance(text, Missing):
            raise AbsentError(text.at(path))
        return text

    def optional(self, path: str) -> str | None:
        text = self.files.get(path)
        return text if isinstance(text, str) else None


class Page(Struct, frozen=True):
    """``url`` is without credentials, ``text`` cut at 1 MiB, ``took_s`` from the request to the last byte, which came
    at ``came`` (by ``time.monotonic``). :class:`~collectors.background.StatusPage` measures both where they are 0."""

    url: str
    status: int
    text: str
    took_s: float = 0.0
    came: float = 0.0


def without_credentials(url: str) -> str:
    """The URL as it may be shown and recorded: without user and password. What is no URL is not shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(not a URL)"
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def page_url(url: str, path: str, key: str = "", without: Collection[str] = ()) -> str:
    """The URL of a status page: with the usual path where it has none, and with a key in its query instead of others.
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
        """All that ``HOST:PORT`` or a unix socket (a path) answers. Raises :class:`~collectors.errors.FetchError`."""
        ...

    async def ask_again(self, address: str, question: bytes, replies: int, timeout_s: float) -> Page | None:
        """The given number of RESP ``replies``, on a connection that stays open there, a character for each byte;
        ``None`` where the server has to be asked another way. Raises :class:`~collectors.errors.FetchError`."""
        ...

    async def reach(self, address: str) -> str:
        """The address, or a unix socket here that leads to it. Raises :class:`~collectors.errors.FetchError`."""
        ...

    async def close(self) -> None: ...


class Transport(Connection, Protocol):
    """One machine with /proc. Calls may overlap, except those of :meth:`read` with ``processes``."""

    source: str  # ``local`` or ``ssh://...``, for people

    async def read(self, request: Request) -> Reading:
        """One reading, on the machine's own clock. Raises :class:`~collectors.errors.TransportError`."""
        ...

    async def profile(self, pids: Sequence[int]) -> str:
        """Sample for a few seconds where the CPU time goes, as text for :mod:`collectors.linux.profile`. ``pids`` are
        the processes of interest, the busiest first. Raises :class:`~collectors.errors.TransportError`."""
        ...


ANY_IPV4, ANY_IPV6 = "0.0.0.0", "::"  # noqa: S104 - every address of a machine, as the kernel has it
EVERYWHERE = ("", "*", "[::]", ANY_IPV4, ANY_IPV6)  # as a configuration may have it, too


class Endpoint(Struct, frozen=True):
    """Where a process listens: an address (``0.0.0.0`` and ``::`` are all of them) and a port, or the path of a unix
    socket with the port 0."""

    address: str
    port: int

    def __str__(self) -> str:
        if self.address.startswith("/"):
            return self.address
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    @property
    def from_here(self) -> "Endpoint":
        """The same as its own machine can ask it."""
        return Endpoint({ANY_IPV4: "127.0.0.1", ANY_IPV6: "::1"}.get(self.address, self.address), self.port)


class Member(Struct, frozen=True):
    """A process, and the group to which its name or its parents make it belong."""

    pid: int
    name: str
    group: str


class Machine(Texts, Connection, Protocol):
    """One machine. Calls of :meth:`sample` do not overlap; the others may run beside it."""

    async def sample(self) -> HostSample:
        """Everything but servers' pages, with an empty name. Raises :class:`~collectors.errors.TransportError`."""
        ...

    async def profile(self, pids: Sequence[int]) -> str:
        """Profile the machine: see :meth:`Transport.profile`."""
        ...

    def servers(self, group: str) -> tuple[int, ...]:
        """The first process of each running server of a group, as of the newest sample."""
        ...

    def tested(self, group: str) -> tuple[int, ...]:
        """The same without those that were set aside."""
        ...

    def set_aside(self, pids: frozenset[int], services: frozenset[int]) -> None:
        """Take the servers with these first processes for others than those under test from the next sample on, and
        these processes of no known kind, with all that descend from them, for services under test."""
        ...

    def lineage(self, pid: int) -> Sequence[Member]:
        """Return a process and its ancestors, without process 1 unless that is a server; empty if it has ended."""
        ...

    def prefer(self, ports: frozenset[int]) -> None:
        """Read the sockets at these ports before those at others, of which anyone can open any number."""
        ...

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:
        """Where each of these processes listens; without those that listen nowhere, or where that cannot be read."""
        ...

    def follow(self, path: str) -> None:
        """Read a file with every sample from now on."""
        ...

    def followed(self, path: str) -> str | Missing:
        """The text of such a file in the newest sample."""
        ...


class Outcomes:
    """Runs collectors one by one, notes how each fared, and how long it took with the ``seconds`` to read its files."""

    def __init__(self, seconds: Mapping[str, float] | None = None) -> None:
        self._seconds = seconds
        self.found: list[Outcome] = []

    def collect(
        self,
        name: str,
        collector: Callable[[], T],
        files: Iterable[Wanted] = (),
        lacks: Callable[[], tuple[Message | None, Cause | None]] = lambda: (None, None),
    ) -> T | None:
        """What the collector gives, or ``None``. ``lacks`` says what is missing in it, and why."""
        began = time.perf_counter()
        state = State.OK
        fix: Text = ""
        part: T | None = None
        try:
            part = collector()
            reason, cause = lacks()
        except AbsentError as absent:
            state, reason, cause, fix = absent.state, absent.message, absent.cause, absent.fix
        except ParseError as error:
            state, reason, cause = State.FAILED, verbatim(str(error)), None
        took = time.perf_counter() - began
        if self._seconds:
            took += sum(self._seconds.get(wanted.path, 0.0) for wanted in files)
        self.found.append(Outcome(name, state, reason or "", round(took, 6), cause, fix))
        return part
