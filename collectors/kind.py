"""The declaration with which a kind of server is found and placed in the path of a request."""

import re
from collections.abc import Awaitable, Callable, Collection, Sequence

from msgspec import Struct

from collectors.config_files import Config
from collectors.machine import Endpoint, Machine, Texts
from collectors.routing import Routes
from loadtop.model import Role, ServerKind


async def _no_configuration(_: Texts, __: Sequence[str]) -> Config:
    return Config()


class Service(Struct, frozen=True):
    """The name of a service, and how it is recognised: by the name of the listening process, otherwise by its usual
    ports or the path of its unix socket. ``closes_statements``: it does not reply when a client closes a statement."""

    name: str
    processes: re.Pattern[str]
    ports: Collection[int] = ()
    socket: re.Pattern[str] | None = None
    closes_statements: bool = False


class Kind(ServerKind, frozen=True, kw_only=True, eq=False):
    """``name`` is its key in samples and options, ``group`` the name of its processes, ``processes`` matches what these
    are called. The functions place it in the path of a request."""

    processes: re.Pattern[str]
    port: int | None = None  # at which it usually listens, if its port alone tells what it is
    socket: re.Pattern[str] | None = None  # the usual paths of its unix socket
    closes_statements: bool = False  # whether it does not reply when a client closes a statement
    configuration: Callable[[Texts, Sequence[str]], Awaitable[Config]] = _no_configuration
    """Read from the files as its process sees them, and from its command line."""
    listening: Callable[[Config], tuple[Endpoint, ...]] = lambda _: ()  # where its configuration says that it listens
    routes: Callable[[Config], Routes | None] = lambda _: None  # where it sends requests; ``None``: nowhere
    fastcgi_addresses: Callable[[Config], frozenset[str] | None] = lambda _: None
    """The sockets (paths) and ports of the pools that its configuration names; ``None`` if it certainly asks none."""
    pool_addresses: Callable[[Machine, int], Awaitable[frozenset[str]]] | None = None  # sockets and ports of its pools

    @property
    def service(self) -> Service:
        """How its clients recognise it. Every proxy and web server is an HTTP service."""
        name = "http" if self.role in (Role.PROXY, Role.WEB) else self.group
        ports = () if self.port is None else (self.port,)
        return Service(name, self.processes, ports, self.socket, self.closes_statements)
