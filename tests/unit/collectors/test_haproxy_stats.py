"""HAProxy's table of statistics, and pages in its place."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import AbsentError, ParseError
from collectors.haproxy import collector as haproxy
from collectors.machine import Page

TABLE = """\
# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,econ,eresp,wretr,status,qlimit,type,hrsp_5xx,req_tot,qtime,rtime,
fe,FRONTEND,,,3,9,1000,17,2100,3400,,,,OPEN,,0,2,17,,,
be,s1,1,4,2,2,2,15,1000,1500,1,0,3,UP,10,2,1,15,40,120,
be,BACKEND,5,7,2,9,200,17,2100,3400,1,0,3,UP,,1,2,17,41,121,
fe,sock-1,,,1,1,1000,1,1,1,,,,OPEN,,3,,,,,
"""


def test_a_table() -> None:
    front, server, back = haproxy.parse(TABLE)
    assert (front.proxy, front.server, front.status, front.queue, front.sessions) == ("fe", "FRONTEND", "OPEN", None, 3)
    assert (front.session_limit, front.sessions_total, front.requests_total, front.http_5xx) == (1000, 17, 17, 2)
    assert (server.server, server.queue, server.queue_limit, server.session_limit) == ("s1", 1, 10, 2)
    assert (server.connect_errors, server.response_errors, server.retries) == (1, 0, 3)
    assert (back.queue, back.queue_ms, back.response_ms, back.bytes_in, back.bytes_out) == (5, 41, 121, 2100, 3400)


def test_columns_are_found_by_name_and_quoted_fields_are_one() -> None:
    text = '# pxname,svname,last_chk,qcur,\nbe,BACKEND,"a, b",7,\n'
    assert haproxy.parse(text)[0].queue == 7


def test_a_line_that_is_cut_off_is_left_out() -> None:
    assert [line.server for line in haproxy.parse(TABLE[: TABLE.index("be,BACKEND") + 12])] == ["FRONTEND", "s1"]


def test_of_very_many_servers_frontends_and_backends_are_kept() -> None:
    rows = "".join(f"be,s{n},0,\n" for n in range(1000))
    found = haproxy.parse(f"# pxname,svname,qcur,\n{rows}be,BACKEND,3,\n")
    assert len(found) == haproxy.MOST_LINES
    assert (found[0].server, found[-1].server) == ("s0", "BACKEND")


@given(st.text())
def test_anything_is_a_table_or_a_parse_error(text: str) -> None:
    for table in (text, TABLE + text, TABLE[: len(text)], TABLE.split("\n", 1)[0] + "\n" + text):
        with contextlib.suppress(ParseError):
            haproxy.parse(table)


@pytest.mark.parametrize(
    ("status", "text", "said"),
    [
        (401, "", "USER:PASSWORD"),
        (503, "", "status 503"),
        (200, "<html>", "an HTML page"),
        (200, "hello\n", "not the table"),
    ],
)
def test_another_page_says_what_to_do(status: int, text: str, said: str) -> None:
    with pytest.raises(AbsentError, match=said):
        haproxy.parse_page(Page("http://web1/stats;csv", status, "text/html", text, 0.1))


@pytest.mark.parametrize(
    ("url", "asked", "address"),
    [
        ("http://web1:8404/stats", "http://web1:8404/stats;csv", None),
        ("http://web1:8404/stats;csv", "http://web1:8404/stats;csv", None),
        ("http://web1/haproxy?stats", "http://web1/haproxy?stats;csv", None),
        ("http://web1:8404/", "http://web1:8404/haproxy?stats;csv", None),
        ("unix:/run/haproxy/admin.sock", "unix:/run/haproxy/admin.sock", "/run/haproxy/admin.sock"),
        ("unix:///run/a.sock", "unix:///run/a.sock", "/run/a.sock"),
        ("/run/a.sock", "/run/a.sock", "/run/a.sock"),
        ("tcp://127.0.0.1:9999", "tcp://127.0.0.1:9999", "127.0.0.1:9999"),
        ("http://[::1/", "http://[::1/", None),
    ],
)
def test_pages_and_sockets(url: str, asked: str, address: str | None) -> None:
    assert haproxy.HaproxyCollector.status_url(url) == asked
    assert haproxy.socket_of(url) == address
