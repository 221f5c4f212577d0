"""nginx's configuration: where it listens, its limits, its status pages, and where it passes requests on.

Source: nginx's documentation of ngx_core_module (``worker_processes`` is 1, ``worker_connections`` 512 where it is not
given), ngx_http_core_module (``listen``, ``location``), ngx_http_upstream_module, ngx_http_proxy_module,
ngx_http_fastcgi_module and ngx_http_stub_status_module.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from collectors.config_files import Config, includes, read_config
from collectors.machine import ANY_IPV4, Endpoint, Texts
from collectors.parsing import MOST_PORT, count_or_none
from collectors.routing import Place, Route, Routes

LAYOUTS = ("/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf", "/usr/local/etc/nginx/nginx.conf")
"""Distributions for Linux, built from source, FreeBSD."""

_DEFAULT_PROCESSES, _DEFAULT_CONNECTIONS, _DEFAULT_PORT = 1, 512, 80
_MOST_WORDS = 200_000
INCLUDE = re.compile(r"\s{0,200}include\s{1,50}[\"']?([^\s;\"']{1,500})[\"']?\s{0,50};\s{0,50}(?:#.{0,4096})?$")
_WORD = re.compile(
    r"\"(?:[^\"\\]|\\.){0,4000}\"?|'(?:[^'\\]|\\.){0,4000}'?|[{};]|#[^\n]{0,262144}|(?:\\.|\$\{|[^\s{;\\]){1,4000}",
    re.DOTALL,
)
"""As ngx_conf_read_token has it: inside a bare word, quotes, ``#`` and ``}`` mean themselves, and ``${`` is of a
variable. A quote that is never closed ends somewhere too, so that no text takes long."""
_MASTER = re.compile(r"nginx: master process (.{0,4096})", re.DOTALL)
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]{1,45})\]|([\w.*-]{1,255}))?(?::?(\d{1,5}))?", re.ASCII)
_URL = re.compile(r"(https?|grpcs?)://(unix:[^:]{1,107}(?=:|\Z)|[^/$]{1,255}(?=/|\Z))", re.ASCII)
"""Linux has no longer paths of sockets (unix(7)), and no longer names."""
_PASSES = {"proxy_pass", "grpc_pass"}
_POOLS = {"fastcgi_pass", "uwsgi_pass", "scgi_pass"}


@dataclass(slots=True)
class ServerBlock:
    """One ``server``: where it listens, the paths of its status pages, and where it passes requests on, as written."""

    listens: list[Place] = field(default_factory=list[Place])
    status_paths: list[str] = field(default_factory=list[str])
    passes: list[str] = field(default_factory=list[str])
    pools: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Settings:
    """What matters here of one configuration. ``processes`` is ``None`` for ``auto``: one for each processor."""

    processes: int | None = _DEFAULT_PROCESSES
    connections: int = _DEFAULT_CONNECTIONS
    servers: list[ServerBlock] = field(default_factory=list[ServerBlock])
    upstreams: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


async def read(texts: Texts, command: Sequence[str]) -> Config:
    """The configuration of the master process with this command line. Raises ``TransportError``."""
    paths = files_of(command)
    for path in paths:
        config = await read_config(texts, (path,), includes(INCLUDE, posixpath.dirname(path)))
        if config.found:
            return config
    return await read_config(texts, paths[:1])


def files_of(command: Sequence[str]) -> tuple[str, ...]:
    """The file after ``-c`` on a command line, which a master shows as one word; otherwise the usual ones."""
    match = _MASTER.match(command[0]) if command else None
    words = match[1].split() if match else list(command)
    options = dict(pairwise(words))
    prefix, file = options.get("-p", ""), options.get("-c", "")
    if file:
        path = posixpath.join(prefix, file)
        return (path,) if path.startswith("/") else LAYOUTS
    return (posixpath.join(prefix, "conf/nginx.conf"), *LAYOUTS) if prefix.startswith("/") else LAYOUTS


def parse(lines: Iterable[str]) -> Settings:
    """The settings in the lines of a configuration, whose includes are in their place."""
    found = Settings()
    blocks: list[tuple[str, list[str]]] = []
    server: ServerBlock | None = None
    words: list[str] = []
    for word in _words("\n".join(lines)):
        if word == "{":
            name = words[0] if words else ""
            blocks.append((name, words[1:]))
            if name == "server" and (len(blocks) < 2 or blocks[-2][0] == "http"):
                server = ServerBlock()
                found.servers.append(server)
        elif word == "}":
            if blocks and blocks.pop()[0] == "server":
                server = None
        elif word == ";":
            _directive(found, blocks, server, words)
        else:
            words.append(word)
            continue
        words = []
    for each in found.servers:
        each.listens = each.listens or [Place(ANY_IPV4, _DEFAULT_PORT)]
    return found


def settings_of(config: Config) -> Settings:
    return config.once(parse, lambda: parse(config.lines))


def listening(config: Config) -> tuple[Endpoint, ...]:
    listens = (listen for server in settings_of(config).servers for listen in server.listens)
    return tuple(dict.fromkeys(Endpoint(each.host, each.port) for each in listens if each.port))


def fastcgi_addresses(config: Config) -> frozenset[str] | None:
    """The sockets and ports of the application pools that it names; ``None`` if it names none."""
    settings = settings_of(config)
    names = dict.fromkeys(name for server in settings.servers for name in server.pools)
    named = [place for name in names for place in settings.upstreams.get(name, [name])]
    places = [_place(each) for each in named]
    if config.found and not named and config.problem() is None:
        return None
    return frozenset(place.socket or str(place.port) for place in places if place.port or place.socket)


def routes(config: Config) -> Routes | None:
    """Where it passes requests on; ``None`` if it answers all of them itself."""
    return config.once(routes, lambda: _routes(settings_of(config)))


def _routes(settings: Settings) -> Routes | None:
    upstreams = {
        name: [_place(each, _DEFAULT_PORT) for each in servers] for name, servers in settings.upstreams.items()
    }
    passed_on: dict[str, list[Place]] = {}
    for url in dict.fromkeys(url for server in settings.servers for url in server.passes):
        match = _URL.match(url)
        scheme, name = (match[1], match[2]) if match else ("", "")
        port = 443 if scheme in ("https", "grpcs") else _DEFAULT_PORT
        passed_on[url] = upstreams.get(name) or [_place(name, port, url)]
    if not passed_on:
        return None
    return Routes(Route(each.listens, [passed_on[url] for url in each.passes]) for each in settings.servers)


def _directive(
    found: Settings, blocks: Sequence[tuple[str, list[str]]], server: ServerBlock | None, words: list[str]
) -> None:
    name, values = (words[0], words[1:]) if words else ("", [])
    first = values[0] if values else ""
    where, arguments = blocks[-1] if blocks else ("", [])
    if name == "worker_processes" and not blocks:
        found.processes = None if first == "auto" else count_or_none(first)
    elif name == "worker_connections" and where == "events":
        found.connections = count_or_none(first) or found.connections
    elif name == "server" and where == "upstream" and arguments:
        found.upstreams.setdefault(arguments[0], []).append(first)
    elif server is None:
        return
    elif name == "listen" and where == "server":
        server.listens.append(_listen(first))
    elif name == "stub_status":
        path = arguments[-1] if where == "location" and arguments else "/"
        server.status_paths += [path] if path.startswith("/") else []
    elif name in _PASSES:
        server.passes.append(first)
    elif name in _POOLS:
        server.pools.append(first)


def _listen(text: str) -> Place:
    if text.startswith("unix:"):
        return Place(socket=text.removeprefix("unix:"))
    place = _place(f":{text}" if text.isdecimal() else text, _DEFAULT_PORT)
    return Place(ANY_IPV4 if place.host in ("", "*") else place.host, place.port) if place.port else Place()


def _place(text: str, default: int = 0, written: str = "") -> Place:
    """The place that an upstream's server, or a URL's host, names; ``written`` is how it is configured, if not so."""
    if text.startswith("unix:"):
        return Place(socket=text.removeprefix("unix:").partition(":")[0], text=written or text)
    match = _ADDRESS.fullmatch(text) if text else None
    port = count_or_none(match[3] or str(default), MOST_PORT) if match else None
    if match is None or port is None:
        return Place(text=written or text)
    return Place(match[1] or match[2] or "", port, text=written or text)


def _words(text: str) -> Iterator[str]:
    """Words, braces and semicolons, without comments and quotes."""
    for number, match in enumerate(_WORD.finditer(text)):
        if number >= _MOST_WORDS:
            return
        word = match[0]
        if word[0] != "#":
            yield word[1:].removesuffix(word[0]) if word[0] in "\"'" else word
