"""The Apache servers of one machine: mod_status in its form for programs (``?auto``), and the limits configured.

Source: httpd 2.4, modules/generators/mod_status.c: lines of ``Key: value``, the first without a key. What is read are
the scoreboard's letters (the truth about slots) and counters since restart, and never the averages since restart
(ReqPerSec, CPULoad) that the page also prints. Event prints BusyWorkers and IdleWorkers twice in some versions: the
letters are what counts, and of any key the first.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from collectors.apache import configuration
from collectors.errors import ParseError
from collectors.kind import Kind
from collectors.machine import Page, page_url
from collectors.parsing import LONGEST_TEXT, complete_lines, count_or_none, excerpt, short
from collectors.server_collector import PageAdvice, WebServerCollector
from loadtop.i18n import Message
from loadtop.servers.apache.record import SERVER, ApacheStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"(?:lt-)?(?:apache2|httpd2?)(?:[.-](?:prefork|worker|event|itk))?", re.ASCII),
    configuration=configuration.read,
    listening=configuration.listening,
    fastcgi_addresses=configuration.fastcgi_addresses,
)

LETTERS = "_SRWKDCLGI."
MOST_SLOTS = 200_000  # the most that httpd lets ServerLimit be (its MAX_SERVER_LIMIT with prefork)
STATUS_PATH = "/server-status"

FIX = """\
<Location "/server-status">
    SetHandler server-status
    Require local
</Location>"""
"""The block that switches the page on, for Apache's configuration."""

ADVICE = PageAdvice(
    denied="not permitted ({status}). In Apache's configuration, allow requests from the watched host itself, for"
    " example with `Require local`",
    missing=(
        "page not found (404). If this is Apache, enable mod_status (`a2enmod status`), add "
        "this to its configuration, and reload Apache"
    ),
    unread=(
        "{error}. A rewrite rule or an application may answer instead of mod_status. Add this to Apache's "
        "configuration, or give the page's URL with {option}"
    ),
    option="--apache URL",
    fix=FIX,
)


class ApacheCollector(WebServerCollector[ApacheStatus]):
    kind = KIND

    @staticmethod
    def status_url(url: str) -> str:
        return page_url(url, STATUS_PATH, "auto")

    def status_paths(self) -> Sequence[str]:
        return (f"{STATUS_PATH}?auto",)

    def records(self, page: Page, at: float) -> Sequence[ApacheStatus]:
        found = replace(parse_page(page), at=at)
        server = self.under_test.server_at(self.kind, found.url)
        return (found if server is None else replace(found, **configuration.limits(server.config, found.mpm)),)

    @staticmethod
    def lacks(record: ApacheStatus) -> Message | None:
        if record.accesses is not None:
            return None
        return Message(
            "{url}: ExtendedStatus is off, so there are no request rates. Add `ExtendedStatus On`", url=record.url
        )


def parse(text: str, url: str = "", fetch_s: float | None = None) -> ApacheStatus:
    """One status page. ``mpm`` is derived where the page does not name it (before 2.4.7)."""
    if text.lstrip()[:1] == "<":
        raise ParseError("an HTML page, not the text of mod_status")
    table: dict[str, str] = {}
    for line in complete_lines(text):
        key, colon, value = line.partition(":")
        if colon:
            table.setdefault(key.strip(), value.strip())
    board = table.get("Scoreboard")
    if board is None:
        raise ParseError("no Scoreboard line: this is not the text of mod_status, or it is cut off")
    if not board or len(board) > MOST_SLOTS or not set(board) <= set(LETTERS):
        raise ParseError(f"unknown letters in the scoreboard: {excerpt(board)}")
    connections = count_or_none(table.get("ConnsTotal"))
    return ApacheStatus(
        url=url,
        mpm=short(table.get("ServerMPM", "")).lower() or ("event" if connections is not None else ""),
        version=short(table.get("ServerVersion", ""), LONGEST_TEXT),
        scoreboard=board,
        uptime_s=count_or_none(table.get("ServerUptimeSeconds", table.get("Uptime"))),
        accesses=count_or_none(table.get("Total Accesses")),
        kbytes=count_or_none(table.get("Total kBytes")),
        duration_ms=count_or_none(table.get("Total Duration")),
        processes=count_or_none(table.get("Processes")),
        stopping=count_or_none(table.get("Stopping")),
        connections=connections,
        connections_writing=count_or_none(table.get("ConnsAsyncWriting")),
        connections_keepalive=count_or_none(table.get("ConnsAsyncKeepAlive")),
        connections_closing=count_or_none(table.get("ConnsAsyncClosing")),
        fetch_s=fetch_s,
    )


def parse_page(page: Page) -> ApacheStatus:
    return ADVICE.read(page, lambda page: parse(page.text, page.url, page.took_s))
