"""Reaches a machine or a container through a command that starts a shell there: ``docker exec -i web sh``."""

import asyncio
import secrets
from collections.abc import Sequence

from collectors.errors import TransportError
from collectors.linux import namespaces
from collectors.machine import Request
from collectors.routing import OWN_ADDRESSES, own_addresses
from collectors.transport.exec.failures import explain
from collectors.transport.exec.relay import RelayedPages
from collectors.transport.exec.start import first_line, sent, start_command, started
from collectors.transport.files import read
from collectors.transport.shell import frames
from collectors.transport.shell.connection import CONNECT_S, ShellConnection
from collectors.transport.shell.pages import RemotePages
from collectors.transport.shell.transport import ShellTransport
from loadtop.model.places import exec_command
from loadtop.model.secrets import place_without_secrets


class ExecTransport(ShellTransport):
    """``place`` is ``exec:COMMAND``. The command is started as it is, by no shell here. It brings connections to
    servers there too, each with a command more."""

    def __init__(self, place: str) -> None:
        super().__init__(place_without_secrets(place))
        self._argv = tuple(exec_command(place))

    async def connect(self) -> None:
        await super().connect()
        try:
            there = (await self.read(Request((*OWN_ADDRESSES, *namespaces.FILES)))).files
        except TransportError as error:
            raise error.at(self.source) from None
        here = await asyncio.to_thread(lambda: {wanted.path: read(wanted) for wanted in namespaces.FILES})
        self.published = not namespaces.same_network(here, there)
        self.names = own_addresses(*(there[wanted.path] for wanted in OWN_ADDRESSES))
        if self.published:  # its loopback is another
            self.names -= {"127.0.0.1", "::1"}

    async def start(self) -> tuple[ShellConnection, RemotePages]:
        process, directory = await start_command(self._argv)
        connection = ShellConnection(self.source, process, directory, self._why)
        try:
            mark = secrets.token_hex(8)  # it can be read there in a list of processes, as no later one
            async with asyncio.timeout(CONNECT_S):
                _, silence_s = started(await connection.exchange(first_line(mark), mark, 2 * CONNECT_S))
        except TimeoutError:
            await connection.close()
            raise TransportError(
                "no response for {seconds:.0f} s: does the command start a POSIX shell that reads its standard input?",
                seconds=CONNECT_S,
            ) from None
        except BaseException:
            await connection.close()
            raise
        connection.run(sent(frames.remote_script(secrets.token_hex(8), silence_s)), silence_s)
        return connection, RelayedPages(connection, self._argv)

    def _why(self, messages: Sequence[str], status: int | None, printed: str) -> TransportError:
        return explain(self._argv, messages, status, printed)
