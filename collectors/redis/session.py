"""A connection to a Redis server that stays open: through SSH, opening one costs more than a request."""

import asyncio

from collectors.parsing import count_or_none
from collectors.transport.exchange import LIMIT_BYTES, connected


class Session:
    """One connection, unusable after an error. ``answers``: how often it has answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.answers = 0

    @classmethod
    async def opened(cls, place: str) -> "Session":
        """Connect to a place on this machine: a path, or ``HOST:PORT``. Raises FetchError and OSError."""
        return cls(*await connected(place))

    async def ask(self, commands: bytes, replies: int) -> bytes:
        """Return so many ``replies``, one to each command. Raises OSError, EOFError where the server closed the
        connection, and ValueError where it sends something else."""
        self._writer.write(commands)
        await self._writer.drain()
        answer = b""
        for _ in range(replies):
            line = await self._reader.readline()
            answer += line
            if not line.endswith(b"\r\n"):
                raise EOFError
            if line.startswith(b"$"):
                length = count_or_none(line[1:-2].decode("ascii", "replace"), LIMIT_BYTES)
                if length is None:
                    raise ValueError("not a length")
                answer += await self._reader.readexactly(length + 2)
        self.answers += 1
        return answer

    def close(self) -> None:
        self._writer.transport.abort()
