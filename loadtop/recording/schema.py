"""The tables of a recording: which part of the model is kept where, in which columns.

Frames are numbered from 1 and kept in blocks of :data:`BLOCK`. What is measured in every interval has one row per
thing and block, in a table named ``*_block``: its ``id`` says which block, machine and thing (:func:`line_id`), and
each number of the model is a series (see :mod:`loadtop.recording.series`) in two columns, ``NAME_from`` and ``NAME``.
Two series are in every row: ``place`` (0 while there is no such thing, otherwise its place among those of its kind,
from 1) and ``missing`` (a bit for each column, from the least, that was not measured; its series stands still then).

The rows of the newest block are replaced with every frame, so the file is complete after each. Everything that frames
refer to by number (names, texts, what a diagnosis says) is written once, when it is first seen. Each row ends with the
CRC-32 of what it holds. The views of :mod:`loadtop.recording.views` take all this apart again; people query those.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum, StrEnum
from types import NoneType, UnionType
from typing import Any, get_args

from loadtop.model import (
    CgroupLimits,
    CpuTimes,
    Disk,
    EngineWorker,
    Failures,
    GeneratorSample,
    Listener,
    LoadSample,
    Memory,
    Network,
    Paging,
    Pressure,
    Process,
    Scheduler,
    StatedTimes,
    Swap,
    Tcp,
)
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool

APPLICATION_ID = 0x4C6F5470
"""``LoTp`` in the file's header (bytes 68 to 71), so that file(1) and loadtop itself know a recording."""

SCHEMA_VERSION = 1
"""Kept in ``PRAGMA user_version``, to be raised when the same columns begin to mean something else.

A recording of a greater one is refused, and so is one with columns or parts that are not known. What an older one lacks
gets the defaults of the model: a new field of the model needs a default value and nothing here."""

BLOCK = 64
"""Frames in a block. Longer ones are smaller in the end, but each frame rewrites all that a block holds so far."""


class Kind(Enum):
    """How a field is kept as numbers."""

    WHOLE = "whole"
    REAL = "real"
    TEXT = "text"
    """The number of a row of ``text``."""


@dataclass(frozen=True, slots=True)
class Column:
    """A field as a series. ``type`` is the field's own, without ``None``."""

    name: str
    kind: Kind
    type: Any
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of thing that is measured, and its table. ``keys`` are the fields that tell several apart; ``sparse``:
    most stay as they are for many intervals."""

    name: str
    type: Any
    columns: tuple[Column, ...]
    keys: tuple[str, ...] = ()
    sparse: bool = False

    @property
    def table(self) -> str:
        return f"{self.name}_block"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def among(self, stored: frozenset[str]) -> "Part":
        """This part with the columns only that an older file has."""
        return replace(self, columns=tuple(column for column in self.columns if column.name in stored))


def _part(name: str, model: Any, keys: tuple[str, ...] = (), *, sparse: bool = False) -> Part:
    """A part with a column for each field that is a number or a text."""
    columns: list[Column] = []
    for field in fields(model):
        base, nullable = _bare(field.type)
        kind = _kind(base)
        if kind is None or field.name in keys:
            continue
        columns.append(Column(field.name, kind, base, nullable))
    return Part(name, model, tuple(columns), keys, sparse)


def _bare(annotation: Any) -> tuple[Any, bool]:
    """The type without ``None``, and whether ``None`` is one of its values."""
    if not isinstance(annotation, UnionType):
        return annotation, False
    return next(option for option in get_args(annotation) if option is not NoneType), True


def _kind(base: Any) -> Kind | None:
    if not isinstance(base, type):
        return None
    if issubclass(base, StrEnum | str):
        return Kind.TEXT
    if issubclass(base, int):
        return Kind.WHOLE
    return Kind.REAL if issubclass(base, float) else None


LOAD = _part("load", LoadSample)
FAILURES = _part("failures", Failures)
GENERATOR = _part("generator", GeneratorSample)
STATED = _part("stated", StatedTimes, ("part",))
ENGINE_WORKER = _part("engine_worker", EngineWorker, ("name", "host"))
WORKER = Part("worker", None, (Column("cpu_s", Kind.REAL, float),), ("number",))
SERVER = Part("server_seen", None, (Column("server", Kind.WHOLE, int),))
SAMPLE = Part(
    "sample",
    None,
    (
        Column("fresh", Kind.WHOLE, bool),
        Column("problem", Kind.TEXT, str),
        Column("back", Kind.WHOLE, int, nullable=True),
        Column("previous", Kind.WHOLE, int, nullable=True),
        Column("measured", Kind.WHOLE, int),
        Column("machine", Kind.WHOLE, int),
        Column("outcomes", Kind.WHOLE, int),
        Column("uptime_s", Kind.REAL, float),
        Column("took_s", Kind.REAL, float),
    ),
)
"""A machine in a frame. ``back``: its sample was stored so many frames before; ``previous``: the fresh one before this
is so many frames back; ``measured``: bits of :data:`LISTS`."""

OUTCOME = Part("outcome", None, (Column("duration_s", Kind.REAL, float),), ("number",))
CPU = _part("cpu", CpuTimes)
CORE = _part("core", CpuTimes, ("id",))
SCHEDULER = _part("scheduler", Scheduler)
MEMORY = _part("memory", Memory)
SWAP = _part("swap", Swap)
PAGING = _part("paging", Paging)
PRESSURE = _part("pressure", Pressure)
TCP = _part("tcp", Tcp)
LISTENER = _part("listener", Listener, ("port",))
CGROUP = _part("cgroup", CgroupLimits)
CGROUP_PRESSURE = _part("cgroup_pressure", Pressure)
DISK = _part("disk", Disk, ("name",))
NETWORK = _part("network", Network, ("name",))
PROCESS = _part("process", Process, ("pid", "name", "group", "started_ticks"), sparse=True)
SERVERS = ("apache", "fpm", "haproxy")

APACHE = _part("apache", ApacheStatus, ("url",))
FPM = _part("fpm", FpmPool, ("pool",))
HAPROXY = _part("haproxy", HaproxyProxy, ("proxy", "server"))

SINGLES = (SCHEDULER, MEMORY, SWAP, PAGING, PRESSURE)
"""Parts of a sample that are one object, by the sample's attribute of the same name."""

