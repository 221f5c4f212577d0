"""Databases and caches of one machine, queried at the addresses that the user names, or where their processes
listen."""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from collectors.config_files import view_of
from collectors.errors import AbsentError, ReadError
from collectors.machine import Endpoint
from collectors.server_collector import Candidates, ServerCollector
from loadtop.i18n import Message
from loadtop.model.server import ServiceReading

_MOST_CANDIDATES = 6

S = TypeVar("S", bound=ServiceReading)


class DatabaseCollector(ServerCollector[S]):
    """A subclass has :meth:`fetch` and :meth:`records`. A password is sent only to a server that the user named, or to
    one of ``sockets`` of this machine: anyone can start a process with the name of a server."""

    sockets: ClassVar[tuple[str, ...]] = ()  # in directories that only root and the server's own user can write

    @staticmethod
    def status_url(url: str) -> str:
        """The address without ``unix:`` before the path of a socket."""
        return url.removeprefix("unix:")

    async def is_trusted(self, address: str) -> bool:
        """Whether a password may be sent there. Raises :class:`~collectors.errors.FetchError`."""
        return address in self.given or (address in self.sockets and await self.machine.reach(address) == address)

    @staticmethod
    def lacks(record: S) -> Message | None:
        return record.refusal

    @staticmethod
    def telling(refused: Sequence[ReadError]) -> ReadError:
        """The message of a server, if it sent one."""
        return next((error for error in refused if isinstance(error, AbsentError)), refused[-1])

    async def candidates(self, servers: tuple[int, ...]) -> Sequence[Candidates]:
        listening = await self.machine.listening(servers)
        return [await self._candidates(pid, listening.get(pid, ())) for pid in servers]

    async def _candidates(self, pid: int, places: Sequence[Endpoint]) -> Candidates:
        view = await view_of(self.machine, pid)
        if view.own_network:
            return (), self._unreachable
        usual = self.kind.port or 0
        # Where it listens may be hidden from this user; then it is asked at the usual port.
        places = places or (Endpoint("127.0.0.1", usual),)
        usual_first = sorted(places, key=lambda place: (place.port != usual, place.address != "127.0.0.1"))
        found = [str(place.from_here) for place in usual_first]
        return (*self.sockets, *dict.fromkeys(found))[:_MOST_CANDIDATES], None

    @property
    def _unreachable(self) -> AbsentError:
        reason = Message(
            "{program} runs in a container with its own network. Set its address, as seen "
            "from this host, with {option}.",
            program=self.kind.group,
            option=f"--{self.kind.name} ADDRESS",
        )
        return AbsentError(reason)
