"""One question over a stream socket and all of its answer, for servers that do not speak HTTP."""

import asyncio
import re
from contextlib import suppress

from collectors.errors import FetchError, SilentError
from loadtop.i18n import verbatim
from loadtop.model import Cause

LIMIT_BYTES = 1 << 20
_CHUNK = 65536
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([\w.-]+)):(\d{1,5})", re.ASCII)


def host_and_port(address: str) -> tuple[str, int] | None:
    """The parts of ``HOST:PORT`` or ``[ADDRESS]:PORT``; ``None`` where it is neither."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match[3]) < 65536:
        return None
    return match[1] or match[2], int(match[3])


async def exchange(address: str, question: bytes, timeout_s: float) -> bytes:
    """Ask ``HOST:PORT`` or the unix socket of that path, and read to the end (at most 1 MiB). Raises
    :class:`FetchError`."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _exchange(address, question)
    except TimeoutError:
        raise SilentError("no answer within {seconds:.1f} s", seconds=timeout_s) from None
    except ConnectionRefusedError:
        raise FetchError("connection refused: nothing listens there") from None
    except FileNotFoundError:
        raise FetchError("no such socket") from None
    except PermissionError:
        raise FetchError("not permitted: this user may not use that socket", cause=Cause.SOCKET) from None
    except OSError as error:
        raise FetchError(verbatim(error.strerror or str(error) or type(error).__name__)) from None


async def _exchange(address: str, question: bytes) -> bytes:
    if address.startswith("/"):
        reader, writer = await asyncio.open_unix_connection(address)
    else:
        place = host_and_port(address)
        if place is None:
            raise FetchError("not an address: HOST:PORT or the path of a socket")
        reader, writer = await asyncio.open_connection(*place)
    try:
        writer.write(question)
        await writer.drain()
        answer = bytearray()
        while len(answer) < LIMIT_BYTES and (chunk := await reader.read(_CHUNK)):
            answer += chunk
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
    if not answer:
        raise FetchError("the server closed the connection without an answer")
    return bytes(answer[:LIMIT_BYTES])
