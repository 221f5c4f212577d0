"""What every kind of server has in common: its role in the path of a request, and the shape of one reading.

The fields of a reading are declared with ``Label``, ``Limit``, ``Gauge`` and :func:`counter`. Rates, JSON, tables
and exports follow from these declarations.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from msgspec import Struct

from loadtop.i18n import Message, Text, verbatim


class Role(StrEnum):
    """What a server does with a request, from the client to the data."""

    PROXY = "proxy"
    WEB = "web server"
    APPLICATION = "application pool"
    CACHE = "cache"
    DATABASE = "database"


SERVING = (Role.PROXY, Role.WEB, Role.APPLICATION)
"""Servers that take the tested requests. Databases and caches are asked by them, or by something else."""


class ServerKind(Struct, frozen=True):
    """A kind of server as rates and rules see it. ``name`` is its key in samples, JSON, options and recordings;
    ``group`` is what its processes are listed under. ``pause`` is the setting by which requests wait for a timer in its
    event loop, without a thread of their own; empty where they cannot."""

    name: str
    group: str
    role: Role
    pause: str = ""


class Measure(StrEnum):
    """What a field of a reading is: identifying text, a configured limit, a value now, a count since the start."""

    LABEL = "label"
    LIMIT = "limit"
    GAUGE = "gauge"
    COUNTER = "counter"


class Column(Struct, frozen=True):
    """A declared field of a reading. ``json`` is its name in JSON and tables; that of a counter is its rate's."""

    field: str
    measure: Measure
    json: str


class Declared(Struct, frozen=True):
    """How a field of a reading is declared; ``json`` is its name in JSON, where that is another one."""

    measure: Measure
    json: str = ""


T = TypeVar("T")
Label = Annotated[T, Declared(Measure.LABEL)]  # a field that says which server it is, or how it is set up
Limit = Annotated[T, Declared(Measure.LIMIT)]  # a configured limit; ``None`` if the configuration cannot be read
Gauge = Annotated[T, Declared(Measure.GAUGE)]  # a value at the moment of the reading


def counter(rate: str) -> Declared:
    """A count since the server's start, with the name of its rate: ``Annotated[int, counter("kb_s")]``."""
    return Declared(Measure.COUNTER, rate)


class WorkerLimit(Struct, frozen=True):
    """The setting that limits a server's workers: what it is called, the group of its processes, its value now."""

    setting: Text
    group: str
    now: int | None


FULL_PCT = 95.0
"""Percent of the slots, of the connections or of its one thread from which a server is full: Linuxfabrik's critical
value for web servers and proxies."""


class Blocker(Struct, frozen=True, kw_only=True):
    """The session of a database that blocks most others by a lock, directly or through others that wait.

    ``session`` is its number there, 0 that of a prepared transaction. The longest of the ``blocked`` has waited for
    ``waited_ms``. ``idle``: it executes no statement and keeps its transaction open. ``statement`` is the kind of its
    statement (``UPDATE``), of an idle one that of its last, as far as it is known. ``mode`` and ``table`` are those of
    the lock.
    """

    session: int
    blocked: int
    waited_ms: int = 0
    idle: bool = False
    statement: str = ""
    mode: str = ""
    table: str = ""

    @property
    def activity(self) -> Message:
        """``idle in transaction, last statement UPDATE``."""
        if self.idle and self.statement:
            return Message("idle in transaction, last statement {statement}", statement=self.statement)
        return Message("idle in transaction") if self.idle else verbatim(self.statement or "-")

    @property
    def lock(self) -> Message:
        """``shop.stock (X)``."""
        if not self.table:
            return verbatim(self.mode or "-")
        return Message("{table} ({mode})", table=self.table, mode=self.mode or "-")


class ServiceState(Struct, frozen=True, kw_only=True):
    """How full a database or cache says that it is; ``None`` where it does not tell or has no such limit.

    ``kind`` is the name of the kind of server. ``port`` is the TCP port on which it says that it listens, ``address``
    where it was asked. ``connected`` sessions are open of ``connection_limit``, ``running`` of them are at work, and
    ``lock_waits`` of those wait for locks. ``thread_pct`` is how busy the one thread is that executes all commands, in
    percent of a core. ``refuses``: it turned a connection away because it has too many. ``blocker`` is the session
    for whose locks most others wait.
    """

    kind: str
    address: str
    port: int | None = None
    connected: int | None = None
    connection_limit: int | None = None
    running: int | None = None
    lock_waits: int | None = None
    thread_pct: float | None = None
    refuses: bool = False
    blocker: Blocker | None = None

    @property
    def connected_pct(self) -> float | None:
        """Percent of its connections that are open."""
        if self.connected is None or not self.connection_limit:
            return None
        return 100.0 * self.connected / self.connection_limit

    @property
    def is_full(self) -> bool:
        """Whether it has no connection left, or its thread fills a core."""
        shares = (self.connected_pct, self.thread_pct)
        return self.refuses or any(share is not None and share >= FULL_PCT for share in shares)


