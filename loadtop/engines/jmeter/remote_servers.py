"""JMeter's remote servers, which run already: whether they can be reached, and which are lost."""

import asyncio
import socket
from collections.abc import Sequence

from loadtop.i18n.message import Message, listed, verbatim
from loadtop.model import MISSING, EngineWorker

PORT = 1099  # the port of jmeter-server unless JMeter's ``server_port`` says otherwise
CHECK_S = 1.0
CONNECT_S = 1.5
"""How long a connection may take. After two failures in a row a server is lost: within 4 s, with the interval."""


class RemoteServers:
    """Connects to each server every second, because JMeter itself waits for a lost one without limit."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._lost: dict[str, Message] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def lost(self) -> Message | None:
        """Which servers are lost and why, if any are."""
        lost = [
            Message("jmeter-server {server} is lost: {reason}", server=server, reason=reason)
            for server, reason in self._lost.items()
        ]
        return listed(lost) if lost else None

    @property
    def left(self) -> int:
        return len(self.names) - len(self._lost)

    def workers(self, state: str) -> tuple[EngineWorker, ...]:
        """Return each server as a worker: in ``state``, or missing."""
        return tuple(EngineWorker(name, name, MISSING if name in self._lost else state) for name in self.names)

    async def unreachable(self) -> Message | None:
        """Say which server cannot be reached, if there is one."""
        problems = await asyncio.gather(*map(_problem, self.names))
        for server, problem in zip(self.names, problems, strict=True):
            if problem is not None:
                return Message(
                    "jmeter-server {server} cannot be reached: {reason}. Start jmeter-server there, or give HOST:PORT",
                    server=server,
                    reason=problem,
                )
        return None

    def watch(self) -> None:
        self._tasks = [asyncio.create_task(self._watch(server), name=f"watch {server}") for server in self.names]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, server: str) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            if await _problem(server) and (problem := await _problem(server)):
                self._lost[server] = problem
            else:
                self._lost.pop(server, None)


def local_address(server: str) -> str | None:
    """Return the address of this machine on the way to a server, if there is a route. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_host_and_port(server))
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return None


async def _problem(server: str) -> Message | None:
    """Say why no connection to a server is possible, if none is."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(*_host_and_port(server)), CONNECT_S)
    except TimeoutError:
        return Message("no answer within {seconds} s", seconds=CONNECT_S)
    except ConnectionRefusedError:
        return verbatim("Connection refused")  # asyncio's own text repeats the address
    except OSError as error:
        return verbatim(error.strerror or str(error))
    writer.close()
    return None


def _host_and_port(server: str) -> tuple[str, int]:
    host, _, port = server.partition(":")
    return host, int(port or PORT)
