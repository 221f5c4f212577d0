"""Loads on public addresses: which they are, and whether a large one is meant."""

import ipaddress
import socket
import sys
from collections.abc import Iterable, Iterator

from loadtop.cli.exit_codes import INTERRUPTED, ExitError
from loadtop.cli.options.table import TUNE_CONNECTIONS, Options
from loadtop.i18n import plain, plural, tr

MANY_CONNECTIONS = 500  # more are asked about
SHOWN = 3  # addresses that are named in the line


class DeclinedError(ExitError):
    """The person at the terminal does not want this load."""

    code = INTERRUPTED


def confirm_public_targets(loads: Iterable[Options], *, yes: bool) -> int | None:
    """Name the public addresses that the loads go to, on standard error. For ``tune`` and many connections, ask once
    where there is a terminal, unless ``yes``. Returns how many connections may be used without another question;
    ``None`` where any number may. Raises DeclinedError."""
    public = [(options, places) for options in loads if (places := tuple(_public_targets(options)))]
    if not public:
        return None
    found = list(dict.fromkeys(place for _, places in public for place in places))
    more = "" if len(found) <= SHOWN else f" (+{len(found) - SHOWN})"
    named = ", ".join(plain(place) for place in found[:SHOWN]) + more
    line = plural(
        len(found),
        "loadtop: the load targets a public address: {places}",
        "loadtop: the load targets public addresses: {places}",
        places=named,
    )
    print(line, file=sys.stderr, flush=True)
    if yes:
        return None
    connections = max(most_connections(options) for options, _ in public)
    large = connections > MANY_CONNECTIONS or any(options.command == "tune" for options, _ in public)
    if large and sys.stdin.isatty() and sys.stderr.isatty():
        question = tr("Test with up to {connections} connections? [y/N]", connections=connections)
        print(question, end=" ", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise DeclinedError(tr("not started: no request was sent"))
    return max(MANY_CONNECTIONS, connections)


def most_connections(options: Options) -> int:
    """Return how many connections the load may have; 0 where the rate decides that."""
    if options.command == "tune":
        return options.concurrency or TUNE_CONNECTIONS
    return max(step.concurrency or 0 for step in options.plan.steps)


def _public_targets(options: Options) -> Iterator[str]:
    """The hosts of the load that have a public address, with it. A host that is not known here is left out: the load
    says so itself, and behind a proxy it need not be."""
    for host in dict.fromkeys(target.origin.host for target in options.plan.targets):
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            continue
        address = next((str(each[4][0]) for each in found if is_public(str(each[4][0]))), None)
        if address is not None:
            yield host if host == address else f"{host} ({address})"


def is_public(address: str) -> bool:
    """Whether an address is reached through the internet: not private, loopback, link-local or reserved."""
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_global
