"""php-fpm's status page: JSON and text as PHP 8.2 prints them, other pages in its place, and URLs of all kinds."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import AbsentError, ParseError
from collectors.machine import Page
from collectors.php_fpm import status as fpm
from collectors.php_fpm.configuration import PoolConfig

JSON = (
    '{"pool":"api","process manager":"static","start time":1795248292,"start since":61,"accepted conn":17,'
    '"listen queue":3,"max listen queue":4,"listen queue len":4096,"idle processes":0,"active processes":2,'
    '"total processes":2,"max active processes":2,"max children reached":1,"slow requests":0}'
)
TEXT = """\
pool:                 api
process manager:      static
start time:           21/Nov/2026:08:04:52 +0000
start since:          61
accepted conn:        17
listen queue:         3
max listen queue:     4
listen queue len:     4096
idle processes:       0
active processes:     2
total processes:      2
max active processes: 2
max children reached: 1
slow requests:        0
"""


@pytest.mark.parametrize("text", [JSON, TEXT])
def test_both_forms_tell_the_same(text: str) -> None:
    pool = fpm.parse(text, 0.25)
    assert (pool.pool, pool.manager, pool.uptime_s, pool.accepted) == ("api", "static", 61, 17)
    assert (pool.listen_queue, pool.listen_queue_limit) == (3, 4096)
    assert (pool.idle, pool.active, pool.total, pool.max_children_reached, pool.slow_requests) == (0, 2, 2, 1, 0)
    assert (pool.max_children, pool.fetch_s) == (None, 0.25)


def test_a_queue_without_length_has_no_limit() -> None:
    assert fpm.parse(JSON.replace("4096", "0")).listen_queue_limit is None


def test_figures_that_are_none_are_none() -> None:
    pool = fpm.parse('{"pool":"a","process manager":"static","accepted conn":-1,"idle processes":"x"}')
    assert (pool.accepted, pool.idle, pool.active, pool.slow_requests) == (None, None, None, None)


@given(st.text())
def test_anything_is_a_pool_or_a_parse_error(text: str) -> None:
    for page in (text, "{" + text, JSON[: len(text)], TEXT[: len(text)]):
        with contextlib.suppress(ParseError):
            assert fpm.parse(page).pool


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (403, "", "Require local"),
        (404, "File not found.\n", "pm.status_path"),
        (502, "", "status 502"),
        (200, "<html>", "not the status page"),
        (200, "[1]", "not the status page"),
        (200, '{"pool"', "cut off"),
    ],
)
def test_another_page_says_what_to_do(status: int, text: str, said: str) -> None:
    with pytest.raises(AbsentError) as raised:
        fpm.parse_page(Page("http://web1/status?json", status, "text/html", text, 0.1))
    assert said in f"{raised.value}\n{raised.value.fix}"


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        ("http://web1/status", "http://web1/status?json"),
        ("http://web1/status?full&html", "http://web1/status?json"),
        ("https://web1", "https://web1/fpm-status?json"),
        ("http://web1/s?json", "http://web1/s?json"),
        ("unix:/run/php/a.sock;/status", "unix:/run/php/a.sock;/status"),
        ("http://[::1/", "http://[::1/"),
    ],
)
def test_the_page_is_asked_for_as_json(url: str, asked: str) -> None:
    assert fpm.status_url(url) == asked


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("fcgi://127.0.0.1:9000/status", ("127.0.0.1:9000", "/status")),
        ("tcp://[::1]:9000", ("[::1]:9000", "")),
        ("unix:/run/php/fpm.sock;/s", ("/run/php/fpm.sock", "/s")),
        ("unix:///run/php/fpm.sock", ("/run/php/fpm.sock", "")),
        ("fcgi:///run/php/fpm.sock;/s", ("/run/php/fpm.sock", "/s")),
        ("http://web1/status", ("", "")),
    ],
)
def test_places_over_fastcgi(url: str, place: tuple[str, str]) -> None:
    assert fpm.place_of(url) == place
    address, path = place
    if path:
        assert fpm.place_of(PoolConfig("www", address, status_path=path).url) == place


def record(kind: int, content: bytes, padding: int = 0) -> bytes:
    return bytes([1, kind, 0, 1]) + len(content).to_bytes(2, "big") + bytes([padding, 0]) + content + bytes(padding)


def test_an_answer_over_fastcgi() -> None:
    head, body = b"Status: 404 Not Found\r\nContent-Type: text/html\r\n\r\n", b"File not found.\n"
    answer = record(7, b"Primary script unknown", 2) + record(6, head) + record(6, body, 7) + record(3, bytes(8))
    assert fpm.parse_answer(answer) == (
        404,
        {"status": "404 Not Found", "content-type": "text/html"},
        "File not found.\n",
    )
    assert fpm.parse_answer(record(6, b"A: b\r\n\r\nx") + record(3, bytes(8)))[::2] == (200, "x")


def test_an_answer_that_is_cut_off_or_none() -> None:
    with pytest.raises(ParseError, match="cut off"):
        fpm.parse_answer(record(6, b"A: b\r\n\r\nx"))
    with pytest.raises(ParseError, match="no answer over FastCGI"):
        fpm.parse_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_parse_error(answer: bytes) -> None:
    with contextlib.suppress(ParseError):
        status, headers, _ = fpm.parse_answer(answer)
        assert 0 <= status < 1000
        assert all(name == name.lower() for name in headers)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300))
def test_a_request_names_its_path(path: str) -> None:
    asked = fpm.request(path)
    assert path.encode() in asked
    assert asked.startswith(bytes([1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0]))
    assert asked.count(b"QUERY_STRINGjson") == 1
