"""Where HAProxy sends the requests that come in at a port or at a unix socket.

Source: HAProxy's configuration manual, sections 3.1 (``chroot``: unix sockets of servers are below it, those of
``bind`` are not), 4.2 (``default_backend``, ``use_backend``, ``server``, ``server-template``) and 11 (addresses).
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from collectors.haproxy.configuration import Section, sections
from collectors.routing import Place

_TCP = ("", "ipv4", "ipv6", "tcp", "tcp4", "tcp6")
_FAMILY = re.compile(r"(?:(\w+)@)?(.*)", re.ASCII | re.DOTALL)
_PLACE = re.compile(r"(.*?)(?::([+-]?)(\d{1,5}))?", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9][\w.-]*|[0-9A-Fa-f:.]+", re.ASCII)
_EVERYWHERE = ("", "*", "0.0.0.0", "::")  # noqa: S104 - as they are written there


class HaproxyRoutes:
    """The :class:`~collectors.routing.Routes` of one configuration."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._sections = list(sections(lines))

    def accepts(self, entry: Place) -> bool:
        return any(True for _ in self._entries(entry))

    def servers(self, entry: Place, port: int) -> Sequence[Place]:
        """A backend whose name is computed (``%[...]``) can be any."""
        return [place_of(text, port, each.chroot) for each in self._reached(entry) for text in each.servers]

    def _reached(self, entry: Place) -> Iterator[Section]:
        for first in self._entries(entry):
            names = {first.default, *first.backends}
            computed = any("%" in name for name in names)
            for each in self._sections:
                if each is first or (each.kind in ("backend", "listen") and (computed or each.name in names)):
                    yield each

    def _entries(self, entry: Place) -> Iterator[Section]:
        return (each for each in self._sections if each.kind in ("frontend", "listen") and _binds(each, entry))


def place_of(text: str, port: int = 0, chroot: str = "") -> Place:
    """The place that a ``bind``, a ``server`` or a ``server-template`` names. Without a port of its own it has this
    one, and one with a sign is added to it."""
    match = _FAMILY.fullmatch(text)
    family, rest = (match[1] or "", match[2]) if match else ("", "")
    if rest.startswith("/") and family in ("", "unix"):
        return Place(socket=chroot + rest, text=text)
    if family == "abns" and rest:
        return Place(socket=f"@{rest}", text=text)
    place = _PLACE.fullmatch(rest)
    if place is None or family not in _TCP:
        return Place(text=text)
    host = place[1].strip("[]")
    number = int(place[3] or 0)
    if place[2] or not place[3]:
        number = port - number if place[2] == "-" else port + number
    if host in _EVERYWHERE:
        return Place("", number, text=text)
    return Place(host, number, text=text) if _HOST.fullmatch(host) else Place(text=text)


def _binds(section: Section, entry: Place) -> bool:
    places = (place_of(bind) for bind, _ in section.binds)
    if entry.socket:
        return any(place.socket == entry.socket for place in places)
    return any(
        place.port == entry.port and (not place.host or not entry.host or place.host == entry.host)
        for place in places
        if place.port
    )
