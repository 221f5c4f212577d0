"""Commands to a running test: the only way back from the cockpit into the flow of data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SetConcurrency:
    """From now on keep this many connections (closed model)."""

    connections: int


@dataclass(frozen=True, slots=True)
class SetRate:
    """From now on start this many requests per second (open model)."""

    per_second: float


@dataclass(frozen=True, slots=True)
class StopLoad:
    """End the load now; watching goes on."""


@dataclass(frozen=True, slots=True)
class RestartLoad:
    """Restart the load with its original settings, whether it still runs or has ended."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """End this step of the load now and continue with the next; the last one continues."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Mark the time axis."""

    text: str


Command = SetConcurrency | SetRate | StopLoad | RestartLoad | NextStep | Mark
