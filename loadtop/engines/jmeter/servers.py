"""jmeter-servers, which run already: whether they can be reached, and which one is lost."""

import asyncio
import socket
from collections.abc import Sequence

PORT = 1099
"""Where jmeter-server listens unless it is told otherwise (JMeter's ``server_port``)."""

EVERY_S = 1.0
ANSWER_S = 1.5
"""How long a connection may take. Two that fail make a server lost: with the pause before them, within 4 s."""


class Servers:
    """Connects to each server every second: JMeter itself waits for one that is gone without an end."""

    def __init__(self, servers: Sequence[str]) -> None:
        self.names = tuple(servers)
        self._lost: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def lost(self) -> str:
        """Which do not answer any more, and why not; empty where all do."""
        return ", ".join(f"jmeter-server {server} is lost: {reason}" for server, reason in self._lost.items())

    @property
    def left(self) -> int:
        """How many answer."""
        return len(self.names) - len(self._lost)

    def is_lost(self, name: str) -> bool:
        """Whether this one does not answer any more."""
        return name in self._lost

    async def unreachable(self) -> str:
        """Why the first of those that cannot be reached cannot be; empty where all can be."""
        reasons = await asyncio.gather(*map(_reason, self.names))
        found = next((pair for pair in zip(self.names, reasons, strict=True) if pair[1]), None)
        if found is None:
            return ""
        return f"jmeter-server {found[0]} cannot be reached: {found[1]}. Start jmeter-server there, or give HOST:PORT"

    def watch(self) -> None:
        """Begin to look at them."""
        self._tasks = [asyncio.create_task(self._watch(server), name=f"watch {server}") for server in self.names]

    async def close(self) -> None:
        """Look no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch(self, server: str) -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            if await _reason(server) and (reason := await _reason(server)):
                self._lost[server] = reason
            else:
                self._lost.pop(server, None)


def own_address(server: str) -> str | None:
    """The address of this machine that a server reaches us by; ``None`` where that is not known. Nothing is sent."""
    host, port = _apart(server)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((host, port))
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return None


async def _reason(server: str) -> str:
    """Why no connection to a server is possible; empty where one is."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(*_apart(server)), ANSWER_S)
    except TimeoutError:
        return f"no answer within {ANSWER_S} s"
    except OSError as error:
        # asyncio words a refused connection with the address, which the name of the server says already.
        return "Connection refused" if isinstance(error, ConnectionRefusedError) else error.strerror or str(error)
    writer.close()
    return ""


def _apart(server: str) -> tuple[str, int]:
    host, _, port = server.partition(":")
    return host, int(port or PORT)
