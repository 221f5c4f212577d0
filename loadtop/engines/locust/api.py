"""The master's HTTP interface: what it says of the load, and what it is told."""

import asyncio
import json
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 5.0
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
PERCENTS = ("p50_ms", "p66_ms", "p75_ms", "p80_ms", "p90_ms", "p95_ms", "p98_ms", "p99_ms", "p99_9_ms")


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process as the master sees it, on the generator of that name; ``cpu`` is percent of a core, ``memory``
    resident bytes. Both are 0 until the worker has first looked."""

    id: str
    generator: str
    state: str
    users: int
    cpu: float
    memory: int


@dataclass(frozen=True, slots=True)
class Status:
    """The whole load so far as Locust counts it. ``times`` are counts by response time in ms, rounded by Locust;
    ``error`` is what failed requests say most often, ``exception`` what users do that broke off. ``age_s``: so long ago
    a worker reported last."""

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
    times: dict[int, int]
    error: str
    exception: str
    workers: tuple[Worker, ...]


class MasterError(Exception):
    """The master does not answer, or refuses; the message says why."""


class Master:
    """The master's interface on a loopback port."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"

    async def status(self, patience_s: float = TIMEOUT_S) -> Status:
        """Raises MasterError, at the latest after that time."""
        return _status(json.loads(await self._call("/loadtop", patience_s)))

    async def swarm(self, users: int) -> None:
        """Let that many users run, from now on. Raises MasterError."""
        await self._call(f"/loadtop/start/{users}", now="yes")

    async def reset(self) -> None:
        """Forget what was counted so far. Raises MasterError."""
        await self._call("/loadtop/reset", now="yes")

    async def stop(self) -> None:
        """Stop all users. Raises MasterError."""
        await self._call("/loadtop/stop", now="yes")

    async def _call(self, path: str, patience_s: float = TIMEOUT_S, **form: str) -> str:
        data = urllib.parse.urlencode(form).encode() if form else None

        def fetch() -> str:
            with _DIRECT.open(self._base + path, data, patience_s) as answer:
                text: str = answer.read().decode("utf-8", "replace")
                return text

        try:
            return await asyncio.to_thread(fetch)
        except (urllib.error.URLError, OSError, ValueError) as error:
            raise MasterError(f"locust's master does not answer: {error}") from None


def _status(found: dict[str, Any]) -> Status:
    return Status(
        age_s=found["age_s"],
        state=found["state"],
        users=found["users"],
        requests=found["requests"],
        failures=found["failures"],
        body_bytes=found["body_bytes"],
        total_ms=found["total_ms"],
        min_ms=found["min_ms"],
        max_ms=found["max_ms"],
        mean_ms=found["mean_ms"],
        rps=found["rps"],
        percentiles=tuple(map(float, found["percentiles"])),
        times={int(time): int(count) for time, count in found["times"]},
        error=_most_often(found["errors"]),
        exception=_most_often(found["exceptions"]),
        workers=tuple(Worker(**each) for each in found["workers"]),
    )


def _most_often(counted: list[tuple[int, str]]) -> str:
    """That of the texts which has the highest count, in one line; empty where there is none."""
    _, text = max(counted, default=(0, ""))
    return " ".join(text.split())
