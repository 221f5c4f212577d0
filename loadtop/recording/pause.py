"""A wait that can be cut short."""

import asyncio
from typing import Any

from loadtop.pipeline.monitor import Clock


class Pause:
    """Waits on a clock until the time is up or :meth:`end` is called."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ended = asyncio.Event()

    def end(self) -> None:
        """Cut the wait short."""
        self._ended.set()

    async def wait(self, seconds: float | None) -> bool:
        """Wait so many seconds (``None``: until it is cut short); True when the time is up."""
        self._ended.clear()
        waiting: set[asyncio.Future[Any]] = {asyncio.ensure_future(self._ended.wait())}
        if seconds is not None:
            waiting.add(asyncio.ensure_future(self._clock.sleep(max(0.0, seconds))))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        return not self._ended.is_set()
