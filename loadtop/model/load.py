"""The load at one moment, as its generator counts it."""

from collections.abc import Iterator
from typing import NamedTuple, Self

from msgspec import Struct

from loadtop.i18n import Message, Text, Translatable, TranslatableEnum


class Distribution(Struct, frozen=True):
    """A sparse log-linear histogram of durations in microseconds: ``counts[i]`` fell into bucket ``buckets[i]``.

    Buckets are those of :mod:`loadtop.model.histogram` (relative error below 1 %). Count, sums and extremes are exact.
    """

    count: int
    sum_us: int
    sum_squares_us2: int
    min_us: int
    max_us: int
    buckets: tuple[int, ...]
    counts: tuple[int, ...]


class Failures(Struct, frozen=True):
    """Failed requests by class, ab's classes and ``timeout``: counters since the start of the load. A class that
    another engine does not tell apart is ``None``; what it counts without saying more is ``unclassified``."""

    connect: int | None = 0
    receive: int | None = 0
    length: int | None = 0
    exceptions: int | None = 0
    timeout: int | None = 0
    unclassified: int = 0

    @classmethod
    def undivided(cls, number: int) -> Self:
        return cls(None, None, None, None, None, number)

    @property
    def total(self) -> int:
        known = (self.connect, self.receive, self.length, self.exceptions, self.timeout, self.unclassified)
        return sum(number for number in known if number is not None)


class Latencies(Struct, frozen=True):
    """What was measured of the requests that ended in one interval.

    ``corrected`` counts from the intended start (open model). ``connect`` is 0 on a reused connection, as ab has it;
    ``processing`` is total less connect, ``waiting`` from the last byte sent to the first received. ``None``: unknown.
    """

    total: Distribution
    connect: Distribution | None = None
    processing: Distribution | None = None
    waiting: Distribution | None = None
    corrected: Distribution | None = None


class GeneratorSample(Struct, frozen=True):
    """The load generator on itself: processor seconds of each worker process (counters), the seconds that each was
    runnable without a processor (counters; empty where not known), the longest delay of an event loop in the interval,
    requests started late or not at all in the open model (counters), ports and descriptors, and the periods of its
    control group's processor quota, with those in which it was stopped (counters).

    Of another engine, each thread counts as a worker; it has no event loop, and what it starts late is not known.
    """

    worker_cpu_s: tuple[float, ...]
    loop_delay_s: float | None
    late: int | None = 0
    unsent: int | None = 0
    ports_used: int | None = None
    ports_limit: int | None = None
    files_used: int | None = None
    files_limit: int | None = None
    quota_periods: int | None = None
    quota_stops: int | None = None
    worker_wait_s: tuple[float, ...] = ()


class LoadState(TranslatableEnum):
    """The life of a load: every load ends in ``done``, ``stopped`` (by the user) or ``failed``."""

    STARTING = "starting"
    WARMUP = "warmup"
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        return self in (LoadState.DONE, LoadState.STOPPED, LoadState.FAILED)


class ServerSeen(Struct, frozen=True):
    """What the first good response showed of the server. ``proxy`` is the ``HOST:PORT`` it came through, or empty."""

    software: str
    hostname: str
    port: int
    path: str
    document_bytes: int | None = None
    tls: str = ""
    tls_key: str = ""
    tls_name: str = ""
    proxy: str = ""


class StatedTimes(Struct, frozen=True):
    """Times in ms of the whole load as another engine states them, where it gives no distribution: its own figures.
    ``part`` is ``total``, ``connect``, ``processing`` or ``waiting``. What it does not state is ``None``."""

    part: str
    min_ms: float | None = None
    mean_ms: float | None = None
    sd_ms: float | None = None
    p50_ms: float | None = None
    p66_ms: float | None = None
    p75_ms: float | None = None
    p80_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p98_ms: float | None = None
    p99_ms: float | None = None
    p99_9_ms: float | None = None
    max_ms: float | None = None
    p99_99_ms: float | None = None


class EngineWorker(Struct, frozen=True):
    """A process that generates load for another engine, as reported by that engine.

    ``host`` is the machine, by the name given to loadtop; ``state`` is the engine's own word, ``missing`` if it
    no longer hears from the worker. ``users`` are those it simulates, ``cpu_pct`` is percent of a core, ``memory_kb``
    what is resident. What is not known, or not yet, is ``None``.
    """

    name: str
    host: str
    state: str
    users: int | None = None
    cpu_pct: float | None = None
    memory_kb: int | None = None

    @property
    def missing(self) -> bool:
        return self.state == MISSING

    @property
    def full(self) -> bool:
        """Whether its core is full: over :data:`WORKER_FULL_PCT`."""
        return self.cpu_pct is not None and self.cpu_pct > WORKER_FULL_PCT


class RequestRecord(Struct, frozen=True):
    """A single request. ``started`` is in seconds since the epoch. ``failure`` is its class, ``status`` where a whole
    response had another status than 2xx, or empty; ``reason`` says more. ``total_ms`` ends with the last byte, or the
    failure. What was not measured, or not reached, is ``None``. Heads are lines of text, kept with ``-v``.
    """

    started: float
    method: str
    url: str
    total_ms: float | None = None
    connect_ms: float | None = None
    sending_ms: float | None = None
    waiting_ms: float | None = None
    receiving_ms: float | None = None
    status: int | None = None
    failure: str = ""
    reason: Text = ""
    trace_id: str = ""
    request_head: str = ""
    response_head: str = ""


