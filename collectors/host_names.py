"""Addresses of a name, as the machine that is read knows them: from its file of hosts, or from its resolver.

For :func:`wanted` a transport asks the resolver there, for :data:`PATIENCE_S` at most. Source of the file: hosts(5).
"""

import ipaddress
import socket
import threading
from collections.abc import Iterable

from collectors.machine import Missing, Wanted

HOSTS = "/etc/hosts"
PATIENCE_S = 1
UNKNOWN = Missing("no such name on that host, or its resolver does not respond")
RESOLVER = "@resolver"


def wanted(name: str) -> Wanted:
    """What to read for the addresses of a name, which come one a line."""
    return Wanted(f"{RESOLVER}/{name}")


def in_hosts(text: str, name: str) -> frozenset[str]:
    """The addresses of a name in a hosts file."""
    rows = (line.partition("#")[0].lower().split() for line in text.splitlines())
    return frozenset(address for row in rows if name.lower() in row[1:] for address in addresses(row[:1]))


def addresses(words: Iterable[str]) -> frozenset[str]:
    """Those of the words that are addresses, in their usual form."""
    found: set[str] = set()
    for word in words:
        try:
            found.add(str(ipaddress.ip_address(word.partition("%")[0])))
        except ValueError:
            continue
    return frozenset(found)


def resolved_here(name: str) -> str | Missing:
    """The addresses from this machine's resolver. A resolver that takes too long is not awaited."""
    found: set[str] = set()

    def ask() -> None:
        try:
            found.update(str(each[4][0]) for each in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError):  # the latter for a..b
            return

    asking = threading.Thread(target=ask, name="loadtop-resolver", daemon=True)
    asking.start()
    asking.join(PATIENCE_S)
    return "".join(f"{address}\n" for address in sorted(found)) or UNKNOWN
