"""A server whose page takes a tenth of a second, however many ask for it: what it serves is what is asked of it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.servers.program import Program

PORT, WAIT_S = 8080, 0.1
SERVER = f"""
import asyncio

async def serve(reader, writer):
    try:
        while (await reader.readuntil(b"\\r\\n\\r\\n")):
            print("request", flush=True)
            await asyncio.sleep({WAIT_S})
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()

async def main():
    async with await asyncio.start_server(serve, "0.0.0.0", {PORT}) as server:
        await server.serve_forever()

asyncio.run(main())
"""


def waiting_server(launcher: Sequence[str], log: Path) -> Program:
    """The server, started by the command ``launcher``; ``log`` has a line for each request."""
    return Program([*launcher, sys.executable, "-c", SERVER], log=log)
