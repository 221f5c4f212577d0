"""Looks for servers on a machine, in a task of its own."""

import asyncio
import math
from collections.abc import Callable, Coroutine

from loadtop.i18n import Message

LOOK_AGAIN_S = 5.0
"""How long after a search that did not find everything the next one begins."""

READ_AGAIN_S = 60.0
"""How often configuration is read again where all was found: a reload changes it and starts no new process."""


async def ended(task: asyncio.Task[None] | None) -> None:
    """Cancel a task, and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Search:
    """Runs ``look`` with the first process of each server: at once where these changed, otherwise every so often.
    An error of this program in it is kept as ``problem`` until the next search."""

    def __init__(
        self,
        name: str,
        servers: Callable[[], tuple[int, ...]],
        look: Callable[[tuple[int, ...]], Coroutine[None, None, None]],
        again_s: float = READ_AGAIN_S,
    ) -> None:
        """``again_s`` is the time between searches while everything is found."""
        self._name = name
        self._running = servers
        self._look = look
        self._again_s = again_s
        self._task: asyncio.Task[None] | None = None
        self._started = -math.inf
        self._servers: tuple[int, ...] = ()
        self.problem: Message | None = None

    def go_on(self, *, found: bool) -> None:
        """Start a search if it is time to; ``found`` says whether the last one found everything."""
        if self._task is not None and not self._task.done():
            return
        if self._task is not None and not self._task.cancelled():
            error = self._task.exception()
            self.problem = Message("the search for it failed: {error}", error=repr(error)) if error else None
        now, servers = asyncio.get_running_loop().time(), self._running()
        if servers != self._servers or now - self._started >= (self._again_s if found else LOOK_AGAIN_S):
            self._servers, self._started = servers, now
            self._task = asyncio.create_task(self._look(servers), name=f"search for {self._name}")

    async def finish(self) -> None:
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def close(self) -> None:
        await ended(self._task)
