"""The pools of php-fpm as it is configured: where each listens, how many children it may have, where its page is.

Source: php.net, "FPM configuration", and php-src, sapi/fpm/fpm/fpm_conf.c: sections in brackets, ``name = value``,
comments after ``;``, ``include`` anywhere, ``$pool`` in a value. A repeated section continues the first one.
"""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from collectors.config_files import IncludeOf, View, includes, read_config, view_of
from collectors.machine import FOREIGN, Machine
from collectors.parsing import count_or_none
from collectors.places import here
from loadtop.i18n import Message

LAYOUTS = (  # Debian, Red Hat, php.net's own (and FreeBSD's), Alpine, and Remi's packages for Red Hat
    "/etc/php/*/fpm/php-fpm.conf",
    "/etc/php-fpm.conf",
    "/usr/local/etc/php-fpm.conf",
    "/etc/php*/php-fpm.conf",
    "/etc/opt/remi/php*/php-fpm.conf",
)

_TITLE = re.compile(r"php-fpm: master process \((/[^)]{0,4096})\)")
_INCLUDE = re.compile(r"\s{0,99}include\s{0,99}=\s{0,99}[\"']?([^\"';\s]{1,4096})", re.IGNORECASE)
_SECTION = re.compile(r"\s{0,99}\[([^\]]{1,255})\]\s{0,99}(?:;.{0,4096})?")
_VALUE = re.compile(r"\s{0,99}([\w.\-\[\]]{1,255})\s{0,99}=\s{0,99}(\"[^\"]{0,4096}\"|'[^']{0,4096}'|[^;]{0,4096})")


class PoolConfig(Struct, frozen=True):
    """``address`` is ``HOST:PORT`` or the path of a socket; ``status_listen`` the same, of the page alone. Empty texts
    and ``None`` are what the configuration does not say; ``file`` is where its section begins, if known."""

    pool: str
    address: str
    manager: str = ""
    max_children: int | None = None
    status_path: str = ""
    status_listen: str = ""
    backlog: int | None = None
    file: str = ""

    @property
    def url(self) -> str:
        """The URL of its page over FastCGI, as on the command line."""
        address = self.status_listen or self.address
        unix = address.startswith("/")
        return f"unix:{address};{self.status_path}" if unix else f"fcgi://{address}{self.status_path}"


async def pools_of(machine: Machine, masters: Iterable[int]) -> tuple[tuple[PoolConfig, ...], Message | None]:
    """The pools of these masters, and why some are not known. Raises ``TransportError``."""
    problem: Message | None = None
    pools: dict[PoolConfig, None] = {}
    files: dict[tuple[str, str], None] = {}
    for pid in masters:
        view = await view_of(machine, pid)
        if view.foreign:
            problem = problem or FOREIGN.message
            continue
        if view.own_network:
            problem = problem or Message("a pool runs in a container with its own network")
            continue
        path = file_of(" ".join(view.command))
        files |= dict.fromkeys((view.root, name) for name in ((path,) if path else LAYOUTS))
    for root, path in files:
        config = await read_config(View(machine, root), (path,), include_of(path))
        problem = problem or config.problem()
        found = parse(config.lines)
        pools |= dict.fromkeys(replace(pool, file=config.file_with(f"[{pool.pool}]")) for pool in found)
    return tuple(pools), problem


async def pool_addresses(machine: Machine, master: int) -> frozenset[str]:
    """The sockets (paths) and ports on which the pools of a master listen. Raises ``TransportError``."""
    pools, _ = await pools_of(machine, (master,))
    addresses = (pool.address for pool in pools)
    return frozenset(address if address.startswith("/") else address.rpartition(":")[2] for address in addresses)


def file_of(title: str) -> str | None:
    """The path of the configuration in the title of a master process; ``None`` where it has none."""
    match = _TITLE.match(title)
    return match[1] if match else None


def include_of(path: str) -> IncludeOf:
    """Where the file ``path`` is the first, a relative include is below the place that php was built for."""
    return includes(_INCLUDE, path.partition("/etc/")[0] or "/")


def parse(lines: Iterable[str]) -> tuple[PoolConfig, ...]:
    """The pools in their order; one without ``listen`` is left out."""
    pools: dict[str, dict[str, str]] = {}
    section = ""
    for line in lines:
        head = _SECTION.fullmatch(line)
        if head is not None:
            section = head[1].strip()
            if section.lower() != "global":
                pools.setdefault(section, {})
            continue
        match = None if section not in pools else _VALUE.match(line)
        if match is not None:
            pools[section][match[1]] = match[2].strip().strip("\"'").replace("$pool", section)
    return tuple(
        PoolConfig(
            pool=name,
            address=here(values["listen"]),
            manager=values.get("pm", ""),
            max_children=count_or_none(values.get("pm.max_children")),
            status_path=values.get("pm.status_path", ""),
            status_listen=here(values.get("pm.status_listen", "")),
            backlog=count_or_none(values.get("listen.backlog")),
        )
        for name, values in pools.items()
        if values.get("listen")
    )
