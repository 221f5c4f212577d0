"""The HTTP interface that our locustfile adds to Locust's master."""

import asyncio
import urllib.parse
import urllib.request

import msgspec

from loadtop.engines.engine_process import EngineError

TIMEOUT_S = 5.0
PERCENTILES = ("p50_ms", "p66_ms", "p75_ms", "p80_ms", "p90_ms", "p95_ms", "p98_ms", "p99_ms", "p99_9_ms")
_WITHOUT_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Worker(msgspec.Struct, frozen=True):
    """A worker process on the machine of that name. ``cpu`` is percent of a core, ``memory`` resident bytes; both are 0
    before the worker's first measurement."""

    id: str
    machine: str
    state: str
    users: int
    cpu: float
    memory: int


class Status(msgspec.Struct, frozen=True):
    """The whole load so far. ``age_s`` is the time since the last report of a worker.

    ``times`` are response times in ms, rounded by Locust, with their counts; ``percentiles`` those of
    :data:`PERCENTILES`. ``error`` is the most frequent reason of failed requests, ``exception`` of users who gave up.
    """

    age_s: float
    state: str
    users: int
    requests: int
    failures: int
    body_bytes: int
    total_ms: float
    min_ms: float | None
    max_ms: float
    mean_ms: float
    rps: float
    percentiles: tuple[float, ...]
    times: tuple[tuple[int, int], ...]
    error: str
    exception: str
    workers: tuple[Worker, ...]


class MasterApi:
    """The interface on a loopback port. All methods raise EngineError if the master does not answer."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}/loadtop"

    async def status(self, timeout_s: float = TIMEOUT_S) -> Status:
        return msgspec.json.decode(await self._call("", timeout_s), type=Status)

    async def set_users(self, users: int) -> None:
        await self._call(f"/start/{users}", now="yes")

    async def reset(self) -> None:
        await self._call("/reset", now="yes")

    async def stop(self) -> None:
        await self._call("/stop", now="yes")

    async def _call(self, path: str, timeout_s: float = TIMEOUT_S, **form: str) -> bytes:
        data = urllib.parse.urlencode(form).encode() if form else None

        def fetch() -> bytes:
            with _WITHOUT_PROXY.open(self._base + path, data, timeout_s) as response:
                body: bytes = response.read()
                return body

        try:
            return await asyncio.to_thread(fetch)
        except (OSError, ValueError) as error:  # URLError is an OSError
            raise EngineError("locust's master does not answer: {reason}", reason=str(error)) from None
