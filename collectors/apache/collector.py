"""Finds and follows the status pages of the Apache servers on one machine.

A URL that the user gave is followed whatever it answers. Without one, pages are looked for: where the load's target is,
and where the listening sockets of the machine's httpd processes are (of those under test, where these are known); the
first that answers as mod_status is followed, or where a HAProxy stands before several, that of each.
"""

import asyncio
import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from collectors.apache import status as apache
from collectors.apache.discovery import ApacheLimits
from collectors.errors import AbsentError, FetchError, TransportError
from collectors.machine import Endpoint, Machine
from collectors.status_page import StatusPage
from collectors.under_test import port_of
from loadtop.model import HostSample, Listener, Outcome, State
from loadtop.servers.apache.record import GROUP as HTTPD
from loadtop.servers.apache.record import ApacheStatus

LOOK_AGAIN_S = 5.0
_NAME = "apache"
_SECURE_PORTS = (443, 8443)
_CANDIDATES = 6


@dataclass(frozen=True, slots=True)
class _Problem:
    """Why there is no status: of a page, or of the search for one."""

    state: State
    reason: str


class ApacheWatch:
    """The Apache servers of one machine. ``urls`` are those given; ``target_urls`` are pages of servers on it."""

    def __init__(
        self, machine: Machine, urls: Sequence[str] = (), *, find: bool = True, target_urls: Sequence[str] = ()
    ) -> None:
        self._machine = machine
        self._find = find and not urls
        self._target_urls = target_urls
        self._given = tuple(apache.status_url(url) for url in urls)
        self._pages: list[StatusPage] = []
        self._timeout_s = 1.0
        self._search: asyncio.Task[None] | None = None
        self._searched = -math.inf
        self._servers: tuple[int, ...] = ()
        self._unfound = _Problem(State.ABSENT, "no page of mod_status looked for yet")
        self._limits = ApacheLimits(machine, target_urls)
        self._listeners: tuple[Listener, ...] = ()

    def start(self, interval_s: float) -> None:
        """``interval_s`` is the distance of samples; a page is called silent after that, or after 1 s if longer."""
        self._timeout_s = max(1.0, interval_s)
        self._pages = [self._page(url) for url in self._given]

    def ask(self) -> None:
        """Ask for every page that is followed; look for one where there is none."""
        for page in self._pages:
            page.ask()

    @property
    def pages(self) -> Sequence[StatusPage]:
        """Those that are followed."""
        return self._pages

    def collect(self, uptime_less_monotonic: float) -> tuple[tuple[ApacheStatus, ...] | None, Outcome]:
        """The pages that came since the last call and how it went. The argument turns the time of this program's clock
        into the machine's uptime, on which each status is dated."""
        if not self._find and not self._given:
            return None, Outcome(_NAME, State.ABSENT, "not looked for")
        found: list[ApacheStatus] = []
        problems: list[_Problem] = []
        notes: list[str] = []
        duration = 0.0
        for page in self._pages:
            answer = page.take()
            duration = max(duration, answer.waited_s)
            if answer.page is None:
                problems.append(_silence(page, answer.problem, answer.waited_s))
                continue
            try:
                status = apache.parse_page(answer.page)
            except AbsentError as absent:
                problems.append(_Problem(State.ABSENT, str(absent)))
                continue
            found.append(self._limits.complete(replace(status, at=uptime_less_monotonic + answer.came)))
            notes.append(apache.note(status))
        if not self._pages:
            problems.append(self._unfound)
        worst = next((problem for problem in problems if problem.state is State.FAILED), None)
        problem = worst or next(iter(problems), None) or _Problem(State.OK, next(filter(None, notes), ""))
        return tuple(found) or None, Outcome(_NAME, problem.state, problem.reason, round(duration, 6))

    def look(self, sample: HostSample) -> None:
        """Begin a search where other servers run than before, and every :data:`LOOK_AGAIN_S` where none was found.
        ``sample`` is the newest: its accept queues say where not to ask."""
        self._listeners = sample.tcp.listeners if sample.tcp is not None else ()
        if self._find or self._given:
            self._limits.look()
        if not self._find or (self._search is not None and not self._search.done()):
            return
        now, servers = asyncio.get_running_loop().time(), self._machine.servers(HTTPD)
        if servers != self._servers or (not self._pages and now - self._searched >= LOOK_AGAIN_S):
            self._servers, self._searched = servers, now
            self._search = asyncio.create_task(self._look(servers), name="search for mod_status")

    @property
    def note(self) -> str:
        """What keeps the server under test from being known, or an empty text."""
        return self._limits.note

    async def settle_tested(self, most_s: float) -> bool:
        """As :meth:`ApacheLimits.settle`."""
        return bool(self._find or self._given) and await self._limits.settle(most_s)

    async def close(self) -> None:
        await self._limits.close()
        if self._search is not None:
            self._search.cancel()
            await asyncio.gather(self._search, return_exceptions=True)
        for page in self._pages:
            await page.close()

    async def _look(self, servers: tuple[int, ...]) -> None:
        places = {pid: await self._endpoints(pid) for pid in servers}
        followed: list[StatusPage] = []
        problems: list[_Problem] = []
        for urls in await self._candidates(places):
            for url in urls:
                problem = await self._try(url)
                if problem is None:
                    followed.append(self._page(url))
                    break
                problems.append(problem)
        left, self._pages = self._pages, followed
        for page in left:
            await page.close()
        self._unfound = next(iter(problems), None) or _Problem(State.ABSENT, await self._nowhere(servers))

    async def _nowhere(self, servers: tuple[int, ...]) -> str:
        """Why there was no place to look at."""
        if not servers:
            return "no httpd process here"
        with contextlib.suppress(TransportError):
            if all([await self._limits.apart(pid) for pid in servers]):
                return (
                    "httpd runs in a container with a network of its own: name its status page, as this machine"
                    " reaches it, with --apache URL"
                )
        return "httpd runs here, but where it listens may not be read: name its status page with --apache URL"

    async def _endpoints(self, pid: int) -> tuple[Endpoint, ...]:
        try:
            return await self._limits.listening(pid)
        except TransportError:
            return ()

    async def _candidates(self, places: Mapping[int, tuple[Endpoint, ...]]) -> list[list[str]]:
        """Where pages may be: of each list, the first that answers is followed. Only those of the servers under test,
        where these are known (another one's page would be shown under the wrong name). Where the load comes through a
        HAProxy here, each server is asked by itself: a page asked for there would be now one's, now another's."""
        try:
            chosen, direct = await self._limits.chosen(places)
        except TransportError:
            chosen, direct = frozenset[int](), dict.fromkeys(self._target_urls, frozenset[int]())
        pages = {pid: [_url(endpoint) for endpoint in endpoints][:_CANDIDATES] for pid, endpoints in places.items()}
        by_server: dict[frozenset[int], list[str]] = {}
        for url, servers in direct.items():
            by_server.setdefault(servers, []).append(apache.status_url_of_target(url))
        known = frozenset[int]().union(*by_server)
        found = [
            [*urls[:_CANDIDATES], *(page for pid in (servers if known else pages) for page in pages[pid])]
            for servers, urls in by_server.items()
        ]
        proxied = len(direct) < len(self._target_urls)
        rest = chosen or (pages.keys() if proxied or not direct else ())
        return found + [pages[pid] for pid in pages if pid in rest and pid not in known]

    async def _try(self, url: str) -> _Problem | None:
        """Why the page cannot be followed; ``None`` where it can. Where the accept queue of its port is full it is not
        asked for: that would be one connection more in a queue in which others find no place, and no answer in time."""
        port = port_of(url)
        queue = next((found for found in self._listeners if found.port == port), None)
        if queue is not None and queue.backlog is not None and queue.queue >= queue.backlog:
            return _Problem(State.FAILED, f"{url}: not asked for, its accept queue is full ({queue.queue} connections)")
        try:
            apache.parse_page(await self._machine.fetch(url, self._timeout_s * 2))
        except FetchError as error:
            return _Problem(State.FAILED, f"{url}: {error}")
        except AbsentError as absent:
            return _Problem(State.ABSENT, str(absent))
        return None

    def _page(self, url: str) -> StatusPage:
        return StatusPage(url, self._machine.fetch, self._timeout_s)


def _silence(page: StatusPage, problem: str, waited_s: float) -> _Problem:
    if problem:
        return _Problem(State.FAILED, f"{page.shown_url}: {problem}")
    return _Problem(State.ABSENT, f"{page.shown_url}: waiting for the page for {waited_s:.1f} s")


def _url(endpoint: Endpoint) -> str:
    scheme = "https" if endpoint.port in _SECURE_PORTS else "http"
    address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(endpoint.address, endpoint.address)  # noqa: S104 - as read
    host = f"[{address}]" if ":" in address and not address.startswith("[") else address
    return f"{scheme}://{host}:{endpoint.port}{apache.STATUS_PATH}?auto"
