"""What the kinds of SQL databases share."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from loadtop.i18n import Message, Text, listed, plain
from loadtop.model import ServerReading
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import sum_known


class Database(Protocol):
    """A reading with the server's limit of sessions."""

    @property
    def address(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def max_connections(self) -> int | None: ...


def summed(kind: str, record: type[ServerReading], field: str) -> Callable[[HostView], float | None]:
    """Reads the gauge or the rate of this field, over all servers of the kind on a machine."""

    def read(host: HostView) -> float | None:
        servers = host.servers(kind, record)
        return sum_known(each.per_second.get(field, getattr(each.reading, field)) for each in servers)

    return read


def seen(servers: Sequence[Database]) -> Text:
    return listed(
        [
            Message(
                "{version}, max_connections {limit} ({address})",
                version=each.version or "-",
                limit="-" if each.max_connections is None else each.max_connections,
                address=each.address,
            )
            for each in servers
        ]
    )


def settings(kind: str, servers: Sequence[Database]) -> Iterator[tuple[str, str]]:
    for each in servers:
        if each.max_connections is not None:
            yield f"{kind} {plain(each.address)} max_connections", str(each.max_connections)