class ServerReading(Struct, frozen=True):
    """One reading of one server, or of one pool or proxy in it. Each kind of server has a subclass."""

    @property
    def key(self) -> str:
        """The identity of this server among others of its kind on the same host."""
        raise NotImplementedError

    @property
    def read_at(self) -> float | None:
        """When it was read (field ``at``), on its host's uptime clock in s; ``None``: with the host's sample."""
        return getattr(self, "at", None)

    @property
    def age_s(self) -> int | None:
        """Seconds since the server started (a field ``uptime_s``): counters of a younger server started again."""
        return getattr(self, "uptime_s", None)

    @property
    def slots(self) -> int | None:
        """How many requests it serves at once; ``None`` where it has no such limit or it is not known."""
        return None

    @property
    def queued(self) -> int | None:
        """Requests that it has accepted and that wait in it for a worker, or for a server behind it."""
        return None

    @property
    def worker_limit(self) -> WorkerLimit | None:
        """The setting to change for more or fewer workers."""
        return None

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState | None:  # noqa: ARG002 - for subclasses
        """How full a database or cache says that it is, given the rates of its counters; ``None`` for other kinds."""
        return None


class _Service(ServerReading, frozen=True):
    address: Label[str]
    version: Label[str] = ""

    @property
    def key(self) -> str:
        return self.address


class ServiceReading(_Service, frozen=True, kw_only=True):
    """One reading of a database or cache. ``refuses``: it has too many connections to take one more, and nothing else
    is known. ``at`` is when the answer came, on the uptime clock of its host. ``blocker`` blocks most of the sessions
    that wait. ``setting`` limits its connections; ``counted`` and ``limited`` are the fields with their number, the one
    that asks among them, and with that limit."""

    setting: ClassVar[str] = "max_connections"
    counted: ClassVar[str] = "connected"
    limited: ClassVar[str] = "max_connections"

    refuses: Label[bool] = False
    port: int | None = None
    uptime_s: int | None = None
    at: float | None = None
    blocker: Blocker | None = None

    @property
    def configured(self) -> int | None:
        """The value of the setting."""
        value: int | None = getattr(self, self.limited)
        return value

    @property
    def usable(self) -> int | None:
        """Connections that ordinary users can have."""
        return self.configured

    @property
    def full(self) -> float | None:
        """Percent of the usable connections that are open; ``None`` where either number is not known."""
        return 100.0 if self.refuses else self.state("").connected_pct

    @property
    def refusal(self) -> Message | None:
        """That it refuses connections, if it does."""
        text = "{address} refuses connections: {setting} is reached"
        return Message(text, address=self.address, setting=self.setting) if self.refuses else None

    def service(self, per_second: Mapping[str, float | None]) -> ServiceState:
        raise NotImplementedError

    def state(self, kind: str, refused: float | None = None, **more: Any) -> ServiceState:
        """What :meth:`service` says, with ``more`` of its fields; ``refused`` are connections per second."""
        return ServiceState(
            kind=kind,
            address=self.address,
            port=self.port,
            connected=getattr(self, self.counted),
            connection_limit=self.usable,
            refuses=self.refuses or bool(refused),
            blocker=self.blocker,
            **more,
        )


def columns(record: type[ServerReading], *measures: Measure) -> tuple[Column, ...]:
    """The declared fields of a type of reading, in order: those of some measures, or all."""
    if (record, measures) not in _COLUMNS:
        hints = get_type_hints(record, include_extras=True)
        known = [
            Column(name, declared.measure, declared.json or name)
            for name, hint in hints.items()
            for declared in getattr(hint, "__metadata__", ())
        ]
        _COLUMNS[record, measures] = tuple(each for each in known if not measures or each.measure in measures)
    return _COLUMNS[record, measures]


_COLUMNS: dict[tuple[type[ServerReading], tuple[Measure, ...]], tuple[Column, ...]] = {}
