"""The pools of php-fpm on one machine.

Each pool that the configuration of a running master names is asked directly over FastCGI, or through the web server
under test where its socket may not be used. Of a pool without a page, or with a silent one, the limits come from the
configuration and the queue from the kernel.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from collectors.accept_queues import AcceptQueues
from collectors.background import StatusPage
from collectors.config_files import view_of
from collectors.errors import AbsentError, FetchError, ReadError, SilentError, TransportError
from collectors.kind import Kind
from collectors.linux.unix_sockets import UNIX, unix_queues
from collectors.machine import Machine, Page
from collectors.php_fpm import configuration, status
from collectors.php_fpm.configuration import PoolConfig
from collectors.places import origin_of
from collectors.server_collector import ServerCollector
from collectors.under_test import UnderTest
from loadtop.i18n import Message
from loadtop.model import Cause, HostSample
from loadtop.servers.php_fpm.record import SERVER, FpmPool

TIMEOUT_S = 1.0  # a page that takes longer is silent, not missing
_MOST_ORIGINS = 6  # web servers that are asked for the page of a pool whose socket may not be used
_MOST_POOLS = 32


@dataclass(slots=True)
class _Pool:
    """A pool or page that is followed: its configuration, the address of its page, and the reason if it has none."""

    config: PoolConfig | None
    page: StatusPage | None
    problem: ReadError | None = None


KIND = Kind(
    *SERVER,
    processes=re.compile(r"php\d{0,9}(?:\.\d{1,9})?-fpm.{0,99}", re.ASCII | re.DOTALL),
    port=9000,
    socket=re.compile(r"/(?:php|www)[^/]{0,40}\.sock$"),
    pool_addresses=configuration.pool_addresses,
)


class FpmCollector(ServerCollector[FpmPool]):
    kind = KIND
    status_url = staticmethod(status.status_url)

    def __init__(self, machine: Machine, urls: Sequence[str], under_test: UnderTest, *, find: bool = True) -> None:
        super().__init__(machine, urls, under_test, find=find)
        self._pools: list[_Pool] = []
        self._configs: tuple[PoolConfig, ...] = ()

    async def fetch(self, url: str, timeout_s: float) -> Page:
        address, _ = status.place_of(url)
        configured = (config.status_path for config in self._configs if config.address == address)
        paths = [*filter(None, configured), *status.STATUS_PATHS]
        return await status.fetch(self.machine, url, timeout_s, paths=paths)

    def records(self, page: Page, at: float) -> Sequence[FpmPool]:
        return (replace(status.parse_page(page), at=at),)

    def merged(self, records: Iterable[FpmPool]) -> tuple[FpmPool, ...]:
        """Pools of the same name, which masters of two versions of PHP can have, get their address with it."""
        found: dict[str, FpmPool] = {}
        for pool in records:
            name = pool.pool if pool.pool not in found else f"{pool.pool} {pool.address}"
            found.setdefault(name, pool if name == pool.pool else replace(pool, pool=name))
        return tuple(found.values())

    def start(self, interval_s: float) -> None:
        super().start(interval_s)
        self._pools = [_Pool(None, page) for page in self.pages]

    def look(self, sample: HostSample) -> None:  # noqa: ARG002 - a page over FastCGI has no accept queue to spare
        if self.active:
            waiting = any(pool.page is None and pool.config and pool.config.status_path for pool in self._pools)
            self.search.go_on(found=bool(self._configs) and not waiting)

    def read(self, sample: HostSample, uptime_less_monotonic: float) -> tuple[list[FpmPool], list[ReadError], float]:
        queues = AcceptQueues(self.machine, sample)
        found: list[FpmPool] = []
        problems: list[ReadError] = [] if self._pools else [self.why_none]
        duration_s = 0.0
        for pool in self._pools:
            if pool.page is None:
                found += _without_page(pool.config, queues)
                problems += [pool.problem] if pool.problem else []
                continue
            config = pool.config or self._config_of(pool.page.url)
            pages, problem, answer = self.take(pool.page, uptime_less_monotonic)
            duration_s = max(duration_s, answer.waited_s)
            for page in pages:
                # A page that was given says which pool it is of with its first answer.
                pool.config = config or self._config_of(pool.page.url, page.pool)
                found.append(_completed(page, pool.config, queues))
            if problem is not None:
                problems.append(problem)
                if answer.problem is None or isinstance(answer.problem, SilentError):
                    found += _without_page(config, queues, None if answer.page else answer.waited_s)
        return found, problems, duration_s

    async def search_pages(self, servers: tuple[int, ...]) -> None:
        try:
            self._configs, unknown = await configuration.pools_of(self.machine, servers)
            if any(config.address.startswith("/") for config in self._configs):
                self.machine.follow(UNIX.path)
            if self.find:
                await self._follow(self._configs or await self._guessed(servers))
        except TransportError as error:
            self.unfound = AbsentError(error.message)
            return
        if not servers:
            self.unfound = self.no_process
        elif not self._pools:
            why = None if unknown is None else Message(" ({reason})", reason=unknown)
            self.unfound = AbsentError(
                "php-fpm is running, but its pools are unknown{why}. Set its status page with --fpm URL.",
                why=why,
                cause=Cause.ROOT if unknown else None,
            )

    async def _follow(self, configs: Sequence[PoolConfig]) -> None:
        left = {pool.config.url: pool for pool in self._pools if pool.page is not None and pool.config}
        pools: list[_Pool] = []
        for config in configs[:_MOST_POOLS]:
            same = left.pop(config.url, None)
            if same is not None:
                # Asked again, a full pool would have one more request in its queue, also when that is given up.
                pools.append(_Pool(config, same.page))
                continue
            url, problem = await self._url_of(config)
            if url or config.pool:
                pools.append(_Pool(config, self.page(url) if url else None, problem))
        self._pools = pools
        self.pages = [pool.page for pool in pools if pool.page is not None]
        for pool in left.values():
            if pool.page is not None:
                await pool.page.close()

    async def _guessed(self, servers: tuple[int, ...]) -> tuple[PoolConfig, ...]:
        """Pools whose configuration cannot be read: by the ports and sockets on which their masters listen."""
        addresses: dict[str, None] = {}
        near = [pid for pid in servers if not (await view_of(self.machine, pid)).own_network]
        for places in (await self.machine.listening(near)).values():
            addresses |= {f"127.0.0.1:{found.port}": None for found in places}
        if near:
            text = (await self.machine.texts((UNIX,)))[UNIX.path]
            addresses |= {path: None for path in unix_queues(text) if "fpm" in path and path.startswith("/")}
        return tuple(PoolConfig("", address) for address in addresses)

    async def _url_of(self, config: PoolConfig) -> tuple[str, ReadError | None]:
        """Of a pool whose configuration cannot be read, the first usual page that answers."""
        if not config.pool:
            for path in status.STATUS_PATHS:
                url = replace(config, status_path=path).url
                if isinstance(await self._answer(url), FpmPool | SilentError):
                    return url, None
            return "", None
        if not config.status_path:
            place = Message("in {file}", file=config.file) if config.file else Message("of php-fpm's configuration")
            return "", AbsentError(
                "pool {pool} has no status page: add this to its section [{pool}] {place}, and reload php-fpm",
                pool=config.pool,
                place=place,
                fix=status.FIX,
            )
        url = config.url
        refusal = await self._answer(url)
        if isinstance(refusal, FpmPool | SilentError):
            return url, None
        for target in self.under_test.target_urls[:_MOST_ORIGINS] or ("http://127.0.0.1",):
            beside = status.status_url(origin_of(target) + config.status_path)
            answer = await self._answer(beside)
            if isinstance(answer, FpmPool) and answer.pool == config.pool:
                return beside, None
        return "", AbsentError(refusal.at(url).message, cause=refusal.cause, fix=refusal.fix)

    async def _answer(self, url: str) -> FpmPool | ReadError:
        """A page, or why it cannot be followed: one that is only silent can."""
        try:
            return status.parse_page(await status.fetch(self.machine, url, TIMEOUT_S))
        except (FetchError, AbsentError) as error:
            return error

    def _config_of(self, url: str, pool: str = "") -> PoolConfig | None:
        """What is configured for a page that was given: by its address, or by the name of the pool."""
        address, _ = status.place_of(url)
        known = [config for config in self._configs if config.address == address]
        return next(iter(known or [config for config in self._configs if config.pool == pool]), None)


def _without_page(
    config: PoolConfig | None, queues: AcceptQueues, silent_s: float | None = None
) -> tuple[FpmPool, ...]:
    if config is None:
        return ()
    pool = FpmPool(
        pool=config.pool or config.address,
        manager=config.manager,
        accepted=None,
        listen_queue=queues.at(config.address),
        listen_queue_limit=config.backlog,
        idle=None,
        active=None,
        total=None,
        max_children_reached=None,
        max_children=config.max_children,
        address=config.address,
        silent_s=silent_s,
    )
    return (pool,)


def _completed(pool: FpmPool, config: PoolConfig | None, queues: AcceptQueues) -> FpmPool:
    """A page with what it does not tell: the most children, and the queue of a unix socket."""
    if config is None:
        # Where the page says that a queue of no length is empty, it is that of a unix socket and not known.
        return replace(pool, listen_queue=None) if pool.listen_queue_limit is None else pool
    unix = config.address.startswith("/")
    return replace(
        pool,
        listen_queue=queues.at(config.address) if unix else pool.listen_queue,
        listen_queue_limit=pool.listen_queue_limit or config.backlog,
        max_children=config.max_children,
        address=config.address,
    )
