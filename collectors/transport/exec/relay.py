"""Sockets here that lead to servers of a machine, each connection through a command beside the one that reads it.

At the remote end of each is a relay (``relay.sh``), which carries one connection after the other: to start a command
in a container for each status page would cost more than everything that is measured. Every connection ends with a mark
that the server cannot know.
"""

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from collectors.background import ended, guarded
from collectors.errors import TransportError
from collectors.parsing import LONGEST_TEXT
from collectors.transport.exchange import host_and_port
from collectors.transport.exec.start import first_line, sent, start_command, started
from collectors.transport.shell.connection import CHUNK, CONNECT_S, ShellConnection
from collectors.transport.shell.frames import bare, cut_out
from collectors.transport.shell.guard import SocketDirectory
from collectors.transport.shell.pages import NO_SHELL, RemotePages
from loadtop.i18n import Message, verbatim

_ENDING_S = 1.0
_HELD_S = 0.05  # how long what may be the beginning of a mark waits for the rest, which was sent with it
_LEAVING_S = 0.2
"""How long a server has to close a connection after its client did: both do with the last byte of a page."""

_HERE = Path(__file__).parent


class RelayedPages(RemotePages):
    """``argv`` is the command that starts a shell there."""

    def __init__(self, connection: ShellConnection, argv: Sequence[str]) -> None:
        super().__init__(connection)
        self._argv = argv
        self._idle: list[_Relay] = []
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def forward(self, address: str, socket: str) -> None:
        self._servers.append(await asyncio.start_unix_server(partial(self._accept, address), socket))

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        await super().close()
        await asyncio.gather(*map(ended, tuple(self._connections)))
        await asyncio.gather(*(relay.close() for relay in self._idle))
        self._idle.clear()

    def _accept(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(
            guarded(partial(self._carry, address, reader, writer), partial(self._fail, address)),
            name=f"connection to {address}",
        )
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    def _fail(self, address: str, error: Message) -> None:
        self.refusals[address] = str(error)

    async def _carry(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection; why there was none is noted before its socket here is closed."""
        relay: _Relay | None = None
        try:
            relay = await self._relay()
            self.refusals[address] = await relay.carry(address, reader, writer)
            self._idle.append(relay)
            relay = None
        except TransportError as error:
            self.refusals[address] = str(error)
        except OSError:
            pass  # the client is gone
        finally:
            writer.close()
            if relay is not None:
                await asyncio.shield(relay.close())

    async def _relay(self) -> "_Relay":
        """Return an idle relay that still runs, or start one: a relay that is idle for long ends by itself."""
        while self._idle:
            relay = self._idle.pop()
            if relay.runs:
                return relay
            await relay.close()
        relay = await _Relay.start(self._argv)
        self.pids |= {relay.pid}
        return relay


class _Relay:
    """A command with a relay at its remote end."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        streams: tuple[asyncio.StreamWriter, asyncio.StreamReader],
        key: str,
        directory: SocketDirectory,
    ) -> None:
        self._process = process
        self._stdin, self._stdout = streams
        self._key = key
        self.pid = 0  # there
        self._directory = directory
        directory.opened_by(process.pid)

    @classmethod
    async def start(cls, argv: Sequence[str]) -> "_Relay":
        key, mark = secrets.token_hex(8), secrets.token_hex(8)
        process, directory = await start_command(argv, messages=False)
        if process.stdin is None or process.stdout is None:
            raise TransportError("no connection")
        relay = cls(process, (process.stdin, process.stdout), key, directory)
        try:
            relay._stdin.write(first_line(mark).encode())
            async with asyncio.timeout(CONNECT_S):
                frame = await relay._stdout.readuntil(f"\n#{mark}.\n".encode())
            relay.pid, silence_s = started(cut_out(frame.removesuffix(f"\n#{mark}.\n".encode()), mark))
            relay._stdin.write(sent(_script(key, silence_s)).encode())
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            await relay.close()
            raise TransportError(verbatim(NO_SHELL)) from None
        except BaseException:
            await relay.close()
            raise
        return relay

    @property
    def runs(self) -> bool:
        return self._process.returncode is None

    async def carry(self, address: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Carry one connection until the server closes it. Returns why there was none, if so. Raises ``OSError`` or
        :class:`TransportError` where the client closed it first, or the command ended: the relay is of no use then."""
        mark = secrets.token_hex(8)
        place = host_and_port(address)
        words = address if place is None else f"{place[0]} {place[1]}"
        self._stdin.write(f"\n{self._key} {mark} {words}\n".encode())
        sending = asyncio.create_task(guarded(partial(self._send, reader), self._fail), name=f"to {address}")
        try:
            return await self._receive(f"#{mark}. ".encode(), writer)
        finally:
            await ended(sending)

    async def _send(self, reader: asyncio.StreamReader) -> None:
        """Pass on what the client sends. If it leaves first, the remote side does not notice: end everything."""
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                self._stdin.write(chunk)
                await self._stdin.drain()
        await asyncio.sleep(_LEAVING_S)
        self._kill()

    def _fail(self, _: Message) -> None:
        self._kill()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def _receive(self, end: bytes, writer: asyncio.StreamWriter) -> str:
        """Pass on what comes until the mark ``end``; returns what follows it."""
        held = b""
        while (place := held.find(end)) < 0:
            kept = _beginning_at_end(held, end)
            writer.write(held[: len(held) - kept])
            await writer.drain()
            held = held[len(held) - kept :]
            try:
                async with asyncio.timeout(_HELD_S if held else None):
                    chunk = await self._stdout.read(CHUNK)
            except TimeoutError:
                writer.write(held)
                held = b""
                continue
            if not chunk:
                raise TransportError("the command that reaches the host has ended")
            held += chunk
        writer.write(held[:place])
        rest = held[place + len(end) :]
        while b"\n" not in rest and len(rest) < LONGEST_TEXT and (chunk := await self._stdout.read(CHUNK)):
            rest += chunk
        return rest.partition(b"\n")[0].decode("utf-8", "replace")[:LONGEST_TEXT]

    async def close(self) -> None:
        """End the relay by the end of its input, then the command, surely."""
        self._stdin.close()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_ENDING_S):
                    await asyncio.gather(self._process.wait(), _drained(self._stdout))
        finally:
            self._kill()
            self._process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001
            self._directory.remove()


async def _drained(reader: asyncio.StreamReader) -> None:
    while await reader.read(CHUNK):
        pass


def _script(key: str, silence_s: int) -> str:
    """The relay as it is sent, with the word that orders begin with, and the time without any after which it ends."""
    perl, script = (
        bare(_HERE / name).replace("@KEY@", key).replace("@SILENCE@", str(silence_s))
        for name in ("relay.pl", "relay.sh")
    )
    return script.replace("@PERL@", perl)


def _beginning_at_end(text: bytes, mark: bytes) -> int:
    """How many bytes at the end of a text may be the beginning of a mark."""
    return next((many for many in range(min(len(text), len(mark) - 1), 0, -1) if text.endswith(mark[:many])), 0)
