"""nginx's stub_status page, and pages in its place."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import AbsentError, ParseError
from collectors.machine import Page
from collectors.nginx import collector
from loadtop.servers.nginx.record import NginxStatus

NGINX_1_22 = (
    "Active connections: 291 \nserver accepts handled requests\n 16630948 16630940 31070465 \n"
    "Reading: 6 Writing: 179 Waiting: 106 \n"
)
TENGINE = (
    "Active connections: 1 \nserver accepts handled requests request_time\n 7 7 9 12 \n"
    "Reading: 0 Writing: 1 Waiting: 0 \n"
)
COUNT = st.integers(0, 2**63 - 1)


def text_of(*counts: int) -> str:
    """The page as nginx 1.22 prints it (ngx_http_stub_status_handler)."""
    active, accepts, handled, requests, reading, writing, waiting = counts
    return (
        f"Active connections: {active} \nserver accepts handled requests\n {accepts} {handled} {requests} \n"
        f"Reading: {reading} Writing: {writing} Waiting: {waiting} \n"
    )


def test_a_page() -> None:
    found = collector.parse(NGINX_1_22, "http://web1/nginx_status")
    assert (found.active, found.reading, found.writing, found.waiting) == (291, 6, 179, 106)
    assert (found.accepts, found.handled, found.requests) == (16630948, 16630940, 31070465)
    assert (found.key, found.capacity, found.full) == ("http://web1/nginx_status", None, None)


def test_a_page_with_times_of_requests() -> None:
    assert collector.parse(TENGINE) == NginxStatus("", 1, 0, 1, 0, 7, 7, 9)


def test_line_ends_of_another_system() -> None:
    assert collector.parse(NGINX_1_22.replace("\n", "\r\n")).requests == 31070465


@given(st.tuples(COUNT, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT))
def test_every_page_of_nginx_is_read(counts: tuple[int, int, int, int, int, int, int]) -> None:
    found = collector.parse(text_of(*counts))
    assert counts == (
        found.active, found.accepts, found.handled, found.requests, found.reading, found.writing, found.waiting
    )  # fmt: skip


@given(st.text(), st.integers(0, len(NGINX_1_22)))
def test_anything_is_a_page_or_a_parse_error(text: str, at: int) -> None:
    for page in (text, NGINX_1_22[:at] + text, NGINX_1_22[:at] + text + NGINX_1_22[at:], text + NGINX_1_22):
        with contextlib.suppress(ParseError):
            collector.parse(page)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Total Accesses: 5\nScoreboard: _W\n",
        "<html>Active connections: 1</html>",
        NGINX_1_22[:-3],
        NGINX_1_22.replace("291", "-1"),
        NGINX_1_22.replace("291", "9" * 30),
        NGINX_1_22.replace("291", str(2**63)),
        NGINX_1_22.replace("291", "\u0663"),
        "Active connections: " + " " * 1_000_000,
        "pool:                 www\nprocess manager:      static\n",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParseError):
        collector.parse(text)


@pytest.mark.parametrize(
    ("code", "text", "said", "block"),
    [
        (200, "<html>", "not the text of stub_status", True),
        (401, "", "not permitted (401)", True),
        (403, "", "allow ADDRESS;", True),
        (404, "", "no such page (404)", True),
        (301, "", "--nginx URL", False),
        (503, "", "status 503", False),
    ],
)
def test_another_page_says_what_to_do(code: int, text: str, said: str, block: bool) -> None:
    with pytest.raises(AbsentError) as raised:
        collector.parse_page(Page("http://web1/nginx_status", code, "text/plain", text, 0.1))
    assert said in str(raised.value)
    assert (raised.value.fix == collector.FIX) is block


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://web1", "http://web1/nginx_status"),
        ("http://web1:8080/", "http://web1:8080/nginx_status"),
        ("http://web1/basic_status", "http://web1/basic_status"),
        ("http://web1/s?a=b#c", "http://web1/s?a=b"),
        ("web1:8080", "http://web1:8080/nginx_status"),
        ("http://[::1/", "http://[::1/"),
    ],
)
def test_the_url_that_is_asked_for(url: str, asked: str) -> None:
    assert collector.NginxCollector.status_url(url) == asked
