"""Heartbeats: a load continues only while the process that watches it does.

Workers, guards and scripts that hear nothing for :data:`SILENCE_S` pause the load, because loadtop was suspended or
hangs; the next heartbeat resumes it. When loadtop ends, their standard input ends, and so do they.
"""

import asyncio
from asyncio.subprocess import Process
from collections.abc import Callable
from contextlib import suppress

PERIOD_S = 0.25
SILENCE_S = 1.7


async def send_heartbeats(send: Callable[[], None]) -> None:
    """Call ``send`` every :data:`PERIOD_S`, until cancelled."""
    while True:
        send()
        await asyncio.sleep(PERIOD_S)


def write_input(process: Process | None, data: bytes) -> None:
    """Write to the standard input of a process, unless it has ended."""
    if process is not None and process.stdin is not None and process.returncode is None:
        with suppress(OSError, RuntimeError):  # it has just ended
            process.stdin.write(data)


async def end_process(process: Process, seconds: float) -> None:
    """End a process by the end of its standard input; kill it if that takes longer than ``seconds``."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
