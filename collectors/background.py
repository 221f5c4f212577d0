"""Searches for servers and requests for their status pages, each in a separate task beside the samples.

A server that does not respond delays nothing else. A page that has not come within the time-out is reported as silence
and waited for until :data:`PATIENCE` times that: where every worker is busy it comes when one is free. Asking again
each second would add a request a second to a queue that is too long already.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine

from msgspec import Struct
from msgspec.structs import replace

from collectors.errors import FetchError, SilentError
from collectors.machine import Page, without_credentials
from collectors.parsing import LONGEST_TEXT, short
from loadtop.i18n import Message

LOOK_AGAIN_S = 5.0  # how long after a search that did not find everything the next one begins
READ_AGAIN_S = 60.0  # between readings of configuration where all was found: a reload starts no new process
PATIENCE = 10

Fetch = Callable[[str, float], Awaitable[Page]]


async def guarded(work: Callable[[], Awaitable[None]], failed: Callable[[Message], None]) -> None:
    """Run a coroutine that is not awaited. ``failed`` receives an unexpected error and reports it as a problem of the
    host; asyncio alone would hide it. Every task of a host starts with this."""
    try:
        await work()
    except Exception as error:
        failed(Message("an error in loadtop: {error}", error=short(repr(error), LONGEST_TEXT)))


async def ended(task: asyncio.Task[None] | None) -> None:
    """Cancel a task, and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Search:
    """Runs ``look`` with the first process of each server: at once where these changed, otherwise every so often.
    An unexpected error is kept as ``problem`` until a search succeeds."""

    def __init__(
        self,
        name: str,
        servers: Callable[[], tuple[int, ...]],
        look: Callable[[tuple[int, ...]], Coroutine[None, None, None]],
        again_s: float = READ_AGAIN_S,
        soon_s: float = LOOK_AGAIN_S,
        most_s: float = 0.0,
    ) -> None:
        """``again_s`` is the time between searches while everything is found, ``soon_s`` while it is not. It doubles
        each time that everything is still found, up to ``most_s``."""
        self._name = name
        self._running = servers
        self._look = look
        self._again_s, self._soon_s, self._most_s = again_s, soon_s, most_s
        self._wait_s = soon_s
        self._task: asyncio.Task[None] | None = None
        self._started = -math.inf
        self._servers: tuple[int, ...] = ()
        self.problem: Message | None = None

    def go_on(self, *, found: bool) -> None:
        """Start a search if it is due and none is running. ``found``: the last search found everything."""
        if self._task is not None and not self._task.done():
            return
        now, servers = asyncio.get_running_loop().time(), self._running()
        if servers != self._servers or not found:
            self._wait_s = self._soon_s
        else:
            self._wait_s = max(self._wait_s, self._again_s)
        if servers != self._servers or now - self._started >= self._wait_s:
            if found and self._wait_s < self._most_s:
                self._wait_s = min(2 * self._wait_s, self._most_s)
            self._servers, self._started = servers, now
            self._task = asyncio.create_task(guarded(self._search, self._fail), name=f"search for {self._name}")

    async def _search(self) -> None:
        await self._look(self._servers)
        self.problem = None

    def _fail(self, error: Message) -> None:
        self.problem = Message("the search for it failed: {error}", error=error)

    async def finish(self) -> None:
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def close(self) -> None:
        await ended(self._task)


class Answer(Struct, frozen=True):
    """The page and when it came (``came``, by ``time.monotonic``), or the ``problem``; neither while the request is
    pending. ``waited_s`` is how long a page has been missing."""

    page: Page | None = None
    came: float = 0.0
    problem: FetchError | None = None
    waited_s: float = 0.0


class StatusPage:
    """A page that is fetched again and again, never twice at a time."""

    def __init__(self, url: str, fetch: Fetch, timeout_s: float) -> None:
        self.url = url
        self.shown_url = without_credentials(url)
        self._fetch = fetch
        self._timeout_s = timeout_s
        self._task: asyncio.Task[None] | None = None
        self._asked = 0.0
        self._newest = Answer()
        self._prompt = True

    def ask(self) -> None:
        if self._task is None or self._task.done():
            self._asked = self._now()
            self._task = asyncio.create_task(guarded(self._get, self._fail), name=f"status page {self.shown_url}")

    async def settle(self, grace_s: float) -> None:
        """Wait briefly for a requested page if the last one came quickly."""
        task = self._task  # a search may close the page meanwhile
        if self._prompt and task is not None and not task.done():
            await asyncio.wait((task,), timeout=grace_s)
            self._prompt = task.done()

    def take(self) -> Answer:
        """What is new since the last call."""
        answer, self._newest = self._newest, Answer()
        if answer.page is not None or answer.problem is not None or self._task is None or self._task.done():
            return answer
        waited = self._now() - self._asked
        if waited < self._timeout_s:
            return Answer(waited_s=waited)
        silent = SilentError("no response for {seconds:.1f} s: all workers may be busy", seconds=waited)
        return Answer(problem=silent, waited_s=waited)

    async def close(self) -> None:
        task, self._task = self._task, None
        await ended(task)

    async def _get(self) -> None:
        try:
            page = await self._fetch(self.url, self._timeout_s * PATIENCE)
        except FetchError as error:
            self._newest = Answer(problem=error, waited_s=self._now() - self._asked)
            return
        took_s = page.took_s or self._now() - self._asked
        self._prompt = took_s < self._timeout_s / 10
        self._newest = Answer(replace(page, took_s=took_s), page.came or time.monotonic(), waited_s=took_s)

    def _fail(self, error: Message) -> None:
        self._newest = Answer(problem=FetchError(error), waited_s=self._now() - self._asked)

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
