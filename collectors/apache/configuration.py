"""Apache's configuration: its files, where it listens, its limits, and the application pools that it asks.

Source: httpd 2.4, docs/manual/mod/mpm_common, prefork, worker, event: ``MaxRequestWorkers`` (before 2.4 ``MaxClients``)
is 256 with prefork and otherwise ``ServerLimit`` (16) times ``ThreadsPerChild`` (25) where it is not given;
``ListenBacklog`` 511. Of several the last counts, and none in an ``<IfModule>`` of another MPM.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from collectors.config_files import Config, config_file, includes, read_config
from collectors.machine import ANY_IPV4, NO_FILE, Endpoint, Missing, Texts, lines_of
from collectors.parsing import MOST_PORT, count_or_none

LAYOUTS = (  # Debian, Red Hat, SUSE and Alpine, built from source, FreeBSD
    "/etc/apache2/apache2.conf",
    "/etc/httpd/conf/httpd.conf",
    "/etc/apache2/httpd.conf",
    "/usr/local/apache2/conf/httpd.conf",
    "/usr/local/etc/apache24/httpd.conf",
)

INCLUDE = re.compile(r"\s{0,99}Include(?:Optional)?\s{1,99}(?:\"([^\"]{1,4096})\"|(\S{1,4096}))", re.IGNORECASE)
_ROOT = re.compile(r"\s{0,99}ServerRoot\s{1,99}\"?([^\"\s]{1,4096})", re.IGNORECASE)
_OPEN = re.compile(r"\s{0,99}<(\w{1,99}+)\s{0,99}+([^>]{0,4096}+)>")
_CLOSE = re.compile(r"\s{0,99}</(\w{1,99})>")
_MPM = re.compile(r"(!?)\s{0,99}(?:mpm_)?(prefork|worker|event)(?:_module|\.c)", re.IGNORECASE)
_LOADED = re.compile(r"\s{0,99}LoadModule\s{1,99}mpm_(prefork|worker|event)_module\s", re.IGNORECASE)
_FASTCGI = re.compile(r"unix:([^|\"'\s]{1,107}+)\||fcgi://[\w.\[\]:-]{0,255}:(\d{1,5})")
_FIELDS = {  # the directives of limits, by their names in the record ApacheStatus
    "maxrequestworkers": "max_request_workers",
    "maxclients": "max_request_workers",
    "serverlimit": "server_limit",
    "threadsperchild": "threads_per_child",
    "listenbacklog": "listen_backlog",
}

_DIRECTIVE = re.compile(rf"\s{{0,99}}({'|'.join(_FIELDS)})\s{{1,99}}(\d{{1,18}})", re.IGNORECASE)
_PREFORK = {"max_request_workers": 256, "server_limit": 256, "listen_backlog": 511}
_THREADED = {"server_limit": 16, "threads_per_child": 25, "listen_backlog": 511}
_LISTEN = re.compile(
    r"\s{0,99}Listen\s{1,99}(?:\[([0-9a-f:.]{1,45})\]:|([\w.-]{1,255}):)?(\d{1,5})(?:\s|$)", re.IGNORECASE | re.ASCII
)


async def read(texts: Texts, command: Sequence[str]) -> Config:
    """The configuration of the server with this command line. Raises ``TransportError``."""
    paths = files_of(command)
    first = await texts.texts(map(config_file, paths))
    for path in paths:
        if isinstance(first[path], str):
            return await read_config(texts, (path,), includes(INCLUDE, root_of(command, path, first[path])))
    return await read_config(texts, paths[:1])


def files_of(command: Sequence[str]) -> tuple[str, ...]:
    """The file that a command line names with ``-f``, or the usual files, of which the first existing one counts."""
    options = dict(pairwise(command))
    file, root = options.get("-f"), options.get("-d", "")
    if file:
        path = posixpath.join(root, file)
        return (path,) if path.startswith("/") else ()
    if root:
        return (posixpath.join(root, "apache2.conf"), posixpath.join(root, "conf/httpd.conf"))
    return LAYOUTS


def root_of(command: Sequence[str], path: str, text: str | Missing) -> str:
    """What relative paths are below: ``-d``, ``ServerRoot``, or the usual place for that file."""
    for line in lines_of(text):
        if match := _ROOT.match(line):
            return match[1]
    folder = posixpath.dirname(path)
    return dict(pairwise(command)).get("-d") or (posixpath.dirname(folder) if folder.endswith("/conf") else folder)


def parse(lines: Iterable[str], mpm: str = "") -> dict[str, int]:
    """The values given for this MPM, or where it is empty for the one that is loaded."""
    kept = list(lines)
    if not mpm:
        mpm = next((match[1].lower() for line in kept if (match := _LOADED.match(line))), "")
    found: dict[str, int] = {}
    others: list[bool] = []
    for line in kept:
        if opened := _OPEN.match(line):
            others.append(opened[1].lower() == "ifmodule" and _is_of_another(opened[2], mpm))
        elif _CLOSE.match(line) and others:
            others.pop()
        elif (match := _DIRECTIVE.match(line)) and not any(others):
            value = count_or_none(match[2])
            if value is not None:
                found[_FIELDS[match[1].lower()]] = value
    return found


def listening(config: Config) -> tuple[Endpoint, ...]:
    """Where ``Listen`` says that it listens, whether or not the section it is in counts."""
    found = (match for line in config.lines if (match := _LISTEN.match(line)))
    endpoints = (
        Endpoint(match[1] or match[2] or ANY_IPV4, port)
        for match in found
        if (port := count_or_none(match[3], MOST_PORT)) is not None
    )
    return tuple(dict.fromkeys(endpoints))


def fastcgi_addresses(config: Config) -> frozenset[str] | None:
    """The sockets and ports of the application pools that it names; ``None`` if it speaks no FastCGI at all. Others
    can be named in files that are not read (``.htaccess``)."""
    lines = list(config.lines)
    if lines and not any("fcgi" in line.lower() or "fastcgi" in line.lower() for line in lines):
        return None
    return frozenset(path or port for line in lines for path, port in _FASTCGI.findall(line))


def limits(config: Config, mpm: str) -> dict[str, Any]:
    """The limits of a configuration, with httpd's defaults for what it does not give, if all of it could be read."""
    return config.once((limits, mpm), lambda: _limits(config, mpm)) if config.found else {}


def _limits(config: Config, mpm: str) -> dict[str, Any]:
    given = parse(config.lines, mpm)
    if not mpm or any(isinstance(text, Missing) and text.reason != NO_FILE for text in config.files.values()):
        return given
    if mpm == "prefork":
        return {**_PREFORK, **given, "threads_per_child": None}
    found = _THREADED | given
    return {"max_request_workers": found["server_limit"] * found["threads_per_child"], **found}


def _is_of_another(module: str, mpm: str) -> bool:
    match = _MPM.fullmatch(module.strip().strip('"'))
    return match is not None and bool(mpm) and (match[2].lower() == mpm) == bool(match[1])
