"""The HAProxy processes of one machine: their statistics, from the socket or page that their configuration names.

Where it cannot be read, the usual sockets are tried, and the usual page on the ports on which HAProxy listens.
Source: HAProxy's management guide, section 9.1: a table of comma-separated values whose head begins with ``# pxname``,
columns are found by name, every line ends in a comma. A line is a frontend, a backend, a server of one, or a listening
socket (type 3), which is left out: its frontend counts it too.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from urllib.parse import urlsplit, urlunsplit

from msgspec.structs import replace

from collectors.config_files import View
from collectors.errors import AbsentError, FetchError, ParseError
from collectors.haproxy import configuration
from collectors.kind import Kind
from collectors.machine import Endpoint, Page
from collectors.parsing import LONGEST_TEXT, complete_lines, count_or_none, short
from collectors.server_collector import Candidates, ServerCollector
from loadtop.i18n import Message
from loadtop.model import Cause
from loadtop.servers.haproxy.record import SERVER, HaproxyProxy

KIND = Kind(
    *SERVER,
    processes=re.compile("haproxy"),
    configuration=configuration.read,
    routes=configuration.routes,
)

_CANDIDATES = 12
_USUAL = ("/stats", configuration.STATS_URI, "/haproxy_stats", "/")

FIX = "stats socket /run/haproxy/admin.sock mode 660 level user"  # for the section ``global``

FIX_PAGE = """\
frontend stats
    mode http
    bind 127.0.0.1:8404
    stats enable
    stats uri /stats"""
"""The section that switches the page on."""

MOST_LINES = 400  # lines kept of a table: frontends and backends first
_MOST_ROWS = 5000  # a page of 1 MiB, at 200 bytes a line
_MOST_COLUMNS = 200  # version 3.2 has 125

_SOCKET = re.compile(r"(?:(?:unix|haproxy):(?://)?)?(/(?!/)[^;?#]{0,4096})", re.ASCII)
_STREAM = re.compile(r"tcp://((?:\[[0-9A-Fa-f:.]{1,45}\]|[\w.-]{1,255}):\d{1,5})/?", re.ASCII)
_LISTENER = "3"


class HaproxyCollector(ServerCollector[HaproxyProxy]):
    kind = KIND

    @staticmethod
    def status_url(url: str) -> str:
        """The URL of the table: ``;csv`` is added to the URL of a page. Sockets, and anything that is not a URL, are
        returned unchanged."""
        if socket_of(url) is not None:
            return url
        try:
            parts = urlsplit(url)
        except ValueError:
            return url
        if parts.path in ("", "/") and not parts.query:
            parts = urlsplit(urlunsplit((parts.scheme, parts.netloc, "", "", "")) + configuration.STATS_URI)
        plain = urlunsplit((parts.scheme, parts.netloc, parts.path, parts.query, ""))
        return plain if plain.endswith(";csv") else f"{plain};csv"

    async def fetch(self, url: str, timeout_s: float) -> Page:
        address = socket_of(url)
        if address is None:
            return await super().fetch(url, timeout_s)
        answer = await self.machine.ask(address, b"show stat\n", timeout_s)
        text = answer.decode("utf-8", "replace")
        if "permission denied" in text[:200].lower():
            raise FetchError("HAProxy's stats socket refuses `show stat`: check its `stats socket` line in haproxy.cfg")
        return Page(url, 200, text)

    def records(self, page: Page, at: float) -> Sequence[HaproxyProxy]:
        return [replace(line, at=at) for line in parse_page(page)]

    def merged(self, records: Iterable[HaproxyProxy]) -> tuple[HaproxyProxy, ...]:
        found: dict[tuple[str, str], HaproxyProxy] = {}
        for line in records:
            found.setdefault((line.proxy, line.server), line)
        return tuple(found.values())

    async def candidates_of(self, pid: int, view: View, places: Sequence[Endpoint]) -> Sequence[Candidates]:  # noqa: ARG002 - for subclasses
        config = await configuration.read(view, view.command)
        if config.found:
            lacking = AbsentError(
                "HAProxy runs without statistics. Add this to the `global` section of {file}, and reload HAProxy",
                file=config.first[0],
                fix=FIX,
            )
            return [(configuration.parse(config.lines)[:_CANDIDATES], lacking)]
        pages = [self.status_url(f"http://127.0.0.1:{place.port}{path}") for place in places for path in _USUAL]
        refused = config.problem()
        why = (
            Message("its configuration is unknown ({refused})", refused=refused)
            if refused
            else Message("its configuration is unknown")
        )
        unknown = AbsentError(
            "HAProxy is running, but {why}: set its address with --haproxy URL",
            why=why,
            cause=Cause.ROOT if refused and not config.foreign else None,
        )
        urls = [*(f"unix:{path}" for path in configuration.SOCKETS), *pages]
        return [(urls[:_CANDIDATES], unknown)]


def socket_of(url: str) -> str | None:
    """The stats socket that ``unix:PATH``, a path alone or ``tcp://HOST:PORT`` means; ``None`` for any other URL."""
    match = _SOCKET.fullmatch(url) or _STREAM.fullmatch(url)
    return None if match is None else match[1]


def parse(text: str) -> tuple[HaproxyProxy, ...]:
    head, _, rest = text.lstrip().partition("\n")
    if not head.startswith("# pxname,svname,"):
        if head[:1] == "<":
            raise ParseError("an HTML page, not HAProxy's statistics as CSV")
        raise ParseError("this is not HAProxy's statistics as CSV")
    names = head[2:].rstrip("\r").split(",")[:_MOST_COLUMNS]
    lines = islice(complete_lines(rest), _MOST_ROWS)
    try:
        rows = [dict(zip(names, row, strict=False)) for row in csv.reader(lines)]
    except csv.Error:
        raise ParseError("not a table of comma-separated values") from None
    found = [line for row in rows if (line := _line(row))]
    kept = sorted(range(len(found)), key=lambda index: found[index].is_server)[:MOST_LINES]
    return tuple(found[index] for index in sorted(kept))


def parse_page(page: Page) -> tuple[HaproxyProxy, ...]:
    """The table on a page; raises :class:`AbsentError` with what to do where there is another page."""
    if page.status == 401:
        raise AbsentError(
            "a password is required (401). Pass it with --haproxy "
            "http://USER:PASSWORD@HOST:PORT/PATH, or use the stats socket: add this to the "
            "`global` section of haproxy.cfg",
            fix=FIX,
        )
    if page.status != 200:
        reason = Message("the server answers with status {status}", status=page.status)
        raise AbsentError("{error}. Add this to haproxy.cfg", error=reason, fix=FIX_PAGE)
    try:
        return parse(page.text)
    except ParseError as error:
        reason = Message("{error}. Add this to haproxy.cfg, and reload HAProxy", error=str(error))
        raise AbsentError(reason, fix=FIX_PAGE) from None


def _line(row: dict[str, str]) -> HaproxyProxy | None:
    if not row.get("pxname") or not row.get("svname") or row.get("type") == _LISTENER:
        return None

    def number(name: str) -> int | None:
        return count_or_none(row.get(name))

    return HaproxyProxy(
        proxy=short(row["pxname"], LONGEST_TEXT),
        server=short(row["svname"], LONGEST_TEXT),
        status=short(row.get("status", "")),
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