LISTS = {
    "disks": DISK,
    "networks": NETWORK,
    "processes": PROCESS,
    "apache": APACHE,
    "fpm": FPM,
    "haproxy": HAPROXY,
}
"""Parts of a sample of which there may be several, or none, or which were not measured; by the sample's attribute."""

LOAD_PARTS = (LOAD, FAILURES, GENERATOR, STATED, ENGINE_WORKER, WORKER, SERVER)
SAMPLE_PARTS = (OUTCOME, CPU, CORE, *SINGLES, TCP, LISTENER, CGROUP, CGROUP_PRESSURE, *LISTS.values())
PARTS = (*LOAD_PARTS, SAMPLE, *SAMPLE_PARTS)

SESSION = "schema INTEGER, started REAL, url TEXT, version TEXT, interval_s REAL, title TEXT, tables INTEGER"
"""The one row about the recording as a whole; the words of the command line are in ``word``.
``tables`` is the check sum of what made the tables."""

DEFINITIONS = {
    "text": "text TEXT",
    "host": "name TEXT, role TEXT, nth INTEGER",
    "machine": (
        "host TEXT, hostname TEXT, source TEXT, system TEXT, kernel TEXT, cores INTEGER, memory_kb INTEGER, "
        "page_kb INTEGER"
    ),
    "thing": "part TEXT, name TEXT, detail TEXT, nth INTEGER",
    "task": "pid INTEGER, name TEXT, process_group TEXT, started_ticks INTEGER, nth INTEGER",
    "outcomes": "collectors TEXT",
    "server": (
        "software TEXT, hostname TEXT, port INTEGER, path TEXT, document_bytes INTEGER, tls TEXT, tls_key TEXT, "
        "tls_name TEXT, proxy TEXT"
    ),
    "claim": "bottleneck TEXT, host TEXT, confidence REAL, advice TEXT, criteria TEXT",
    "criterion": "metric TEXT, host TEXT, threshold REAL, unit TEXT, source TEXT, below INTEGER",
}
"""What other rows refer to by ``id``."""

FRAME_TABLES = {
    "frame": ("id INTEGER PRIMARY KEY, number INTEGER, at REAL, wall REAL, findings TEXT, rows INTEGER, lines INTEGER"),
    "latency_histogram": (
        "id INTEGER PRIMARY KEY, count INTEGER, sum_us INTEGER, sum_squares_us2 INTEGER, min_us INTEGER, "
        "max_us INTEGER, histogram TEXT"
    ),
    "finding": (
        "frame INTEGER, position INTEGER, claim INTEGER, since_s REAL, held_s REAL, evidence TEXT, symptoms TEXT"
    ),
    "mark": "frame INTEGER, position INTEGER, text TEXT",
}
"""Rows of single frames. ``frame`` counts the others of its own, and all lines of its block so far: none is missing
unnoticed."""

DIGEST = "frame INTEGER, maker TEXT, state BLOB"
"""The one row that adds up the frames up to this one, see :mod:`loadtop.recording.digest`. A recording may lack it."""

TWO_KEYS = frozenset({"finding", "mark"})
"""Those with a primary key of two columns."""

HOSTS = 1 << 10
THINGS = 1 << 24
"""How many machines, and things of a kind, a recording can tell apart: 24 h of a new process each 5 ms."""

KINDS = 8
"""The ``id`` of a row of ``latency_histogram`` is that of its frame times this, plus what it counts."""

LATENCIES = ("total", "connect", "processing", "waiting", "corrected")
"""What a row of ``latency_histogram`` can count, by number."""


TABLES = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name"
"""What made the tables of a recording."""


def line_id(first: int, host: int, thing: int) -> int:
    """The ``id`` of a row of a ``*_block`` table: rows of a block are neighbours."""
    return (first // BLOCK * HOSTS + host) * THINGS + thing


def host_and_thing(line: int) -> tuple[int, int]:
    """What :func:`line_id` was given beside the block."""
    host, thing = divmod(line, THINGS)
    return host % HOSTS, thing


def statements() -> Iterator[str]:
    """What makes the tables of an empty recording."""
    yield f"CREATE TABLE session ({SESSION}, crc INTEGER)"
    yield "CREATE TABLE tick (i INTEGER PRIMARY KEY)"
    yield f"INSERT INTO tick VALUES {', '.join(f'({i})' for i in range(BLOCK))}"  # noqa: S608 - whole numbers
    yield "CREATE TABLE word (position INTEGER PRIMARY KEY, text TEXT, crc INTEGER)"
    for table, columns in {**DEFINITIONS, "digest": DIGEST}.items():
        yield f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, {columns}, crc INTEGER)"
    for table, columns in FRAME_TABLES.items():
        keys = ", PRIMARY KEY (frame, position)) WITHOUT ROWID" if table in TWO_KEYS else ")"
        yield f"CREATE TABLE {table} ({columns}, crc INTEGER{keys}"
    for part in PARTS:
        series = ", ".join(f'"{name}_from", "{name}" TEXT' for name in ("place", "missing", *part.names))
        yield (f"CREATE TABLE {part.table} (id INTEGER PRIMARY KEY, {series}, crc INTEGER)")
