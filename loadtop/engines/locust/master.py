"""Locust's master: the HTTP interface that our locustfile adds to it, and the workers that it reports."""

import asyncio
import importlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from loadtop.engines.engine import EngineError
from loadtop.i18n import Message
from loadtop.model import MISSING, EngineWorker, GeneratorSample, StatedTimes

TIMEOUT_S = 5.0
UNKNOWN = "unknown"  # the state of all workers while the master does not answer
_BUSY = ("spawning", "running")
CONTROL = "control"  # the master's socket in its directory


class Worker(msgspec.Struct, frozen=True):
    """A worker process on ``machine``. ``cpu`` is percent of a core, ``memory`` resident bytes; both are 0 at first."""

    id: str
    machine: str
    state: str
    users: int
    cpu: float
    memory: int


class Status(msgspec.Struct, frozen=True):
    """The whole load so far. ``age_s`` is the time since the last report of a worker.

    ``times`` are response times in ms, rounded by Locust, with their counts; ``stated`` has none without requests.
    ``error`` is the most frequent reason of failed requests, ``exception`` of users who gave up.
    """

    age_s: float
    state: str
    users: int
    requests: int
    failures: int
    body_bytes: int
    total_ms: float
    rps: float
    stated: tuple[StatedTimes, ...]
    times: tuple[tuple[int, int], ...]
    error: str
    exception: str
    workers: tuple[Worker, ...]


async def ask_master(directory: Path | None, order: str = "", timeout_s: float = TIMEOUT_S) -> bytes:
    """Return the answer of the master that runs in ``directory``: its status, or that of an order: ``/start/USERS``,
    ``/reset`` or ``/stop``. Raises EngineError if it does not answer, or does not run yet (``None``)."""
    if directory is None:
        raise EngineError("Locust's master does not respond: {reason}", reason=Message("it has not started yet"))
    await asyncio.to_thread(importlib.import_module, "aiohttp")  # which takes a while
    import aiohttp

    connector, timeout = aiohttp.UnixConnector(str(directory / CONTROL)), aiohttp.ClientTimeout(timeout_s)
    method, url = "POST" if order else "GET", f"http://localhost/loadtop{order}"
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout, raise_for_status=True) as master,
            master.request(method, url) as response,
        ):
            return await response.read()
    except (OSError, aiohttp.ClientError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "timed out"
        raise EngineError("Locust's master does not respond: {reason}", reason=reason) from None


class Workers:
    """Remembers every worker in the order of appearance; one that the master forgets is missing. A worker is named
    after its machine, with a number: ``g1-2``. Locust's own names are as long as a line."""

    def __init__(self) -> None:
        self._known: dict[str, EngineWorker] = {}
        self._cpu_s: dict[str, float] = {}

    @property
    def all(self) -> tuple[EngineWorker, ...]:
        return tuple(self._known.values())

    @property
    def missing(self) -> list[EngineWorker]:
        return [worker for worker in self.all if worker.missing]

    @property
    def full(self) -> EngineWorker | None:
        return next((worker for worker in self.all if worker.full), None)

    @property
    def cpu_time(self) -> GeneratorSample | None:
        return GeneratorSample(tuple(self._cpu_s.values()), None, None, None) if self._cpu_s else None

    def update(self, workers: Iterable[Worker], seconds: float) -> None:
        """Process a report of the master, which comes ``seconds`` after its last one."""
        forgotten = set(self._known)
        for worker in workers:
            key, machine = worker.id, worker.machine
            forgotten.discard(key)
            if key not in self._known:
                number = 1 + sum(known.host == machine for known in self.all)
                self._known[key] = EngineWorker(f"{machine}-{number}", machine, UNKNOWN)
            before = self._known[key]
            if worker.state == MISSING:
                self._set_state(key, MISSING)
            elif not worker.memory:  # it has just started; after a stop, it starts again for its master
                self._known[key] = replace(before, state=worker.state, users=worker.users)
            else:
                cpu_pct = None
                if worker.cpu > 0 or key in self._cpu_s:  # psutil's first share of a core is always 0
                    cpu_pct = worker.cpu
                    used = cpu_pct / 100.0 * seconds if worker.state in _BUSY else 0.0
                    self._cpu_s[key] = self._cpu_s.get(key, 0.0) + used
                size_kb = round(worker.memory / 1024)
                self._known[key] = EngineWorker(before.name, machine, worker.state, worker.users, cpu_pct, size_kb)
        for key in forgotten:
            self._set_state(key, MISSING)

    def set_unknown(self) -> None:
        """The master does not answer."""
        for key, worker in self._known.items():
            if not worker.missing:
                self._set_state(key, UNKNOWN)

    def _set_state(self, key: str, state: str) -> None:
        """Set the state of a worker about which nothing else is known."""
        self._known[key] = EngineWorker(self._known[key].name, self._known[key].host, state)
