"""Rates of the counters of a server, whatever its kind."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from loadtop.model.server import Measure, ServerReading, columns

R = TypeVar("R", bound=ServerReading)


@dataclass(frozen=True, slots=True)
class ServerRates(Generic[R]):
    """A reading, and the rates of its counters per second by the name of their field.

    A rate is ``None`` in the first reading, after a restart of the server, and where a counter fell.
    """

    reading: R
    per_second: Mapping[str, float | None]


def server_rates(
    before: Iterable[ServerReading], now: Iterable[ServerReading], seconds: float
) -> tuple[ServerRates[ServerReading], ...]:
    """The rates of all servers of one kind on one host. ``seconds`` is the time between the host's samples, which
    counts for readings that are not dated themselves."""
    earlier = {reading.key: reading for reading in before}
    return tuple(_rates(earlier.get(reading.key), reading, seconds) for reading in now)


def per_second(before: float | None, now: float | None, seconds: float) -> float | None:
    """The rate of one counter; ``None`` where it was not read twice or fell."""
    if before is None or now is None or now < before:
        return None
    return (now - before) / seconds


def _rates(before: ServerReading | None, now: ServerReading, seconds: float) -> ServerRates[ServerReading]:
    counters = [column.field for column in columns(type(now), Measure.COUNTER)]
    if before is None or (before.age_s or 0) > (now.age_s or 0):
        return ServerRates(now, dict.fromkeys(counters))
    first, last = before.read_at, now.read_at
    if first is not None and last is not None and last > first:
        seconds = last - first
    return ServerRates(now, {name: per_second(getattr(before, name), getattr(now, name), seconds) for name in counters})
