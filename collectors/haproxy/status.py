"""HAProxy's statistics as a table of comma-separated values: by HTTP, or from its stats socket.

Source: HAProxy's management guide, section 9.1: the head begins with ``# pxname``, columns are found by name, every
line ends in a comma. A line is a frontend, a backend, a server of one, or a listening socket (type 3), which is left
out: its frontend counts it too.
"""

import csv
import re
import time
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

from collectors.errors import AbsentError, FetchError, ParseError
from collectors.machine import Machine
from collectors.parsing import count_or_none
from collectors.reading import Page
from loadtop.i18n import Message
from loadtop.servers.haproxy.record import HaproxyProxy

STATS_URI = "/haproxy?stats"
"""Where the page is by default, where ``stats uri`` is not given."""

FIX = "stats socket /run/haproxy/admin.sock mode 660 level user"
"""The line that switches the socket on, for the section ``global`` of HAProxy's configuration."""

FIX_PAGE = """\
frontend stats
    mode http
    bind 127.0.0.1:8404
    stats enable
    stats uri /stats"""
"""The section that switches the page on."""

MOST_LINES = 400
"""Lines kept of a table: frontends and backends first."""

_SOCKET = re.compile(r"(?:(?:unix|haproxy):(?://)?)?(/(?!/)[^;?#]*)", re.ASCII)
_STREAM = re.compile(r"tcp://((?:\[[0-9A-Fa-f:.]+\]|[\w.-]+):\d{1,5})/?", re.ASCII)
_LISTENER = "3"


def address_of(url: str) -> str | None:
    """The stats socket that ``unix:PATH``, a path alone or ``tcp://HOST:PORT`` means; ``None`` for any other URL."""
    match = _SOCKET.fullmatch(url) or _STREAM.fullmatch(url)
    return None if match is None else match[1]


def stats_url(url: str) -> str:
    """The URL of the table: ``;csv`` is added to that of a page. Sockets, and what is no URL, are given back."""
    if address_of(url) is not None:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.path in ("", "/") and not parts.query:
        parts = urlsplit(urlunsplit((parts.scheme, parts.netloc, "", "", "")) + STATS_URI)
    plain = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
    return plain if plain.endswith(";csv") else f"{plain};csv"


async def fetch(machine: Machine, url: str, timeout_s: float) -> Page:
    """The table behind any of these URLs, from the machine itself. Raises :class:`FetchError`."""
    address = address_of(url)
    if address is None:
        return await machine.fetch(url, timeout_s)
    began = time.perf_counter()
    answer = await machine.ask(address, b"show stat\n", timeout_s)
    text = answer.decode("utf-8", "replace")
    if "permission denied" in text[:200].lower():
        raise FetchError("the socket's level does not permit `show stat`")
    return Page(url, 200, "text/plain", text, time.perf_counter() - began)


def parse(text: str) -> tuple[HaproxyProxy, ...]:
    head, _, rest = text.lstrip().partition("\n")
    if not head.startswith("# pxname,svname,"):
        raise ParseError("an HTML page, not the table" if head[:1] == "<" else "this is not the table of HAProxy")
    names = head[2:].rstrip("\r").split(",")
    whole, _, _ = rest.rpartition("\n")
    found = [line for row in _rows(whole.splitlines()) if (line := _line(dict(zip(names, row, strict=False))))]
    if len(found) > MOST_LINES:
        kept = {
            id(line) for line in sorted(found, key=lambda line: line.server not in ("FRONTEND", "BACKEND"))[:MOST_LINES]
        }
        found = [line for line in found if id(line) in kept]
    return tuple(found)


def parse_page(page: Page) -> tuple[HaproxyProxy, ...]:
    """The table on a page; raises :class:`AbsentError` with what to do where there is another page."""
    if page.status == 401:
        raise AbsentError(
            "asks for a password (401). Give it with --haproxy http://USER:PASSWORD@HOST:PORT/PATH, or use"
            " the stats socket: add this to the section `global` of haproxy.cfg",
            fix=FIX,
        )
    if page.status != 200:
        reason = Message("the server answers with status {status}", status=page.status)
        raise AbsentError("{error}. Add this to haproxy.cfg", error=reason, fix=FIX_PAGE)
    try:
        return parse(page.text)
    except ParseError as error:
        reason = Message("{error}. Add this to haproxy.cfg, and reload it", error=str(error))
        raise AbsentError(reason, fix=FIX_PAGE) from None


def _rows(lines: Iterable[str]) -> Iterable[list[str]]:
    try:
        yield from csv.reader(lines)
    except csv.Error:
        raise ParseError("a table that is no comma-separated text") from None


def _line(row: dict[str, str]) -> HaproxyProxy | None:
    if not row.get("pxname") or not row.get("svname") or row.get("type") == _LISTENER:
        return None

    def number(name: str) -> int | None:
        return count_or_none(row.get(name))

    return HaproxyProxy(
        proxy=row["pxname"],
        server=row["svname"],
        status=row.get("status", ""),
        queue=number("qcur"),
        sessions=number("scur") or 0,
        session_limit=number("slim"),
        sessions_total=number("stot") or 0,
        bytes_in=number("bin") or 0,
        bytes_out=number("bout") or 0,
        connect_errors=number("econ"),
        response_errors=number("eresp"),
        retries=number("wretr"),
        queue_ms=number("qtime"),
        response_ms=number("rtime"),
        queue_limit=number("qlimit"),
        requests_total=number("req_tot"),
        http_5xx=number("hrsp_5xx"),
    )
