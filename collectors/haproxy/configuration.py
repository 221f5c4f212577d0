"""HAProxy's configuration: its sections, where its statistics are, and where it sends requests.

Source: HAProxy's configuration manual, sections 3.1 (``stats socket``; ``chroot``: unix sockets of servers are below
it, those of ``bind`` are not), 4.2 (``bind``, ``stats enable``, ``stats uri``, ``default_backend``, ``use_backend``,
``server``, ``server-template``) and 11 (addresses). A page is there on every ``bind`` of a section that has statistics,
or of all where ``defaults`` has them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from collectors.config_files import Config, read_config
from collectors.machine import EVERYWHERE, Endpoint, Texts
from collectors.parsing import MOST_PORT, count_or_none
from collectors.routing import Place, Route, Routes

STATS_URI = "/haproxy?stats"  # where the page is where ``stats uri`` is not given
LAYOUT = "/etc/haproxy/haproxy.cfg"  # Debian's, Red Hat's and Alpine's

SOCKETS = (  # where the socket usually is: Debian, Red Hat, and what examples have
    "/run/haproxy/admin.sock",
    "/var/lib/haproxy/stats",
    "/run/haproxy.sock",
    "/var/run/haproxy.sock",
    "/run/haproxy/haproxy.sock",
)

_PROXIES = ("frontend", "listen", "backend")
_SECTIONS = (
    *("global", "defaults", *_PROXIES, "peers", "resolvers", "userlist", "mailers", "program", "ring", "log-forward"),
    *("cache", "http-errors", "fcgi-app", "crt-store", "traces", "acme"),
)
_SWITCHES_ON = ("enable", "auth", "realm", "refresh", "show-legends", "admin", "hide-version")
_WORDS = re.compile(r"\"((?:[^\"\\]|\\.){0,4096})\"?|'([^']{0,4096})'?|([^\s\"'#]{1,4096})")
_TCP = ("", "ipv4", "ipv6", "tcp", "tcp4", "tcp6")
_FAMILY = re.compile(r"(?:(\w{1,99})@)?(.{0,4096})", re.ASCII | re.DOTALL)
_PLACE = re.compile(r"(.{0,4096}?)(?::([+-]?)(\d{1,5}))?", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9][\w.-]{0,254}|[0-9A-Fa-f:.]{1,45}", re.ASCII)


@dataclass(slots=True)
class Section:
    """The relevant parts of one section: ``binds`` with whether each is encrypted, ``sockets`` for statistics."""

    kind: str
    name: str = ""
    binds: list[tuple[Place, bool]] = field(default_factory=list[tuple[Place, bool]])
    uri: str = ""
    default: str = ""
    backends: list[str] = field(default_factory=list[str])
    servers: list[Place] = field(default_factory=list[Place])
    sockets: list[Place] = field(default_factory=list[Place])


async def read(texts: Texts, command: Sequence[str]) -> Config:
    """The configuration of the process with this command line. Raises ``TransportError``."""
    return await read_config(texts, files_of(command) or [LAYOUT])


def files_of(command: Sequence[str]) -> list[str]:
    """The configuration files on a command line: one after each ``-f``, and all after ``--``."""
    found = [path for option, path in pairwise(command) if option == "-f"]
    if "--" in command:
        found += command[command.index("--") + 1 :]
    return [f"{path}*.cfg" if path.endswith("/") else path for path in found if path.startswith("/")]


def parse(lines: Iterable[str]) -> tuple[str, ...]:
    """The stats sockets and then the pages, as URLs that :mod:`collectors.haproxy.collector` understands."""
    found = list(sections(lines))
    sockets = [
        f"unix:{place.socket}" if place.socket else f"tcp://{address_of(place)}"
        for section in found
        for place in section.sockets
        if place.socket.startswith("/") or address_of(place)
    ]
    pages = [
        f"{'https' if secure else 'http'}://{address}{section.uri};csv"
        for section in found
        if section.kind != "defaults" and section.uri.startswith("/")
        for bind, secure in section.binds
        if (address := address_of(bind))
    ]
    return tuple(dict.fromkeys((*sockets, *pages)))


def sections(lines: Iterable[str]) -> Iterator[Section]:
    """All sections, each with what ``defaults`` gave it."""
    section, defaults, chroot = Section(""), Section("defaults"), ""
    for line in lines:
        words = [quoted or single or bare for quoted, single, bare in _WORDS.findall(line.partition("#")[0])]
        if words and words[0] in _SECTIONS:
            yield section
            if words[0] == "defaults":
                section = defaults = Section("defaults")
            else:
                section = Section(words[0], words[1] if len(words) > 1 else "", default=defaults.default)
                section.uri = defaults.uri if words[0] in _PROXIES else ""
            continue
        match words:
            case ["bind", addresses, *rest]:
                section.binds += [(place_of(bind), "ssl" in rest) for bind in addresses.split(",")]
            case ["default_backend", name, *_]:
                section.default = name
            case ["use_backend", name, *_]:
                section.backends.append(name)
            case ["server", _, address, *_] | ["server-template", _, _, address, *_]:
                section.servers.append(place_of(address, chroot))
            case ["chroot", directory, *_]:
                chroot = directory.rstrip("/")
            case ["stats", "socket", address, *_]:
                section.sockets.append(place_of(address))
            case ["stats", "uri", uri, *_]:
                section.uri = uri
            case ["stats", word, *_] if word in _SWITCHES_ON:
                section.uri = section.uri or STATS_URI
            case _:
                pass
    yield section


def address_of(place: Place) -> str:
    """``HOST:PORT`` of what a ``bind`` says; empty for anything but TCP. Everywhere is also this machine."""
    if not place.port or place.relative:
        return ""
    return str(Endpoint(place.host or "127.0.0.1", place.port))


def routes(config: Config) -> Routes:
    return config.once(routes, lambda: Routes(_routes(config.lines)))


def _routes(lines: Iterable[str]) -> Iterator[Route]:
    """A backend whose name is computed (``%[...]``) can be any."""
    every = list(sections(lines))
    everything: list[Place] = []
    by_name: dict[str, list[Place]] = {}
    for each in every:
        if each.kind in ("backend", "listen"):
            everything += each.servers
            by_name.setdefault(each.name, []).extend(each.servers)
    for each in every:
        if each.kind in ("frontend", "listen"):
            names = dict.fromkeys((each.default, *each.backends))
            computed = any("%" in name for name in names)
            named = [everything] if computed else [by_name[name] for name in names if name in by_name]
            yield Route([bind for bind, _ in each.binds], [each.servers, *named])


def place_of(text: str, chroot: str = "") -> Place:
    """The place that a ``bind`` or ``server`` (or template) names. A port that is missing or has a sign is relative."""
    match = _FAMILY.fullmatch(text)
    family, rest = (match[1] or "", match[2]) if match else ("", "")
    if rest.startswith("/") and family in ("", "unix"):
        return Place(socket=chroot + rest, text=text)
    if family == "abns" and rest:
        return Place(socket=f"@{rest}", text=text)
    place = _PLACE.fullmatch(rest) if family in _TCP else None
    port = count_or_none(place[3] or "0", MOST_PORT) if place else None
    host = place[1].strip("[]") if place else ""
    if place is None or port is None or not (host in EVERYWHERE or _HOST.fullmatch(host)):
        return Place(text=text)
    relative = place[3] is None or bool(place[2])
    return Place("" if host in EVERYWHERE else host, -port if place[2] == "-" else port, "", text, relative)
