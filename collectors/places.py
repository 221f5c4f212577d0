"""Which processes listen where a URL leads, or where a proxy sends requests."""

from collections.abc import Collection, Iterable, Mapping
from urllib.parse import urlsplit

from collectors.machine import EVERYWHERE, Endpoint
from loadtop.model.places import port_of


def serving(places: Mapping[int, Collection[Endpoint]], target_url: str) -> frozenset[int]:
    """Return the processes that listen at the address and port of a URL, or else those at its port."""
    port, host = port_of(target_url), urlsplit(target_url).hostname or ""
    found = {pid for pid, endpoints in places.items() if any(each.port == port for each in endpoints)}
    return frozenset({pid for pid in found if Endpoint(host, port) in places[pid]} or found)


def behind(places: Mapping[int, Collection[Endpoint]], backends: Iterable[Endpoint]) -> frozenset[int]:
    """Return the processes that listen where a proxy on the same machine sends requests."""
    asked = frozenset(backends)
    ports = {each.port for each in asked}
    return frozenset(
        pid
        for pid, endpoints in places.items()
        if any(each in asked or (each.address in EVERYWHERE and each.port in ports) for each in endpoints)
    )


def origin_of(url: str) -> str:
    """The scheme, host and port of a URL, without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def here(listen: str) -> str:
    """Where to connect for what a configuration says (``HOST:PORT`` or a path): everywhere is also this machine."""
    if not listen or listen.startswith("/"):
        return listen
    host, _, port = listen.rpartition(":")
    return f"127.0.0.1:{port}" if host in EVERYWHERE else listen
