"""nginx's stub_status page.

Source: nginx, src/http/modules/ngx_http_stub_status_module.c: four lines of text, of which the third holds the counts
of accepted connections, handled connections and requests since nginx started.
"""

import re

from collectors.errors import AbsentError, ParseError
from collectors.parsing import count
from collectors.reading import Page, page_url
from loadtop.servers.nginx.record import NginxStatus

STATUS_PATHS = ("/nginx_status", "/stub_status", "/basic_status", "/status")
"""Where the page is in nginx's and its distributors' examples."""

FIX = """\
location = /nginx_status {
    stub_status;
    allow 127.0.0.1;
    allow ::1;
    deny all;
}"""
"""The block that enables the page, for a ``server`` of nginx's configuration."""

_PAGE = re.compile(
    r"\s{0,9}Active connections:\s{1,9}(\d{1,19})\s{1,9}server accepts handled requests(?: request_time)?\s{1,9}"
    r"(\d{1,19}) (\d{1,19}) (\d{1,19})(?: \d{1,19})?\s{1,9}"
    r"Reading: (\d{1,19}) Writing: (\d{1,19}) Waiting: (\d{1,19})\s",
    re.ASCII,
)


def status_url(url: str) -> str:
    return page_url(url, STATUS_PATHS[0])


def parse(text: str, url: str = "") -> NginxStatus:
    """One page. Raises :class:`ParseError` for any other text."""
    match = _PAGE.match(text[:1000])
    if match is None:
        raise ParseError("not the text of stub_status")
    active, accepts, handled, requests, reading, writing, waiting = (
        count(each, "stub_status") for each in match.groups()
    )
    return NginxStatus(url, active, reading, writing, waiting, accepts, handled, requests)


def parse_page(page: Page) -> NginxStatus:
    """The status on a page; raises :class:`AbsentError` with what to do where the server gives another page."""
    if page.status in (401, 403):
        raise AbsentError(
            "not permitted ({status}). Allow this machine in nginx's configuration (`allow ADDRESS;`)",
            status=page.status,
            fix=FIX,
        )
    if 300 <= page.status < 400:
        raise AbsentError("leads elsewhere ({status}). Name the page itself with --nginx URL", status=page.status)
    if page.status == 404:
        raise AbsentError(
            "no such page (404). If this is nginx, add this to a server of its configuration, and reload it", fix=FIX
        )
    if page.status != 200:
        raise AbsentError("the server answers with status {status}", status=page.status)
    try:
        return parse(page.text, page.url)
    except ParseError as error:
        raise AbsentError(
            "{error}. Add this to a server of nginx's configuration or name the page with --nginx URL",
            error=str(error),
            fix=FIX,
        ) from None
