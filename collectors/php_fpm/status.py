"""php-fpm's status page, as JSON or as its plain text; by HTTP through a web server, or directly over FastCGI.

Source: php-src, sapi/fpm/fpm/fpm_status.c. The page does not tell ``pm.max_children`` (see ``configuration.py``), and
its listen queue is always 0 for a unix socket (see :mod:`collectors.linux.sockets`). It is served by a worker of
the pool itself, which counts as active, unless the pool has ``pm.status_listen``: a full pool is silent.

FastCGI Specification 1.0 (Open Market, 1996), sections 3.3 to 5: records of eight bytes of header, content and padding.
The connection is not kept, so that the server ends it after the answer.
"""

import json
import re
import struct
from collections.abc import Sequence
from typing import Any

from collectors.errors import FetchError, ParseError
from collectors.machine import Machine, Page, page_url
from collectors.parsing import LONGEST_TEXT, complete_lines, count_or_none, short
from collectors.server_collector import PageAdvice
from loadtop.i18n import verbatim
from loadtop.servers.php_fpm.record import FpmPool

STATUS_PATHS = ("/fpm-status", "/status", "/php-fpm-status", "/php_fpm_status", "/php-status", "/fpm_status")
"""Where the page usually is, by what php.net, distributions and monitors have in their examples."""

FIX = "pm.status_path = /fpm-status"  # for the section of the pool in php-fpm's configuration

ADVICE = PageAdvice(
    denied="not permitted ({status}). In the web server's configuration, allow requests for that path from the"
    " watched host itself (Apache: `Require local`), and set pm.status_path in the pool's configuration",
    missing=(
        "page not found (404). Add this to the pool's section of the php-fpm configuration, "
        "and reload php-fpm. If a web server is in front, also forward that path to the pool"
    ),
    unread="{error}. Give the page's URL with {option}, or enable the page",
    option="--fpm URL",
    fix=FIX,
)

_SOCKET = re.compile(r"(?:unix|fcgi|fcgi\+unix):(?://)?(/(?!/)[^;?#]{0,4096})(?:;(/[^?]{0,4096}))?", re.ASCII)
_STREAM = re.compile(r"(?:fcgi|tcp)://((?:\[[0-9A-Fa-f:.]{1,45}\]|[\w.-]{1,255}):\d{1,5})(/[^?]{0,4096})?", re.ASCII)
_STATUS = re.compile(r"^status[ \t]{0,99}:[ \t]{0,99}(\S{0,99})", re.IGNORECASE | re.MULTILINE)
_HEADER = struct.Struct(">BBHHBx")
_BEGIN = struct.Struct(">HB5x")
_LENGTHS, _LONG = struct.Struct(">II"), 1 << 31
_VERSION, _ID, _RESPONDER = 1, 1, 1
_BEGIN_REQUEST, _END_REQUEST, _PARAMS, _STDIN, _STDOUT = 1, 3, 4, 5, 6


def place_of(url: str) -> tuple[str, str]:
    """The address of the pool (``HOST:PORT`` or a path) and the path of its page in ``fcgi://HOST:PORT/status`` or
    ``unix:/run/php/fpm.sock;/status``; empty for any other URL."""
    match = _SOCKET.fullmatch(url) or _STREAM.fullmatch(url)
    return ("", "") if match is None else (match[1], match[2] or "")


def status_url(url: str) -> str:
    """The URL of the page as JSON; one over FastCGI is given back as it is."""
    if place_of(url)[0]:
        return url
    return page_url(url, STATUS_PATHS[0], "json", without=("html", "xml", "openmetrics", "full"))


async def fetch(machine: Machine, url: str, timeout_s: float, paths: Sequence[str] = STATUS_PATHS) -> Page:
    """The page behind any of these URLs, from the machine itself. One over FastCGI without a path is the first of
    ``paths`` that is a status page. Raises :class:`FetchError`."""
    address, path = place_of(url)
    if not address:
        return await machine.fetch(url, timeout_s)
    page = Page(url, 404, "")
    for each in [path] if path else paths:
        answer = await machine.ask(address, request(each), timeout_s)
        try:
            status, body = parse_answer(answer)
        except ParseError as error:
            raise FetchError(verbatim(str(error))) from None
        page = Page(url, status, body)
        if status == 200:
            break
    return page


def parse(text: str, fetch_s: float | None = None) -> FpmPool:
    table = _json(text) if text.lstrip()[:1] == "{" else _lines(text)
    pool = short(table.get("pool", ""), LONGEST_TEXT)
    if not pool or "process manager" not in table:
        raise ParseError("`pool` or `process manager` is missing: this is not the status page of php-fpm")

    def number(name: str) -> int | None:
        return count_or_none(table.get(name))

    return FpmPool(
        pool=pool,
        manager=short(table["process manager"]),
        accepted=number("accepted conn"),
        listen_queue=number("listen queue"),
        listen_queue_limit=number("listen queue len") or None,
        idle=number("idle processes"),
        active=number("active processes"),
        total=number("total processes"),
        max_children_reached=number("max children reached"),
        slow_requests=number("slow requests"),
        uptime_s=number("start since"),
        fetch_s=fetch_s,
    )


def parse_page(page: Page) -> FpmPool:
    return ADVICE.read(page, lambda page: parse(page.text, page.took_s))


def _json(text: str) -> dict[str, str]:
    try:
        table: dict[str, Any] = json.loads(text)  # it begins with a brace
    except (ValueError, RecursionError):
        raise ParseError("the status page is cut off or not JSON") from None
    return {name: str(value) for name, value in table.items() if isinstance(value, int | str)}


def _lines(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in complete_lines(text))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def request(path: str) -> bytes:
    """A GET of a status page as JSON, as a web server on the same machine would pass it on."""
    parameters = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": path,
        "SCRIPT_FILENAME": path,
        "REQUEST_URI": f"{path}?json",
        "QUERY_STRING": "json",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "loadtop",
        "REMOTE_ADDR": "127.0.0.1",
    }
    packed = b""
    for name, value in parameters.items():
        key, content = name.encode(), value.encode()
        packed += _LENGTHS.pack(len(key) | _LONG, len(content) | _LONG) + key + content
    begin = _record(_BEGIN_REQUEST, _BEGIN.pack(_RESPONDER, 0))
    return begin + _record(_PARAMS, packed) + _record(_PARAMS, b"") + _record(_STDIN, b"")


def parse_answer(answer: bytes) -> tuple[int, str]:
    """Status (200 where none is said) and body of an answer."""
    output = bytearray()
    position, ended = 0, False
    while position + _HEADER.size <= len(answer):
        version, kind, _, length, padding = _HEADER.unpack_from(answer, position)
        if version != _VERSION:
            raise ParseError("not a FastCGI response")
        begin = position + _HEADER.size
        if kind == _STDOUT:
            output += answer[begin : begin + length]
        ended = ended or kind == _END_REQUEST
        position = begin + length + padding
    if not ended:
        raise ParseError("the FastCGI response is cut off")
    text = output.decode("utf-8", "replace").replace("\r\n", "\n")
    head, _, body = text.partition("\n\n")
    said = _STATUS.search(head)
    return (count_or_none(said[1], 999) or 0) if said else 200, body


def _record(kind: int, content: bytes) -> bytes:
    return _HEADER.pack(_VERSION, kind, _ID, len(content), 0) + content
