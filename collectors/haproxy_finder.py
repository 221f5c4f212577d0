"""Finds on a machine the configuration of a running HAProxy, and where the HAProxy at a port sends its requests."""

import ipaddress
import re

from collectors import haproxy_config
from collectors.config_files import Config, arguments, read_config
from collectors.machine import Endpoint, Machine
from collectors.namespaces import as_seen_by, home_of
from collectors.reading import Missing, Wanted
from loadtop.model import Group

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


async def backends(machine: Machine, port: int) -> frozenset[Endpoint] | None:
    """Where on the same machine the HAProxy at this port sends requests; ``None`` where none is configured to listen
    there. Raises ``TransportError``."""
    configs = [await config_of(machine, pid) for pid in machine.servers(Group.HAPROXY)]
    found = [haproxy_config.servers(config.lines(), port) for config, _ in filter(None, configs)]
    if all(servers is None for servers in found):
        return None
    texts = await machine.texts((Wanted(_ROUTES), Wanted(_ADDRESSES6)))
    own = own_addresses(texts[_ROUTES], texts[_ADDRESSES6])
    return frozenset(Endpoint(*each) for servers in found for each in servers or () if each[0] in own)


def own_addresses(routes: str | Missing, addresses6: str | Missing) -> frozenset[str]:
    """The addresses of a machine: the loopback's, Linux's local routes (net/ipv4/fib_trie.c) and its ``if_inet6``."""
    four = _OWN.findall(routes) if isinstance(routes, str) else []
    six = _OWN6.findall(addresses6) if isinstance(addresses6, str) else []
    return frozenset(("127.0.0.1", "::1", *four, *(str(ipaddress.IPv6Address(bytes.fromhex(each))) for each in six)))
