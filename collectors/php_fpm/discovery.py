"""Finds the pools of php-fpm on a machine, and the page of each, from masters, configuration and sockets."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from collectors.config_files import arguments, read_config
from collectors.errors import AbsentError, FetchError
from collectors.linux import unix_sockets
from collectors.linux.namespaces import Home, as_seen_by, home_of
from collectors.machine import Machine
from collectors.php_fpm import configuration as fpm_config
from collectors.php_fpm import status as fpm
from collectors.php_fpm.configuration import PoolConfig

TIMEOUT_S = 1.0
"""A page that takes longer is silent, not missing."""


MOST_URLS = 6
"""Web servers that are asked for the page of a pool whose socket may not be used."""


class FpmFinder:
    """Looks on one machine; ``target_urls`` are pages of web servers on it. All raise ``TransportError``."""

    def __init__(self, machine: Machine, target_urls: Sequence[str] = ()) -> None:
        self._machine = machine
        self._target_urls = target_urls

    async def configs(self, servers: tuple[int, ...]) -> tuple[tuple[PoolConfig, ...], str]:
        """The pools of all masters, and why they are not known."""
        problem = ""
        pools: dict[PoolConfig, None] = {}
        read: dict[tuple[str, str], None] = {}
        for pid in servers:
            home = await home_of(self._machine, pid)
            if home.apart:
                problem = problem or "one runs in a container with a network of its own"
                continue
            path = fpm_config.file_of(" ".join(await arguments(self._machine, pid)))
            read |= dict.fromkeys((home.root, name) for name in ((path,) if path else fpm_config.LAYOUTS))
        for root, path in read:
            texts = as_seen_by(self._machine, Home(root))
            config = await read_config(texts, (path,), fpm_config.include_of(path))
            problem = problem or config.problem()
            found = fpm_config.parse(config.lines())
            pools |= dict.fromkeys(replace(pool, file=config.file_with(f"[{pool.pool}]")) for pool in found)
        return tuple(pools), problem

    async def guessed(self, servers: tuple[int, ...]) -> tuple[PoolConfig, ...]:
        """Pools whose configuration may not be read: by the ports and sockets on which their masters listen."""
        addresses: dict[str, None] = {}
        near = [pid for pid in servers if not (await home_of(self._machine, pid)).apart]
        for pid in near:
            addresses |= {f"127.0.0.1:{found.port}": None for found in await self._machine.listening(pid)}
        if near:
            text = (await self._machine.texts((unix_sockets.WANTED,)))[unix_sockets.TABLE]
            addresses |= {path: None for path in unix_sockets.queues(text) if "fpm" in path and path.startswith("/")}
            self._machine.follow(unix_sockets.TABLE)
        found: list[PoolConfig] = []
        for address in addresses:
            for path in fpm.STATUS_PATHS:
                config = PoolConfig("", address, status_path=path)
                if not await self._problem_of(direct(config)):
                    found.append(config)
                    break
        return tuple(found)

    async def url_of(self, config: PoolConfig) -> tuple[str, str]:
        """The page of a pool that answers, or the reason why there is none."""
        if not config.status_path:
            place = f"in {config.file}" if config.file else "of php-fpm's configuration"
            return "", (
                f"pool {config.pool} has no status page: add this to its section [{config.pool}] {place}, and reload"
                f" php-fpm:\n{fpm.FIX}"
            )
        url = direct(config)
        reason = await self._problem_of(url)
        for target in (self._target_urls[:MOST_URLS] or ("http://127.0.0.1",)) if reason else ():
            parts = urlsplit(target)
            beside = fpm.status_url(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{config.status_path}")
            if await self._pool_at(beside) == config.pool:
                return beside, ""
        return ("", f"{url}: {reason}") if reason else (url, "")

    async def _problem_of(self, url: str) -> str:
        """Why a page cannot be followed, or an empty text: one that is only silent can."""
        try:
            fpm.parse_page(await fpm.fetch(self._machine, url, TIMEOUT_S))
        except FetchError as error:
            return "" if str(error).startswith("no answer") else str(error)
        except AbsentError as absent:
            return str(absent)
        return ""

    async def _pool_at(self, url: str) -> str | None:
        """The pool whose page that is; ``None`` where it is none."""
        try:
            return fpm.parse_page(await fpm.fetch(self._machine, url, TIMEOUT_S)).pool
        except (FetchError, AbsentError):
            return None


def direct(config: PoolConfig) -> str:
    """The URL of a pool's page over FastCGI."""
    return fpm.Place(config.status_address, config.status_path).url
