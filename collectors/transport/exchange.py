"""One question to a server and its answer, all that it says: by a TCP or unix socket."""

import asyncio
import contextlib
import re

from collectors.errors import ClosedError, FetchError, SilentError
from collectors.parsing import MOST_PORT, count_or_none
from loadtop.i18n import verbatim
from loadtop.model import Cause

LIMIT_BYTES = 1 << 20
"""Of an answer. What is beyond that is cut off."""

READ_BYTES = 65_536
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]{1,45})\]|([\w-]{1,63}(?:\.[\w-]{1,63}){0,31}\.?)):(\d{1,5})", re.ASCII)


def refused(error: OSError) -> FetchError:
    """Why there is no connection to a server."""
    if isinstance(error, FileNotFoundError):
        return FetchError("no such socket")
    if isinstance(error, PermissionError):
        return FetchError("not permitted: this user has no access to that socket", cause=Cause.SOCKET)
    if isinstance(error, (ConnectionResetError, BrokenPipeError)):
        return ClosedError(verbatim(error.strerror or type(error).__name__))
    if isinstance(error, ConnectionRefusedError):
        return FetchError("connection refused: nothing is listening there")
    return FetchError(verbatim(error.strerror or str(error) or type(error).__name__))


def host_and_port(address: str) -> tuple[str, int] | None:
    """The parts of ``HOST:PORT`` or ``[ADDRESS]:PORT``; ``None`` where it is neither."""
    match = _ADDRESS.fullmatch(address)
    port = count_or_none(match[3], MOST_PORT) if match else None
    return (match[1] or match[2], port) if match and port else None


async def itself(address: str) -> str:
    """The address of a server that this machine reaches without a detour."""
    return address


async def no_other_way(address: str, question: bytes, replies: int, timeout_s: float) -> None:
    """Nothing: to this machine, a connection of this program costs least."""


async def exchange(address: str, question: bytes, timeout_s: float) -> bytes:
    """All that ``HOST:PORT`` or the unix socket of that path answers (at most 1 MiB). Raises :class:`FetchError`."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _exchange(address, question)
    except TimeoutError:
        raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
    except OSError as error:
        raise refused(error) from None


async def connected(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to ``HOST:PORT`` or the unix socket of that path. Raises :class:`FetchError` and ``OSError``."""
    if address.startswith("/"):
        return await asyncio.open_unix_connection(address)
    place = host_and_port(address)
    if place is None:
        raise FetchError("not an address: HOST:PORT or the path of a socket")
    return await asyncio.open_connection(*place)


async def _exchange(address: str, question: bytes) -> bytes:
    reader, writer = await connected(address)
    try:
        writer.write(question)
        await writer.drain()
        answer = bytearray()
        while len(answer) < LIMIT_BYTES and (chunk := await reader.read(READ_BYTES)):
            answer += chunk
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    if not answer:
        raise ClosedError("the server closed the connection without a response")
    return bytes(answer[:LIMIT_BYTES])
