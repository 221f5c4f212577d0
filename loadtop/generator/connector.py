"""Opening connections: address lookup, local address and buffers, proxy tunnels, TLS."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from time import perf_counter_ns
from typing import cast

from loadtop.generator.connection import CONNECTING, Connection
from loadtop.generator.errors import TunnelRefusedError, connect_error
from loadtop.generator.event_loop import EpollLoop
from loadtop.generator.exchange import MAX_SERVER_TEXT
from loadtop.generator.plan import Origin, Plan, PlanError, Proxy
from loadtop.generator.tls import tls_context
from loadtop.generator.transport import Address, SocketTransport
from loadtop.i18n import Message, verbatim

_MAX_TUNNEL_RESPONSE = 65536


class Connector:
    """Gives connections their transports; ``failed`` gets those that have none, never from within :meth:`connect`."""

    def __init__(
        self, plan: Plan, loop: asyncio.AbstractEventLoop, failed: Callable[[Connection, BaseException], None]
    ) -> None:
        self._plan = plan
        self._loop = loop
        self._failed = failed
        self._addresses: dict[Origin, list[tuple[int, Address]]] = {}
        """Address families and addresses of each origin; the first one is used."""
        self._context: ssl.SSLContext | None = None
        self._tasks: dict[Connection, asyncio.Task[None]] = {}
        self._prepare = self._prepare_socket if plan.bind or plan.socket_buffer else None

    async def resolve(self) -> None:
        """Look up every host once. Raises PlanError for an unknown host or TLS options that are not possible."""
        for target in self._plan.targets:
            origin = target.origin
            if origin.scheme == "https" and self._context is None:
                self._context = tls_context(self._plan)
            if origin not in self._addresses:
                first = origin if self._plan.proxy is None else self._plan.proxy.origin
                try:
                    self._addresses[origin] = await self._look_up(first.host, first.port)
                except (socket.gaierror, UnicodeError) as error:
                    raise PlanError(connect_error(error, first, bind=self._plan.bind)) from None

    async def _look_up(self, host: str, port: int) -> list[tuple[int, Address]]:
        family = socket.AF_UNSPEC
        if self._plan.bind is not None:
            family = socket.AF_INET6 if ":" in self._plan.bind else socket.AF_INET
        look_up = partial(socket.getaddrinfo, host, port, family=family, type=socket.SOCK_STREAM)
        # The thread ends with the lookup: with two threads, the kernel locks each file that one of them uses.
        with ThreadPoolExecutor(1) as thread:
            found = await self._loop.run_in_executor(thread, look_up)
        return [(each[0], cast("Address", each[4])) for each in found]

    @property
    def loopback(self) -> bool:
        addresses = [address[0] for places in self._addresses.values() for _, address in places]
        return all(is_loopback(address) for address in addresses)

    def next_address(self, origin: Origin) -> bool:
        """Drop the first address of a host and use its next one; False where there is none."""
        addresses = self._addresses[origin]
        if len(addresses) > 1:
            addresses.pop(0)
            return True
        return False

    def connect(self, connection: Connection) -> None:
        """Open a transport for the connection, which then sends its request."""
        connection.state = CONNECTING
        origin = connection.origin = connection.exchange.origin
        family, address = self._addresses[origin][0]
        if isinstance(self._loop, EpollLoop) and origin.scheme == "http":
            transport = connection.reusable_transport
            if not isinstance(transport, SocketTransport):
                transport = connection.reusable_transport = SocketTransport(self._loop, connection, self._failed)
            transport.set_address(family, address, self._prepare, send_at_once=is_loopback(address[0]))
            transport.connect(perf_counter_ns())
            return
        connection.connect_started = perf_counter_ns()
        task = self._loop.create_task(self._open(connection, origin, family, address))
        self._tasks[connection] = task
        task.add_done_callback(partial(self._opened, connection))

    def cancel(self, connection: Connection) -> None:
        """Stop connecting; ``failed`` is not called."""
        task = self._tasks.pop(connection, None)
        if task is not None:
            task.cancel()
        elif isinstance(connection.reusable_transport, SocketTransport):
            connection.reusable_transport.discard()

    def close(self) -> None:
        for connection in list(self._tasks):
            self.cancel(connection)

    def _opened(self, connection: Connection, task: "asyncio.Task[None]") -> None:
        if self._tasks.get(connection) is task:
            del self._tasks[connection]
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._failed(connection, error)

    async def _open(self, connection: Connection, origin: Origin, family: int, address: Address) -> None:
        with ExitStack() as unfinished:  # closes the socket also when the task is cancelled
            sock = unfinished.enter_context(socket.socket(family, socket.SOCK_STREAM))
            sock.setblocking(False)
            if self._prepare is not None:
                self._prepare(sock)
            await self._loop.sock_connect(sock, address)
            tls = origin.scheme == "https"
            if tls and self._plan.proxy is not None:
                await self._open_tunnel(sock, origin, self._plan.proxy)
            await self._loop.create_connection(
                lambda: connection,
                sock=sock,
                ssl=self._context if tls else None,
                server_hostname=None if not tls else (origin.name or origin.host) if self._plan.tls.sni else "",
                ssl_handshake_timeout=self._plan.timeout_s if tls else None,
            )
            unfinished.pop_all()

    async def _open_tunnel(self, sock: socket.socket, origin: Origin, proxy: Proxy) -> None:
        lines = [f"CONNECT {origin.address} HTTP/1.1", f"Host: {origin.address}"]
        if proxy.authorization is not None:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        await self._loop.sock_sendall(sock, ("\r\n".join(lines) + "\r\n\r\n").encode())
        response = b""
        while b"\r\n\r\n" not in response:
            data = await self._loop.sock_recv(sock, 1)
            response += data
            if not data or len(response) > _MAX_TUNNEL_RESPONSE:
                raise TunnelRefusedError("the proxy did not answer CONNECT with HTTP")
        status = response.split(b"\r\n", 1)[0][:MAX_SERVER_TEXT].decode("latin-1").partition(" ")[2]
        if status.split(" ")[0] != "200":
            answer = verbatim(status) if status else Message("no status")
            raise TunnelRefusedError("the proxy answers CONNECT with {status}", status=answer)

    def _prepare_socket(self, sock: "socket.socket | socket.SocketType") -> None:
        size = self._plan.socket_buffer
        if size is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        if self._plan.bind is not None:
            # The port is chosen at connect time, where the whole four-tuple counts (Linux; see ip(7)).
            option = getattr(socket, "IP_BIND_ADDRESS_NO_PORT", None)
            if option is not None:
                sock.setsockopt(socket.SOL_IP, option, 1)
            sock.bind((self._plan.bind, 0))


def is_loopback(address: str) -> bool:
    """Whether a numeric address is this machine itself."""
    return address.startswith("127.") or address == "::1"
