"""Databases and caches of one machine, queried at the addresses that the user names, or where their processes
listen."""

import posixpath
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from collectors.config_files import View
from collectors.errors import AbsentError, ReadError
from collectors.machine import Endpoint
from collectors.server_collector import Candidates, ServerCollector
from loadtop.i18n import Message
from loadtop.model.server import ServiceReading

_MOST_CANDIDATES = 6

S = TypeVar("S", bound=ServiceReading)


class DatabaseCollector(ServerCollector[S]):
    """A subclass has :meth:`fetch` and :meth:`records`. A password is sent only to a server that the user named, or to
    one in a directory of ``sockets`` of this machine: anyone can start a process with the name of a server."""

    option_value = "ADDRESS"
    sockets: ClassVar[tuple[str, ...]] = ()  # in directories that only root and the server's own user can write
    """The usual ones; ``{port}`` stands for the server's port."""

    async def is_trusted(self, address: str) -> bool:
        """Whether a password may be sent there. Raises :class:`~collectors.errors.FetchError`."""
        beside = posixpath.dirname(address) in map(posixpath.dirname, self.sockets)
        return address in self.given or (beside and await self.machine.reach(address) == address)

    @staticmethod
    def lacks(record: S) -> Message | None:
        return record.refusal

    @staticmethod
    def telling(refused: Sequence[ReadError]) -> ReadError:
        """The message of a server, if it sent one."""
        return next((error for error in refused if isinstance(error, AbsentError)), refused[-1])

    async def candidates_of(self, pid: int, view: View, places: Sequence[Endpoint]) -> Sequence[Candidates]:  # noqa: ARG002 - for subclasses
        usual = self.kind.port or 0
        # Where it listens may be hidden from this user; then it is asked at the usual port.
        places = places or (Endpoint("127.0.0.1", usual),)
        usual_first = sorted(places, key=lambda place: (place.port != usual, place.address != "127.0.0.1"))
        # Of several servers, the one at the usual port has the usual socket.
        alone = len(self.running()) == 1
        sockets = [
            path.format(port=place.port)
            for place in usual_first
            for path in self.sockets
            if alone or place.port == usual or "{port}" in path
        ]
        found = [str(place.from_here) for place in usual_first]
        return [(tuple(dict.fromkeys((*sockets, *found)))[:_MOST_CANDIDATES], None)]
