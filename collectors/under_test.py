"""Tells the web server under test, and the php-fpm that it asks, from others of their kind on the same machine."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from collectors.config_files import Config
from collectors.machine import Endpoint
from collectors.parsing import excerpt
from collectors.php_fpm.configuration import PoolConfig

_ANY = ("0.0.0.0", "::")  # noqa: S104 - as read
_ASKED = re.compile(r"unix:([^|\"'\s]+)\||fcgi://[\w.\[\]:-]*:(\d{1,5})")


@dataclass(frozen=True, slots=True)
class Server:
    """One running web server: where it listens, as far as that is known, its configuration, and whether it is in a
    container with a network of its own (its addresses mean nothing here then)."""

    endpoints: tuple[Endpoint, ...]
    config: Config
    apart: bool = False

    def has(self, port: int) -> bool:
        return any(endpoint.port == port for endpoint in self.endpoints)


def port_of(url: str) -> int:
    """The port that a URL means."""
    parts = urlsplit(url)
    return parts.port or (443 if parts.scheme == "https" else 80)


def serving(places: Mapping[int, Collection[Endpoint]], target_url: str) -> frozenset[int]:
    """Those that listen where the load goes; none where it is not known which of them does. ``places`` is where each
    listens."""
    port, host = port_of(target_url), urlsplit(target_url).hostname or ""
    found = {pid for pid, endpoints in places.items() if any(each.port == port for each in endpoints)}
    return frozenset({pid for pid in found if Endpoint(host, port) in places[pid]} or found)


def behind(places: Mapping[int, Collection[Endpoint]], backends: Iterable[Endpoint]) -> frozenset[int]:
    """Those that listen where a proxy on the same machine sends its requests."""
    asked = frozenset(backends)
    ports = {each.port for each in asked}
    return frozenset(
        pid
        for pid, endpoints in places.items()
        if any(each in asked or (each.address in _ANY and each.port in ports) for each in endpoints)
    )


def not_asked(masters: Mapping[int, Iterable[PoolConfig]], lines: Iterable[str]) -> frozenset[int]:
    """The masters of php-fpm none of whose pools a web server with this configuration (its ``lines``) asks. A master
    whose pools are not known can be the one, unless all that is named is another's. A server that names none may be
    told elsewhere (``.htaccess``), but only where its configuration speaks of FastCGI at all, if only to load it."""
    lines = list(lines)
    if lines and not any("fcgi" in line.lower() or "fastcgi" in line.lower() for line in lines):
        return frozenset(masters)
    asked = {path or port for line in lines for path, port in _ASKED.findall(line)}
    pools = {pid: {_short(pool.address) for pool in configs} for pid, configs in masters.items()}
    known = frozenset[str]().union(*pools.values())
    if not known & asked:
        return frozenset()
    return frozenset(pid for pid, names in pools.items() if not names & asked and (names or asked <= known))


def note(servers: Mapping[int, Server], unknown: Sequence[str] = ()) -> str:
    """What keeps the web server under test from being known, or an empty text. ``unknown`` are servers of the HAProxy
    before them of which it cannot be told where they are."""
    hidden = sum(not server.endpoints and not server.apart for server in servers.values())
    if len(servers) < 2 or not (hidden or unknown):
        return ""
    why = (
        f"where {hidden} of them listen may be read by root only"
        if hidden
        else f"where HAProxy's server {excerpt(unknown[0])} is cannot be told"
    )
    return (
        f"{len(servers)} web servers run here, and {why}: the figures of processes are those of all, the control group"
        " is that of the first"
    )


def _short(address: str) -> str:
    return address if address.startswith("/") else address.rpartition(":")[2]
