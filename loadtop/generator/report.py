"""What a worker tells the pool, several times a second, as a line of JSON each."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from loadtop.model import Distribution, Failures, Latencies, ServerSeen


@dataclass(frozen=True, slots=True)
class Parting:
    """Where a worker stands that gives a part of its load to a new one. ``step`` counts from 0; ``ceded`` are the
    requests given away (``None``: the step has no limit of requests). Times are on the monotonic clock in seconds:
    when counting began, when the step ends and when the warm-up ends, where they do. ``over`` says that nothing more
    will be sent."""

    over: bool
    step: int
    ceded: int | None
    began: float
    ends: float | None
    warm_ends: float | None
    concurrency: int
    rate: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """One worker at one moment. Counters run since the start or the end of the warm-up; ``latencies`` since the last
    report, and ``said`` is what was told of requests and responses since then (-v). ``step`` counts from 1; ``held`` is
    the step after which the worker waits for the others, or 0. ``at`` is when it was made, on the monotonic clock that
    all processes of the machine share, in seconds."""

    at: float
    state: str
    message: str
    elapsed_s: float
    step: int
    held: int
    concurrency: int
    rate: float | None
    in_flight: int
    connections: int
    requests: int
    connect: int
    receive: int
    length: int
    exceptions: int
    timeout: int
    non_2xx: int
    keepalive: int
    received: int
    body: int
    sent: int
    late: int
    unsent: int
    cpu_s: float
    loop_delay_s: float
    files_used: int
    files_limit: int
    ports_used: int | None
    ports_limit: int | None
    latencies: Latencies | None = None
    server: ServerSeen | None = None
    said: str = ""

    @property
    def failures(self) -> Failures:
        return Failures(self.connect, self.receive, self.length, self.exceptions, self.timeout)

    def to_json(self) -> str:
        data: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.latencies is not None:
            parts = (getattr(self.latencies, each.name) for each in fields(self.latencies))
            data["latencies"] = [None if part is None else _numbers(part) for part in parts]
        if self.server is not None:
            data["server"] = asdict(self.server)
        return json.dumps(data, separators=(",", ":"))

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Self:
        """The report that :meth:`to_json` wrote, from its parsed JSON."""
        if data["latencies"] is not None:
            *parts, corrected = data["latencies"]
            late = None if corrected is None else _distribution(corrected)
            total, connect, processing, waiting = map(_distribution, parts)
            data["latencies"] = Latencies(total, connect, processing, waiting, late)
        if data["server"] is not None:
            data["server"] = ServerSeen(**data["server"])
        return cls(**data)


def _numbers(values: Distribution) -> list[Any]:
    return [getattr(values, each.name) for each in fields(values)]


def _distribution(numbers: list[Any]) -> Distribution:
    count, total, squares, least, greatest, buckets, counts = numbers
    return Distribution(count, total, squares, least, greatest, tuple(buckets), tuple(counts))
