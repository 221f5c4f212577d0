"""Heartbeats: a load goes on only while the process that watches it does.

Workers, guards and scripts that hear nothing for :data:`SILENCE_S` pause the load, because loadtop was suspended or
hangs; the next heartbeat resumes it. When loadtop ends, their standard input ends, and so do they.
"""

import asyncio
from collections.abc import Callable

PERIOD_S = 0.25
SILENCE_S = 1.7


async def send_heartbeats(send: Callable[[], None]) -> None:
    """Call ``send`` every :data:`PERIOD_S`, until cancelled."""
    while True:
        send()
        await asyncio.sleep(PERIOD_S)
