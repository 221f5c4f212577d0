"""What a kind of server declares so that it is found and placed in the path of a request."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from collectors.config_files import Config
from collectors.machine import Endpoint, Machine, Texts
from collectors.routing import Route
from loadtop.model import ServerKind


async def _no_configuration(_: Texts, __: Sequence[str]) -> Config:
    return Config()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind(ServerKind):
    """``name`` is its key in samples and options, ``group`` the name of its processes, ``processes`` matches what these
    are called. The functions place it in the path of a request."""

    processes: re.Pattern[str]
    configuration: Callable[[Texts, Sequence[str]], Awaitable[Config]] = _no_configuration
    """Read from the files as its process sees them, and from its command line."""
    listening: Callable[[Config], tuple[Endpoint, ...]] = lambda _: ()  # where its configuration says that it listens
    routes: Callable[[Config], list[Route] | None] = lambda _: None  # where it sends requests; ``None``: nowhere
    fastcgi_addresses: Callable[[Config], frozenset[str] | None] = lambda _: None
    """The sockets (paths) and ports of the pools that its configuration names; ``None`` if it certainly asks none."""
    pool_addresses: Callable[[Machine, int], Awaitable[frozenset[str]]] | None = None  # sockets and ports of its pools
