"""Opening connections: names to addresses, local address and buffers, proxy tunnels, TLS."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from time import perf_counter_ns
from typing import cast

from loadtop.generator.connection import DIALLING, Connection
from loadtop.generator.hub import HubLoop
from loadtop.generator.plan import Origin, Plan, PlanError
from loadtop.generator.tls import tls_context
from loadtop.generator.trouble import TunnelRefusedError, connect_trouble
from loadtop.generator.wire import Address, Wire

_LONGEST_TUNNEL_ANSWER = 65536
Failed = Callable[[Connection, BaseException], None]
Place = tuple[int, Address]
"""An address family and an address of it."""


class Dialer:
    """Gives connections their transports. ``failed`` is told of those that get none, never from within :meth:`dial`."""

    def __init__(self, plan: Plan, loop: asyncio.AbstractEventLoop, failed: Failed) -> None:
        self._plan = plan
        self._loop = loop
        self._failed = failed
        self._places: dict[Origin, list[Place]] = {}
        self._context: ssl.SSLContext | None = None
        self._dialling: dict[Connection, asyncio.Task[None]] = {}
        self._prepare = self._prepare_socket if plan.bind or plan.socket_buffer else None

    async def resolve(self) -> None:
        """Look up every host once. Raises :class:`PlanError` for one that is not known, and for wrong TLS options."""
        for target in self._plan.targets:
            origin = target.origin
            if origin.scheme == "https" and self._context is None:
                self._context = tls_context(self._plan)
            if origin not in self._places:
                first = origin if self._plan.proxy is None else self._plan.proxy.origin
                try:
                    self._places[origin] = await self._look_up(first.host, first.port)
                except (socket.gaierror, UnicodeError) as error:
                    raise PlanError(connect_trouble(error, first, bind=self._plan.bind)) from None

    async def _look_up(self, host: str, port: int) -> list[Place]:
        family = socket.AF_UNSPEC
        if self._plan.bind is not None:
            family = socket.AF_INET6 if ":" in self._plan.bind else socket.AF_INET
        ask = partial(socket.getaddrinfo, host, port, family=family, type=socket.SOCK_STREAM)
        # A thread that ends with the answer: while there are two, the kernel locks each file that one of them uses.
        with ThreadPoolExecutor(1) as thread:
            found = await self._loop.run_in_executor(thread, ask)
        return [(each[0], cast("Address", each[4])) for each in found]

    @property
    def loopback(self) -> bool:
        """Whether all connections stay on this machine."""
        addresses = [address[0] for places in self._places.values() for _, address in places]
        return all(is_loopback(address) for address in addresses)

    def another_place(self, origin: Origin) -> bool:
        """Leave the first address of a host for its next one; whether there is one."""
        places = self._places[origin]
        if len(places) > 1:
            places.pop(0)
            return True
        return False

    def dial(self, connection: Connection) -> None:
        """Open a transport for the connection, which will hear of it by ``connection_made`` or ``opened``."""
        connection.state = DIALLING
        origin = connection.exchange.origin
        family, address = self._places[origin][0]
        if isinstance(self._loop, HubLoop) and origin.scheme == "http":
            wire = connection.line
            if not isinstance(wire, Wire):
                wire = connection.line = Wire(self._loop, connection, self._failed)
            wire.aim(family, address, self._prepare, eager=is_loopback(address[0]))
            wire.open(perf_counter_ns())
            return
        connection.dialled = perf_counter_ns()
        task = self._loop.create_task(self._open(connection, origin, family, address))
        self._dialling[connection] = task
        task.add_done_callback(partial(self._opened, connection))

    def cancel(self, connection: Connection) -> None:
        """Stop dialling; ``failed`` is not told."""
        task = self._dialling.pop(connection, None)
        if task is not None:
            task.cancel()
        elif isinstance(connection.line, Wire):
            connection.line.discard()

    def close(self) -> None:
        for connection in list(self._dialling):
            self.cancel(connection)

    def _opened(self, connection: Connection, task: "asyncio.Task[None]") -> None:
        if self._dialling.get(connection) is not task:
            return
        del self._dialling[connection]
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed(connection, error)

    async def _open(self, connection: Connection, origin: Origin, family: int, address: Address) -> None:
        with ExitStack() as unfinished:  # also where the dial is cancelled the descriptor goes back
            opened = unfinished.enter_context(socket.socket(family, socket.SOCK_STREAM))
            opened.setblocking(False)
            if self._prepare is not None:
                self._prepare(opened)
            await self._loop.sock_connect(opened, address)
            tls = origin.scheme == "https"
            if tls and self._plan.proxy is not None:
                await self._tunnel(opened, origin)
            await self._loop.create_connection(
                lambda: connection,
                sock=opened,
                ssl=self._context if tls else None,
                server_hostname=None if not tls else origin.tls_name if self._plan.tls.sni else "",
                ssl_handshake_timeout=self._plan.timeout_s if tls else None,
            )
            unfinished.pop_all()

    async def _tunnel(self, opened: socket.socket, origin: Origin) -> None:
        proxy = self._plan.proxy
        if proxy is None:
            return
        lines = [f"CONNECT {origin.address} HTTP/1.1", f"Host: {origin.address}"]
        if proxy.authorization is not None:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        await self._loop.sock_sendall(opened, ("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            data = await self._loop.sock_recv(opened, 1)
            answer += data
            if not data or len(answer) > _LONGEST_TUNNEL_ANSWER:
                raise TunnelRefusedError("the proxy did not answer CONNECT with HTTP")
        status = answer.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(status) < 2 or status[1] != "200":
            raise TunnelRefusedError(f"the proxy answers CONNECT with {' '.join(status[1:]) or 'no status'}")

    def _prepare_socket(self, opened: "socket.socket | socket.SocketType") -> None:
        size = self._plan.socket_buffer
        if size is not None:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if self._plan.bind is not None:
            # The port is chosen at connect time, where the whole four-tuple counts (Linux; see ip(7)).
            number = getattr(socket, "IP_BIND_ADDRESS_NO_PORT", None)
            if number is not None:
                opened.setsockopt(socket.SOL_IP, number, 1)
            opened.bind((self._plan.bind, 0))


def is_loopback(address: str) -> bool:
    """Whether a numeric address is this machine itself."""
    return address.startswith("127.") or address == "::1"
