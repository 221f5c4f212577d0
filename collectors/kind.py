"""What a kind of server declares so that it is found, read, and placed in the path of a request."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from collectors.config_files import Config
from collectors.machine import Endpoint, Machine
from collectors.reading import Texts
from collectors.routing import Routes
from collectors.status_page import StatusPage
from loadtop.model import HostSample, Outcome, ServerKind, ServerReading


class Collector(Protocol):
    """The servers of one kind on one machine, as :class:`collectors.server_collector.ServerCollector` reads them."""

    @property
    def pages(self) -> Sequence[StatusPage]: ...

    def start(self, interval_s: float) -> None: ...

    def ask(self) -> None: ...

    def look(self, sample: HostSample) -> None: ...

    def collect(
        self, sample: HostSample, uptime_less_monotonic: float
    ) -> tuple[tuple[ServerReading, ...], Outcome]: ...

    async def close(self) -> None: ...


async def _no_configuration(_: Texts, __: Sequence[str]) -> Config:
    return Config(())


async def _no_pools(_: Machine, __: int) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind(ServerKind):
    """``name`` is its key in samples and options, ``group`` the name of its processes, ``processes`` matches what these
    are called. The functions place it in the path of a request."""

    processes: re.Pattern[str]
    collector: Callable[..., Collector]
    """Built as :class:`collectors.server_collector.ServerCollector` is."""
    configuration: Callable[[Texts, Sequence[str]], Awaitable[Config]] = _no_configuration
    """Read from the files as its process sees them, and from its command line."""
    listening: Callable[[Config], tuple[Endpoint, ...]] = lambda _: ()
    """Where its configuration says that it listens."""
    routes: Callable[[Config], Routes | None] = lambda _: None
    """Where its configuration sends requests; ``None`` if it never passes on any."""
    fastcgi_addresses: Callable[[Config], frozenset[str] | None] = lambda _: None
    """The sockets (paths) and ports of application pools that its configuration names; ``None`` if it is certain that
    it asks none."""
    pool_addresses: Callable[[Machine, int], Awaitable[frozenset[str]]] = _no_pools
    """The sockets (paths) and ports of the pools of a process."""
