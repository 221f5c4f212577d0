"""Finds and follows the pools of php-fpm on one machine.

Pages that the user gave are followed whatever they answer. Without one, the configuration of each running master says
where its pools and their pages are; each pool is asked directly over FastCGI, or through the web server under test
where its socket may not be used. A pool without a page, or with a silent one, is told of as far as it is known: its
limits from the configuration, its queue from the kernel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from collectors.errors import AbsentError, TransportError
from collectors.linux import unix_sockets
from collectors.machine import Machine
from collectors.page import Page
from collectors.php_fpm import status as fpm
from collectors.php_fpm.configuration import PoolConfig
from collectors.php_fpm.discovery import FpmFinder
from collectors.search import Search
from collectors.status_page import StatusPage
from loadtop.model import HostSample, Outcome, State
from loadtop.servers.php_fpm.record import GROUP as FPM
from loadtop.servers.php_fpm.record import FpmPool

_NAME = "fpm"
_MOST_POOLS = 32


@dataclass(slots=True)
class _Followed:
    """One pool or page: what is configured, the page that is asked, and why there is none."""

    config: PoolConfig | None
    page: StatusPage | None
    reason: str = ""


class FpmWatch:
    """The pools of one machine. ``urls`` are pages given; ``target_urls`` are pages of web servers on it."""

    def __init__(
        self, machine: Machine, urls: Sequence[str] = (), *, find: bool = True, target_urls: Sequence[str] = ()
    ) -> None:
        self._machine = machine
        self._given = tuple(fpm.status_url(url) for url in urls)
        self._find = find and not urls
        self._finder = FpmFinder(machine, target_urls)
        self._timeout_s = 1.0
        self._followed: list[_Followed] = []
        self._configs: tuple[PoolConfig, ...] = ()
        self._unfound = "no php-fpm process looked for yet"
        self._search = Search(machine, FPM, self._look, tested=True)

    def start(self, interval_s: float) -> None:
        """``interval_s`` is the distance of samples; a page is called silent after that, or after 1 s if longer."""
        self._timeout_s = max(1.0, interval_s)
        self._followed = [_Followed(None, self._page(url)) for url in self._given]

    def ask(self) -> None:
        """Ask for every page that is followed."""
        for page in self.pages:
            page.ask()

    @property
    def pages(self) -> Sequence[StatusPage]:
        """Those that are followed."""
        return [followed.page for followed in self._followed if followed.page is not None]

    def look(self) -> None:
        """Look for masters and their configuration where it is time to."""
        if self._find or self._given:
            waiting = any(f.page is None and f.config and f.config.status_path for f in self._followed)
            self._search.go_on(found=bool(self._configs) and not waiting)

    def collect(self, sample: HostSample, uptime_less_monotonic: float) -> tuple[tuple[FpmPool, ...] | None, Outcome]:
        """The pools as of now and how it went; arguments as for :meth:`ApacheWatch.collect`, with the sample that the
        queues of TCP ports are taken from."""
        if not self._find and not self._given:
            return None, Outcome(_NAME, State.ABSENT, "not looked for")
        if not self._followed:
            return None, Outcome(_NAME, State.ABSENT, self._search.problem or self._unfound)
        queues = self._queues(sample)
        pools: list[FpmPool] = []
        problems: list[tuple[State, str]] = []
        duration = 0.0
        for followed in self._followed:
            pool, problem, waited_s = self._collect_one(followed, queues, uptime_less_monotonic)
            duration = max(duration, waited_s)
            if pool is not None:
                pools.append(pool)
            if problem is not None:
                problems.append(problem)
        worst = next((problem for problem in problems if problem[0] is State.FAILED), None)
        state, reason = worst or next(iter(problems), None) or (State.OK, "")
        if state is State.ABSENT and any(pool.active is not None for pool in pools):
            state = State.OK  # some pools are measured: what the others lack is a note
        return _told_apart(pools) or None, Outcome(_NAME, state, reason, duration)

    async def close(self) -> None:
        await self._search.close()
        for page in self.pages:
            await page.close()

    def _collect_one(
        self, followed: _Followed, queues: dict[str, int], uptime_less_monotonic: float
    ) -> tuple[FpmPool | None, tuple[State, str] | None, float]:
        page, config = followed.page, followed.config
        if config is None and page is not None:
            config = self._config_of(page.url)
        if page is None:
            return _known(config, queues), (State.ABSENT, followed.reason), 0.0
        answer = page.take()
        if answer.page is None:
            silent = answer.problem.startswith("no answer") or not answer.problem
            pool = _known(config, queues, answer.waited_s) if silent else None
            if answer.problem:
                return pool, (State.FAILED, f"{page.shown_url}: {answer.problem}"), answer.waited_s
            waiting = f"{page.shown_url}: waiting for the page for {answer.waited_s:.1f} s"
            return pool, (State.ABSENT, waiting), answer.waited_s
        try:
            pool = fpm.parse_page(answer.page)
        except AbsentError as absent:
            return _known(config, queues), (State.ABSENT, str(absent)), answer.waited_s
        pool = replace(pool, at=uptime_less_monotonic + answer.came)
        # A page that was given tells its pool with its first answer.
        followed.config = config = config or self._config_of(page.url, pool.pool)
        return _completed(pool, config, queues), None, answer.waited_s

    async def _look(self, servers: tuple[int, ...]) -> None:
        try:
            self._configs, problem = await self._finder.configs(servers)
            if any(config.address.startswith("/") for config in self._configs):
                self._machine.follow(unix_sockets.TABLE)
            if self._find:
                await self._follow(servers, problem)
        except TransportError as error:
            self._unfound = str(error)

    async def _follow(self, servers: tuple[int, ...], problem: str) -> None:
        configs = self._configs or await self._finder.guessed(servers)
        left = {_page_of(f.config): f for f in self._followed if f.page is not None and f.config is not None}
        new: list[_Followed] = []
        for config in configs[:_MOST_POOLS]:
            kept = left.pop(_page_of(config), None)
            if kept is not None:
                # Asked anew, a full pool would have one more request in its queue, also when that is given up.
                new.append(_Followed(config, kept.page))
                continue
            url, reason = await self._finder.url_of(config)
            new.append(_Followed(config, self._page(url) if url else None, reason))
        self._followed = new
        for followed in left.values():
            if followed.page is not None:
                await followed.page.close()
        if not servers:
            self._unfound = "no php-fpm process here"
        elif not new:
            cause = f" ({problem})" if problem else ""
            self._unfound = f"php-fpm runs here, but its pools are not known{cause}: name its page with --fpm URL"

    def _config_of(self, url: str, pool: str = "") -> PoolConfig | None:
        """What is configured for a page that was given: by its address, or by the name of the pool."""
        place = fpm.place_of(url)
        known = [config for config in self._configs if place is not None and config.address == place.address]
        return next(iter(known or [config for config in self._configs if config.pool == pool]), None)

    def _queues(self, sample: HostSample) -> dict[str, int]:
        """Accept queues as the kernel has them, by address; a TCP port stands for every address of it."""
        listeners = sample.tcp.listeners if sample.tcp is not None else ()
        queues = {f":{listener.port}": listener.queue for listener in listeners}
        return queues | unix_sockets.queues(self._machine.followed(unix_sockets.TABLE))

    async def _fetch(self, url: str, timeout_s: float) -> Page:
        place = fpm.place_of(url)
        configured = [] if place is None else [c.status_path for c in self._configs if c.address == place.address]
        return await fpm.fetch(self._machine, url, timeout_s, paths=[*filter(None, configured), *fpm.STATUS_PATHS])

    def _page(self, url: str) -> StatusPage:
        return StatusPage(url, self._fetch, self._timeout_s)


def _page_of(config: PoolConfig) -> tuple[str, str]:
    return config.status_address, config.status_path


def _queue(address: str, queues: dict[str, int]) -> int | None:
    return queues.get(address if address.startswith("/") else f":{address.rpartition(':')[2]}")


def _known(config: PoolConfig | None, queues: dict[str, int], silent_s: float | None = None) -> FpmPool | None:
    """What is known of a pool without its page."""
    if config is None:
        return None
    return FpmPool(
        pool=config.pool or config.address,
        manager=config.manager,
        accepted=None,
        listen_queue=_queue(config.address, queues),
        listen_queue_limit=config.backlog,
        idle=None,
        active=None,
        total=None,
        max_children_reached=None,
        max_children=config.max_children,
        address=config.address,
        silent_s=silent_s,
    )


def _completed(pool: FpmPool, config: PoolConfig | None, queues: dict[str, int]) -> FpmPool:
    """A page with what it does not tell: the most children, and the queue of a unix socket."""
    if config is None:
        # Where the page says that a queue of no length is empty, it is that of a unix socket and not known.
        return replace(pool, listen_queue=None) if pool.listen_queue_limit is None else pool
    unix = config.address.startswith("/")
    return replace(
        pool,
        listen_queue=_queue(config.address, queues) if unix else pool.listen_queue,
        listen_queue_limit=pool.listen_queue_limit or config.backlog,
        max_children=config.max_children,
        address=config.address,
    )


def _told_apart(pools: Iterable[FpmPool]) -> tuple[FpmPool, ...]:
    """Pools of the same name, which masters of two versions of PHP can have, get their address with it."""
    told: dict[str, FpmPool] = {}
    for pool in pools:
        name = pool.pool if pool.pool not in told else f"{pool.pool} {pool.address}"
        told.setdefault(name, pool if name == pool.pool else replace(pool, pool=name))
    return tuple(told.values())
