"""Finds on a machine the configuration of a running HAProxy, and where the HAProxy at a port sends its requests."""

import ipaddress
import re
from dataclasses import dataclass

from collectors.config_files import Config, arguments, read_config
from collectors.haproxy import configuration as haproxy_config
from collectors.haproxy.routes import Place, asked, is_bound
from collectors.linux import host_names as names
from collectors.linux.namespaces import as_seen_by, home_of
from collectors.machine import Endpoint, Machine
from collectors.reading import Missing, Wanted
from loadtop.servers.haproxy.record import GROUP as HAPROXY

_ROUTES = "/proc/net/fib_trie"
_ADDRESSES6 = "/proc/net/if_inet6"
_OWN = re.compile(r"\|-- ([\d.]+)\n\s*/32 host LOCAL", re.ASCII)
_OWN6 = re.compile(r"^([0-9a-f]{32}) ", re.ASCII | re.MULTILINE)


async def config_of(machine: Machine, pid: int) -> tuple[Config, str] | None:
    """The configuration and its first file; ``None`` in a container with a network of its own. Raises
    ``TransportError``."""
    home = await home_of(machine, pid)
    if home.apart:
        return None
    paths = haproxy_config.files_of(await arguments(machine, pid)) or [haproxy_config.LAYOUT]
    return await read_config(as_seen_by(machine, home), paths), paths[0]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where on its own machine a HAProxy sends requests; ``unknown`` are servers of which that cannot be told, as its
    configuration has them."""

    endpoints: frozenset[Endpoint] = frozenset()
    unknown: tuple[str, ...] = ()


class HaproxyFinder:
    """Looks on one machine. What its resolver says of a name is kept until other HAProxies run there."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pids: tuple[int, ...] = ()
        self._addresses: dict[str, frozenset[str]] = {}

    async def upstream(self, port: int) -> Upstream | None:
        """Where the HAProxy at this port sends requests, also by way of others here; ``None`` where none is configured
        to listen there. Raises ``TransportError``."""
        pids = self._machine.servers(HAPROXY)
        if pids != self._pids:
            self._pids, self._addresses = pids, {}
        read = [await config_of(self._machine, pid) for pid in pids]
        configs = [haproxy_config.sections(config.lines()) for config, _ in filter(None, read)]
        entry = Place(port=port)
        if not is_bound(configs, entry):
            return None
        texts = await self._machine.texts((Wanted(_ROUTES), Wanted(_ADDRESSES6)))
        own = own_addresses(texts[_ROUTES], texts[_ADDRESSES6])
        todo, seen = [entry], {entry}
        found: set[Endpoint] = set()
        unknown: dict[str, None] = {}
        while todo:
            for place in asked(configs, todo.pop(), port):
                here = await self._here(place, own)
                if not here:
                    unknown |= {} if here is not None else {place.text: None}
                    continue
                further = {each for each in here if is_bound(configs, each)}
                if place.socket and not further:
                    unknown[place.text] = None  # another program listens there
                found |= {Endpoint(each.host, each.port) for each in here - further if each.port}
                todo += further - seen
                seen |= further
        return Upstream(frozenset(found), tuple(unknown))

    async def _here(self, place: Place, own: frozenset[str]) -> frozenset[Place] | None:
        """The same as places of this machine, none where it is another's; ``None`` where that cannot be told."""
        if place.socket:
            return frozenset((Place(socket=place.socket),))
        if not place.port:
            return None
        addresses = await self._resolved(place.host) if place.host else own
        if not addresses:
            return None
        return frozenset(Place(address, place.port) for address in addresses & own)

    async def _resolved(self, host: str) -> frozenset[str]:
        literal = names.addresses((host,))
        if literal or host in self._addresses:
            return literal or self._addresses[host]
        wanted = names.wanted(host)
        for file in (Wanted(names.HOSTS), wanted):
            text = (await self._machine.texts((file,)))[file.path]
            lines = text if isinstance(text, str) else ""
            found = names.addresses(lines.split()) if file is wanted else names.in_hosts(lines, host)
            if found:
                break
        self._addresses[host] = found
        return found


def own_addresses(routes: str | Missing, addresses6: str | Missing) -> frozenset[str]:
    """The addresses of a machine: the loopback's, Linux's local routes (net/ipv4/fib_trie.c) and its ``if_inet6``."""
    four = _OWN.findall(routes) if isinstance(routes, str) else []
    six = _OWN6.findall(addresses6) if isinstance(addresses6, str) else []
    return frozenset(("127.0.0.1", "::1", *four, *(str(ipaddress.IPv6Address(bytes.fromhex(each))) for each in six)))
