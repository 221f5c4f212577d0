"""Finds and follows the statistics of the HAProxies on one machine.

Those that the user gave are followed whatever they answer. Without any, each running HAProxy's configuration says where
its socket and its page are; the first that answers is followed. Where the configuration may not be read, the usual
sockets are tried, and the usual page on the ports on which it listens.
"""

from collections.abc import Sequence
from dataclasses import replace

from collectors.errors import AbsentError, FetchError, TransportError
from collectors.haproxy import configuration as haproxy_config
from collectors.haproxy import status as haproxy
from collectors.haproxy.discovery import config_of
from collectors.machine import Machine
from collectors.page import Page
from collectors.search import Search
from collectors.status_page import StatusPage
from loadtop.model import Outcome, State
from loadtop.servers.haproxy.record import GROUP as HAPROXY
from loadtop.servers.haproxy.record import HaproxyProxy

_NAME = "haproxy"
_CANDIDATES = 12
_USUAL = ("/stats", haproxy.STATS_URI, "/haproxy_stats", "/")


class HaproxyWatch:
    """The HAProxies of one machine; ``urls`` are pages and sockets given."""

    def __init__(self, machine: Machine, urls: Sequence[str] = (), *, find: bool = True) -> None:
        self._machine = machine
        self._given = tuple(haproxy.stats_url(url) for url in urls)
        self._find = find and not urls
        self._timeout_s = 1.0
        self._pages: list[StatusPage] = []
        self._unfound = (State.ABSENT, "no haproxy process looked for yet")
        self._search = Search(machine, HAPROXY, self._look)

    def start(self, interval_s: float) -> None:
        """``interval_s`` is the distance of samples; a page is called silent after that, or after 1 s if longer."""
        self._timeout_s = max(1.0, interval_s)
        self._pages = [self._page(url) for url in self._given]

    def ask(self) -> None:
        """Ask for every page that is followed."""
        for page in self._pages:
            page.ask()

    @property
    def pages(self) -> Sequence[StatusPage]:
        """Those that are followed."""
        return self._pages

    def look(self) -> None:
        """Look for HAProxies where it is time to."""
        if self._find:
            self._search.go_on(found=bool(self._pages))

    def collect(self, uptime_less_monotonic: float) -> tuple[tuple[HaproxyProxy, ...] | None, Outcome]:
        """The lines that came since the last call and how it went; the argument as for ApacheWatch."""
        if not self._find and not self._given:
            return None, Outcome(_NAME, State.ABSENT, "not looked for")
        if not self._pages:
            state, reason = self._unfound
            return None, Outcome(_NAME, state, self._search.problem or reason)
        found: dict[tuple[str, str], HaproxyProxy] = {}
        problems: list[tuple[State, str]] = []
        duration = 0.0
        for page in self._pages:
            answer = page.take()
            duration = max(duration, answer.waited_s)
            if answer.page is None:
                waiting = f"waiting for the page for {answer.waited_s:.1f} s"
                state = State.FAILED if answer.problem else State.ABSENT
                problems.append((state, f"{page.shown_url}: {answer.problem or waiting}"))
                continue
            try:
                lines = haproxy.parse_page(answer.page)
            except AbsentError as absent:
                problems.append((State.ABSENT, str(absent)))
                continue
            at = uptime_less_monotonic + answer.came
            for line in lines:
                found.setdefault((line.proxy, line.server), replace(line, at=at))
        worst = next((problem for problem in problems if problem[0] is State.FAILED), None)
        state, reason = worst or next(iter(problems), None) or (State.OK, "")
        return tuple(found.values()) or None, Outcome(_NAME, state, reason, duration)

    async def close(self) -> None:
        await self._search.close()
        for page in self._pages:
            await page.close()

    async def _look(self, servers: tuple[int, ...]) -> None:
        urls: list[str] = []
        problems: list[tuple[State, str]] = []
        try:
            for pid in servers:
                candidates, problem = await self._candidates(pid)
                reasons: list[tuple[State, str]] = []
                for url in candidates[:_CANDIDATES]:
                    reason = await self._problem_of(url)
                    if reason is None:
                        urls.append(url)
                        break
                    reasons.append(reason)
                else:
                    problems += reasons[:1] or [(State.ABSENT, problem)]
        except TransportError as error:
            problems.append((State.FAILED, str(error)))
        if not servers:
            problems.append((State.ABSENT, "no haproxy process here"))
        await self._follow(list(dict.fromkeys(urls)))
        if problems:
            self._unfound = problems[0]

    async def _follow(self, urls: list[str]) -> None:
        kept = {page.url: page for page in self._pages if page.url in urls}
        left = [page for page in self._pages if page.url not in kept]
        self._pages = [kept.get(url) or self._page(url) for url in urls]
        for page in left:
            await page.close()

    async def _candidates(self, pid: int) -> tuple[list[str], str]:
        """Where the statistics of one HAProxy may be, and the reason if they are nowhere."""
        read = await config_of(self._machine, pid)
        if read is None:
            return [], "haproxy runs in a container with a network of its own: name its statistics with --haproxy URL"
        config, file = read
        found = list(haproxy_config.parse(config.lines()))
        if config.found:
            return found, (
                f"HAProxy runs here without statistics: add this to the section `global` of {file}, and reload"
                f" it:\n{haproxy.FIX}"
            )
        ports = [endpoint.port for endpoint in await self._machine.listening(pid)]
        pages = [haproxy.stats_url(f"http://127.0.0.1:{port}{path}") for port in ports for path in _USUAL]
        refused = config.problem()
        reason = f"its configuration may not be read ({refused})" if refused else "its configuration is not known"
        return [*(f"unix:{path}" for path in haproxy_config.SOCKETS), *pages], (
            f"HAProxy runs here, but {reason}: name its statistics with --haproxy URL"
        )

    async def _problem_of(self, url: str) -> tuple[State, str] | None:
        """Why a page cannot be followed; ``None`` where it can."""
        try:
            haproxy.parse_page(await self._fetch(url, self._timeout_s))
        except FetchError as error:
            return State.FAILED, f"{url}: {error}"
        except AbsentError as absent:
            return State.ABSENT, str(absent)
        return None

    async def _fetch(self, url: str, timeout_s: float) -> Page:
        return await haproxy.fetch(self._machine, url, timeout_s)

    def _page(self, url: str) -> StatusPage:
        return StatusPage(url, self._fetch, self._timeout_s)
