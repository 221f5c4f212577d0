"""Looks for servers of one kind on a machine, in a task of its own."""

import asyncio
import math
from collections.abc import Awaitable, Callable

from collectors.machine import Machine

LOOK_AGAIN_S = 5.0
"""How often is looked where nothing was found."""

READ_AGAIN_S = 60.0
"""How often configuration is read again where all was found: a reload changes it and starts no new process."""


class Search:
    """Runs ``look`` with the first process of each server: at once where these changed, otherwise every so often.

    An error of this program in it is kept as ``problem`` until the next search.
    """

    def __init__(
        self,
        machine: Machine,
        group: str,
        look: Callable[[tuple[int, ...]], Awaitable[None]],
        *,
        tested: bool = False,
    ) -> None:
        """``tested`` leaves out servers that are known not to be under test."""
        self._servers_of = machine.tested if tested else machine.servers
        self._group = group
        self._look = look
        self._task: asyncio.Task[None] | None = None
        self._begun = -math.inf
        self._servers: tuple[int, ...] = ()
        self.problem = ""

    def go_on(self, *, found: bool) -> None:
        """Begin to look where it is time to; ``found`` says whether the last look found all that it looks for."""
        if self._task is not None and not self._task.done():
            return
        if self._task is not None and not self._task.cancelled():
            error = self._task.exception()
            self.problem = f"the search for it failed: {error!r}" if error is not None else ""
        now, servers = asyncio.get_running_loop().time(), self._servers_of(self._group)
        if servers != self._servers or now - self._begun >= (READ_AGAIN_S if found else LOOK_AGAIN_S):
            self._servers, self._begun = servers, now
            self._task = asyncio.create_task(self._run(servers), name=f"search for {self._group}")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, servers: tuple[int, ...]) -> None:
        await self._look(servers)
