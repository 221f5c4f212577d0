"""A machine that can be sampled, near or far."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from collectors.errors import AbsentError, ParseError
from collectors.reading import Connection, Missing, Texts, Wanted
from loadtop.i18n import Message, Text, verbatim
from loadtop.model import Cause, HostSample, Outcome, State

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a process listens: an address (``0.0.0.0`` and ``::`` are all of them) and a port."""

    address: str
    port: int

    def __str__(self) -> str:
        """As in a URL."""
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


class Machine(Texts, Connection, Protocol):
    """One machine. Calls of :meth:`sample` do not overlap; the others may run beside it."""

    async def sample(self) -> HostSample:
        """Everything but servers' pages, with an empty name. Raises :class:`~collectors.errors.TransportError`."""
        ...

    def servers(self, group: str) -> tuple[int, ...]:
        """The first process of each running server of a group, as of the newest sample."""
        ...

    def tested(self, group: str) -> tuple[int, ...]:
        """The same without those that were set aside."""
        ...

    def set_aside(self, pids: frozenset[int]) -> None:
        """Take the servers with these first processes for others than those under test from the next sample on."""
        ...

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        """Where a process listens, as far as that may be read."""
        ...

    def follow(self, path: str) -> None:
        """Read a file with every sample from now on."""
        ...

    def followed(self, path: str) -> str | Missing:
        """The text of such a file in the newest sample."""
        ...


class Outcomes:
    """Runs collectors one by one, and notes how each fared and how long it took. ``seconds`` is how long it took to
    read each file, where that is known."""

    def __init__(self, seconds: Mapping[str, float] | None = None) -> None:
        self._seconds = seconds
        self.found: list[Outcome] = []

    def collect(
        self,
        name: str,
        collector: Callable[[], T],
        files: Iterable[Wanted] = (),
        lacks: Callable[[], tuple[Message | None, Cause | None]] = lambda: (None, None),
    ) -> T | None:
        """What the collector gives, or ``None``. ``lacks`` says what is missing in it, and why."""
        began = time.perf_counter()
        state = State.OK
        fix: Text = ""
        part: T | None = None
        try:
            part = collector()
            reason, cause = lacks()
        except AbsentError as absent:
            state, reason, cause, fix = absent.state, absent.message, absent.cause, absent.fix
        except ParseError as error:
            state, reason, cause = State.FAILED, verbatim(str(error)), None
        took = time.perf_counter() - began
        if self._seconds:
            took += sum(self._seconds.get(wanted.path, 0.0) for wanted in files)
        self.found.append(Outcome(name, state, reason or "", round(took, 6), cause, fix))
        return part