class Requests(Struct, frozen=True):
    """The slowest requests since the load began or its warm-up ended, the slowest first, and the first of each kind of
    failure in the order of time."""

    slowest: tuple[RequestRecord, ...] = ()
    failures: tuple[RequestRecord, ...] = ()


NO_LOCAL_PORT: Translatable = (
    "no local port is left for {server}: use -k, or wait a minute, or widen net.ipv4.ip_local_port_range"
)
"""The template of a load's message when connect(2) said EADDRNOTAVAIL."""

TOO_MANY_CONNECTIONS: Translatable = (
    "{connections} connections need more files than the limit of {limit}: "
    "raise it (ulimit -n {needed}) or use more --workers"
)
"""The template of the message of a load that one process may not open enough files for."""

RESERVED_FILES = 32  # descriptors of a generator process that are not for connections

MISSING = "missing"

WORKER_FULL_PCT = 90.0  # percent of a core at which Locust itself warns about a worker


class LoadSample(Struct, frozen=True):
    """The load at one moment. Counters run since the end of the warm-up; ``latencies`` holds this interval only.

    ``at`` is the generator's monotonic clock in seconds, ``elapsed_s`` the time since the first request after the
    warm-up. ``message`` says in one line what went wrong and what to do about it. Bytes are those on the wire
    (``body_bytes``: bodies only). ``step`` counts from 1. ``target_requests`` and ``target_s`` are where the load ends.
    ``keepalive`` says whether connections are to be reused, ``with_body`` that requests have bodies. ``server_errors``
    are answers with a status of 500 or more, or 429 (too many requests); ``pending`` are requests that had no answer
    when the load ended.

    What the engine does not measure, or not yet, is ``None``. ``counted_at`` is when it last told its counters, on the
    clock of ``at``, where that is not ``at`` itself: without a newer reading there is no rate. ``stated_rps`` (requests
    per second) and ``stated`` are what it says itself of the whole load. ``more``: this is how a step ended, and what
    came after it is to be taken at once. ``workers`` are those that the engine reports, in a stable order. ``noted``
    are the slowest requests and the first failures up to now.
    """

    at: float
    engine: Translatable
    state: LoadState
    model: Translatable
    elapsed_s: float
    concurrency: int | None = None
    rate: float | None = None
    step: int = 1
    steps: int = 1
    in_flight: int | None = None
    pending: int | None = None
    connections: int | None = None
    requests: int | None = None
    failures: Failures | None = None
    non_2xx: int | None = None
    server_errors: int | None = None
    keepalive_requests: int | None = None
    received_bytes: int | None = None
    body_bytes: int | None = None
    sent_bytes: int | None = None
    latencies: Latencies | None = None
    generator: GeneratorSample | None = None
    server: ServerSeen | None = None
    message: Text = ""
    target_requests: int | None = None
    target_s: float | None = None
    keepalive: bool | None = False
    with_body: bool = False
    counted_at: float | None = None
    stated_rps: float | None = None
    stated: tuple[StatedTimes, ...] = ()
    more: bool = False
    workers: tuple[EngineWorker, ...] = ()
    noted: Requests | None = None

    @property
    def failed(self) -> int | None:
        return None if self.failures is None else self.failures.total

    @property
    def drains(self) -> bool:
        """Whether all requests have been sent, so that fewer and fewer are in flight."""
        if self.target_s is not None and self.elapsed_s > self.target_s:
            return True
        sent = None if self.requests is None or self.in_flight is None else self.requests + self.in_flight
        return self.target_requests is not None and sent is not None and sent >= self.target_requests

    @property
    def is_unreachable(self) -> bool:
        """Whether the load failed before any of its requests got as far as a connection."""
        connects = None if self.failures is None else self.failures.connect
        return self.state is LoadState.FAILED and connects == (self.requests or 0)

    @property
    def no_local_port(self) -> bool:
        return any(part.template == NO_LOCAL_PORT for part in _parts(self.message))

    @property
    def refused_connections(self) -> int | None:
        """The connections of one process for which the limit of open files is too low; ``None`` if it is not."""
        for part in _parts(self.message):
            if part.template == TOO_MANY_CONNECTIONS:
                wanted = dict(part.params).get("connections")
                return wanted if isinstance(wanted, int) else None
        return None


class LoadLevel(NamedTuple):
    """The load that was asked for: requests/s in the open model, else connections. An engine may tell neither."""

    concurrency: int | None = None
    rate: float | None = None

    @classmethod
    def of(cls, load: LoadSample | None) -> Self:
        if load is None:
            return cls()
        return cls(load.concurrency) if load.rate is None else cls(rate=load.rate)

    @property
    def unit(self) -> str:
        """``rate``, ``c``, or empty where the load is not known."""
        return "rate" if self.rate is not None else "" if self.concurrency is None else "c"

    @property
    def amount(self) -> float:
        """How much of its unit; 0 where the load is not known."""
        return self.rate if self.rate is not None else self.concurrency or 0

    @property
    def label(self) -> str:
        """``c=20``, ``50/s``; empty where the load is not known."""
        return str(self) if self.rate is None else f"{self.rate:g}/s"

    def __str__(self) -> str:
        """The level as the JSON summary has it: ``c=20``, ``rate=50``; empty where the load is not known."""
        return f"{self.unit}={self.amount:.15g}" if self.unit else ""


def _parts(text: object) -> Iterator[Message]:
    if isinstance(text, Message):
        yield text
        for _, value in text.params:
            yield from _parts(value)
