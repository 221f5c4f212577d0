"""Status pages of a remote host through the connection to it: each server there has a unix socket here, in a directory
that only this user can enter. The request then comes from that machine itself, and ``Require local`` stays."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from collectors.errors import ClosedError, FetchError
from collectors.machine import Endpoint, Page
from collectors.transport.exchange import exchange, host_and_port
from collectors.transport.shell.connection import ShellConnection
from collectors.transport.status_client import StatusClient
from loadtop.i18n import Message
from loadtop.model import Cause

_HOST = re.compile(r"[\w.-]{1,255}|[0-9A-Fa-f:.]{1,45}", re.ASCII)
_SOCKET = re.compile(r"/[\w./@+=~-]{0,4096}", re.ASCII)
NO_RELAY = "no relay"  # what relay.sh says where it has no program that can do it
NO_SHELL = "did not start a second shell"
_REFUSALS = {
    "Connection refused": FetchError("connection refused: nothing is listening there"),
    "administratively prohibited": FetchError(
        "its sshd does not forward connections: set AllowTcpForwarding yes in its sshd_config",
        fix=Message("AllowTcpForwarding yes   (in its /etc/ssh/sshd_config; then systemctl reload ssh, or sshd)"),
    ),
    "Name or service not known": FetchError("that host cannot resolve the name"),
    "name resolution": FetchError("that host cannot resolve the name"),
    "bad address": FetchError("that host cannot resolve the name"),  # busybox
    "timed out": FetchError("no response there"),
    NO_SHELL: FetchError(
        "the command did not start a second shell, which status pages need: can it run twice at the same time?"
    ),
    NO_RELAY: FetchError(
        "no program there can forward the connection",
        fix=Message("install perl there (bash or busybox is enough unless a server uses a unix socket)"),
    ),
}


class RemotePages(ABC):
    """``sockets`` are those here, by the address there. ``refusals`` says why the last connection to an address did not
    reach its server; ssh names no address, so its reason is the ``refusal`` of the shell's connection. ``pids`` are
    processes there that carry connections and descend from no other of loadtop's."""

    def __init__(self, connection: ShellConnection) -> None:
        self._connection = connection
        self._clients: dict[str, StatusClient] = {}
        self.sockets: dict[str, str] = {}
        self.refusals: dict[str, str] = {}
        self.pids: frozenset[int] = frozenset()
        self._unexplained = set[str]()  # addresses for whose last failure no reason came: the next is not waited for
        self._opening = asyncio.Lock()
        self._closed = False

    @abstractmethod
    async def forward(self, address: str, socket: str) -> None:
        """Let the unix socket ``socket``, which is not there yet, lead to an address there. Raises
        :class:`FetchError`."""

    async def get(self, url: str, timeout_s: float) -> Page:
        """Raises :class:`FetchError`."""
        address = _address(url)
        socket = await self._socket(address)
        if address not in self._clients:
            self._clients[address] = StatusClient(socket)
        async with self._explained(address):
            return await self._clients[address].get(url, timeout_s)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:
        """Raises :class:`FetchError`."""
        socket = await self.reach(address)
        async with self._explained(address):
            return await exchange(socket, question, timeout_s)

    async def reach(self, address: str) -> str:
        """The socket here that leads to an address there. Raises :class:`FetchError`."""
        if _SOCKET.fullmatch(address) is None and host_and_port(address) is None:
            raise FetchError("not an address: HOST:PORT or the path of a socket")
        return await self._socket(address)

    async def close(self) -> None:
        """End all requests. Later ones raise :class:`FetchError`."""
        self._closed = True
        for client in self._clients.values():
            await client.close()

    async def _socket(self, address: str) -> str:
        async with self._opening:
            if self._closed:
                raise FetchError("no connection to the host")
            if address not in self.sockets:
                socket = str(self._connection.directory / f"page{len(self.sockets)}")
                await self.forward(address, socket)
                self.sockets[address] = socket
            return self.sockets[address]

    @asynccontextmanager
    async def _explained(self, address: str) -> AsyncGenerator[None]:
        """Raise the reason if the server refuses: the socket here always takes a connection, so ssh or the relay says
        whether the server did."""
        self.refusals[address] = ""
        self._connection.forget_refusal()
        try:
            yield
            self._unexplained.discard(address)
        except FetchError as error:
            wait = isinstance(error, ClosedError) and address not in self._unexplained
            said = self.refusals[address] or await self._connection.refusal(wait=wait)
            if said:
                self._unexplained.discard(address)
            elif wait:
                self._unexplained.add(address)
            for words, refusal in _REFUSALS.items():
                if words in said:
                    raise FetchError(refusal.message, fix=refusal.fix) from None
            if address.startswith("/") and said:
                raise FetchError(
                    "cannot connect to that socket: not permitted, or nothing is listening there", cause=Cause.SOCKET
                ) from None
            raise


def _address(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        raise FetchError("not a URL") from None
    host = parts.hostname or ""
    if port is None or not _HOST.fullmatch(host) or host.startswith("-"):
        raise FetchError("not a URL")
    return str(Endpoint(host, port))
