"""What a person asks of the load: by which step it changes, and what to say about it."""

from collections.abc import Callable

from loadtop.commands import Command, SetConcurrency, SetRate, StopLoad
from loadtop.model import LoadSample


def _stride(value: int) -> int:
    """Distance of round numbers around ``value``: 1 up to 10, 5 up to 50, 10 up to 100, 50 up to 500, and so on."""
    if value < 10:
        return 1
    power = 1
    while value >= 100 * power:
        power *= 10
    return 5 * power if value < 50 * power else 10 * power


def raised(value: int) -> int:
    """The next round number above."""
    stride = _stride(value)
    return (value // stride + 1) * stride


def lowered(value: int) -> int:
    """The next round number below, but not below 1."""
    stride = _stride(value - 1)
    return max(1, (value - 1) // stride * stride)


class Dial:
    """Turns key presses into commands. Presses add up while the load has not followed the ones before yet."""

    def __init__(self, command: Callable[[Command], None]) -> None:
        self._command = command
        self._wanted: int | None = None
        self._seen: float | None = None

    def turn(self, load: LoadSample | None, *, up: bool) -> str:
        """More or less load than ``load``; returns what to say."""
        if load is None or load.state.ended:
            return "there is no load to change" if load is None else "the load has ended"
        now = load.rate if load.rate is not None else load.concurrency
        if now is None:
            return "this load cannot be changed while it runs"
        if self._wanted is None or now != self._seen:
            self._wanted = round(now)
        self._seen = now
        before = self._wanted
        self._wanted = raised(before) if up else lowered(before)
        if load.rate is not None:
            self._command(SetRate(float(self._wanted)))
            return f"{before} to {self._wanted} requests per second"
        self._command(SetConcurrency(self._wanted))
        return f"{before} to {self._wanted} connections"

    def stop(self, load: LoadSample | None) -> str:
        """End the load; returns what to say."""
        if load is None or load.state.ended:
            return "no load is running"
        self._command(StopLoad())
        return "stopping the load; watching goes on"
