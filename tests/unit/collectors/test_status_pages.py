"""Status pages of php-fpm, HAProxy and nginx, pages in the place of any, and the URLs that are asked for."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.apache import collector as apache
from collectors.errors import AbsentError, FetchError, ParseError
from collectors.haproxy import collector as haproxy
from collectors.linux import unix_sockets
from collectors.machine import Page, without_credentials
from collectors.nginx import collector as nginx
from collectors.php_fpm import status as fpm
from collectors.places import origin_of
from collectors.transport.exchange import exchange
from collectors.transport.status_client import is_loopback
from loadtop.servers.nginx.record import NginxStatus
from tests.unit.collectors.texts import status

Status = Callable[[str], str]
COUNT = st.integers(0, 2**63 - 1)
URLS: dict[str, Callable[[str], str]] = {
    "apache": apache.ApacheCollector.status_url,
    "fpm": fpm.status_url,
    "haproxy": haproxy.HaproxyCollector.status_url,
    "nginx": nginx.NginxCollector.status_url,
}
PAGES: dict[str, Callable[[Page], object]] = {
    "apache": apache.parse_page,
    "fpm": fpm.parse_page,
    "haproxy": haproxy.parse_page,
    "nginx": nginx.parse_page,
}


@pytest.mark.parametrize("name", ["fpm-8.2.json", "fpm-8.2.txt"])
def test_both_forms_of_php_fpm_tell_the_same(name: str) -> None:
    pool = fpm.parse(status(name), 0.25)
    assert (pool.pool, pool.manager, pool.uptime_s, pool.accepted) == ("api", "static", 61, 17)
    assert (pool.listen_queue, pool.listen_queue_limit) == (3, 4096)
    assert (pool.idle, pool.active, pool.total, pool.max_children_reached, pool.slow_requests) == (0, 2, 2, 1, 0)
    assert (pool.max_children, pool.fetch_s) == (None, 0.25)
    assert fpm.parse(status(name).replace("4096", "0")).listen_queue_limit is None


def test_figures_of_php_fpm_that_are_none_are_none() -> None:
    pool = fpm.parse('{"pool":"a","process manager":"static","accepted conn":-1,"idle processes":"x"}')
    assert (pool.accepted, pool.idle, pool.active, pool.slow_requests) == (None, None, None, None)


def test_a_table_of_haproxy() -> None:
    text = status("haproxy-2.6.csv")
    front, server, back = haproxy.parse(text)
    assert (front.proxy, front.server, front.status, front.queue, front.sessions) == ("fe", "FRONTEND", "OPEN", None, 3)
    assert (front.session_limit, front.sessions_total, front.requests_total, front.http_5xx) == (1000, 17, 17, 2)
    assert (server.server, server.queue, server.queue_limit, server.session_limit) == ("s1", 1, 10, 2)
    assert (server.connect_errors, server.response_errors, server.retries) == (1, 0, 3)
    assert (back.queue, back.queue_ms, back.response_ms, back.bytes_in, back.bytes_out) == (5, 41, 121, 2100, 3400)
    cut = text[: text.index("be,BACKEND") + 12]
    assert [line.server for line in haproxy.parse(cut)] == ["FRONTEND", "s1"]
    assert haproxy.parse('# pxname,svname,last_chk,qcur,\nbe,BACKEND,"a, b",7,\n')[0].queue == 7


def test_of_very_many_servers_frontends_and_backends_are_kept() -> None:
    rows = "".join(f"be,s{n},0,\n" for n in range(1000))
    found = haproxy.parse(f"# pxname,svname,qcur,\n{rows}be,BACKEND,3,\n")
    assert len(found) == haproxy.MOST_LINES
    assert (found[0].server, found[-1].server) == ("s0", "BACKEND")


@given(st.tuples(*[COUNT] * 7), st.sampled_from(["\n", "\r\n"]))
def test_every_page_of_nginx_is_read(counts: tuple[int, ...], end: str) -> None:
    """As nginx 1.22 prints it (ngx_http_stub_status_handler), and with the line ends of another system."""
    active, accepts, handled, requests, reading, writing, waiting = counts
    text = (
        f"Active connections: {active} \nserver accepts handled requests\n {accepts} {handled} {requests} \n"
        f"Reading: {reading} Writing: {writing} Waiting: {waiting} \n"
    )
    found = nginx.parse(text.replace("\n", end), "http://web1/nginx_status")
    assert found == NginxStatus(
        "http://web1/nginx_status", active, reading, writing, waiting, accepts, handled, requests
    )
    assert (found.key, found.capacity, found.full) == ("http://web1/nginx_status", None, None)


def test_a_page_of_tengine_has_times_of_requests() -> None:
    assert nginx.parse(status("tengine.txt")) == NginxStatus("", 1, 0, 1, 0, 7, 7, 9)


@pytest.mark.parametrize("count", ["-1", "9" * 30, str(2**63), "\u0663", " " * 1_000_000])
def test_not_a_count_of_nginx(count: str) -> None:
    with pytest.raises(ParseError):
        nginx.parse(status("nginx-1.22.txt").replace("291", count))


@pytest.mark.parametrize("name", ["", "2.4.71-event.txt", "2.4.62-prefork.html", "fpm-8.2.txt"])
def test_other_pages_are_none_of_nginx(name: str) -> None:
    for text in (status(name) if name else "", "<html>Active connections: 1</html>", status("nginx-1.22.txt")[:-3]):
        with pytest.raises(ParseError):
            nginx.parse(text)


def test_the_queue_of_a_unix_socket_holds_unaccepted_connections() -> None:
    queues = {"/run/php/fpm.sock": 2, "/run/with a space": 0, "@abstract": 0}
    assert unix_sockets.parse_unix(status("unix-sockets.txt")) == queues


@pytest.mark.parametrize("table", ["no table\n", "Num RefCount\n1: 2 3 nonsense 5 6 7 /x\n"])
def test_anything_but_a_table_of_unix_sockets_is_reported(table: str) -> None:
    with pytest.raises(ParseError, match="/proc/net/unix"):
        unix_sockets.parse_unix(table)


@pytest.mark.parametrize(
    ("kind", "code", "text", "said", "fix"),
    [
        ("apache", 404, "", "a2enmod status", None),
        ("apache", 403, "", "Require local", apache.FIX),
        ("apache", 401, "", "not permitted", None),
        ("apache", 302, "", "--apache URL", None),
        ("apache", 500, "", "answers with status 500", None),
        ("fpm", 403, "", "Require local", None),
        ("fpm", 404, "File not found.\n", "page not found (404)", fpm.FIX),
        ("fpm", 502, "", "status 502", None),
        ("fpm", 200, "<html>", "not the status page", None),
        ("fpm", 200, "[1]", "not the status page", None),
        ("fpm", 200, '{"pool"', "cut off", None),
        ("haproxy", 401, "", "USER:PASSWORD", None),
        ("haproxy", 503, "", "status 503", None),
        ("haproxy", 200, "<html>", "an HTML page", None),
        ("haproxy", 200, "hello\n", "not HAProxy's statistics", None),
        ("nginx", 200, "<html>", "not the text of stub_status", nginx.FIX),
        ("nginx", 401, "", "not permitted (401)", nginx.FIX),
        ("nginx", 403, "", "allow ADDRESS;", nginx.FIX),
        ("nginx", 404, "", "page not found (404)", nginx.FIX),
        ("nginx", 301, "", "--nginx URL", ""),
        ("nginx", 503, "", "status 503", ""),
    ],
)
def test_another_page_comes_with_advice(kind: str, code: int, text: str, said: str, fix: str | None) -> None:
    with pytest.raises(AbsentError) as raised:
        PAGES[kind](Page("http://web1/status", code, text, 0.1))
    assert said in str(raised.value)
    assert fix is None or raised.value.fix == fix


@pytest.mark.parametrize(
    ("kind", "given", "asked"),
    [
        ("apache", "http://web1/server-status?auto", "http://web1/server-status?auto"),
        ("apache", "http://web1/server-status", "http://web1/server-status?auto"),
        ("apache", "http://web1/status?a=b", "http://web1/status?a=b&auto"),
        ("apache", "http://web1:8080", "http://web1:8080/server-status?auto"),
        ("apache", "web1:8080/st", "http://web1:8080/st?auto"),
        ("apache", "https://u:p@web1/#top", "https://u:p@web1/server-status?auto"),
        ("fpm", "http://web1/status", "http://web1/status?json"),
        ("fpm", "http://web1/status?full&html", "http://web1/status?json"),
        ("fpm", "https://web1", "https://web1/fpm-status?json"),
        ("fpm", "http://web1/s?json", "http://web1/s?json"),
        ("fpm", "unix:/run/php/a.sock;/status", "unix:/run/php/a.sock;/status"),
        ("haproxy", "http://web1:8404/stats", "http://web1:8404/stats;csv"),
        ("haproxy", "http://web1:8404/stats;csv", "http://web1:8404/stats;csv"),
        ("haproxy", "http://web1/haproxy?stats", "http://web1/haproxy?stats;csv"),
        ("haproxy", "http://web1:8404/", "http://web1:8404/haproxy?stats;csv"),
        ("haproxy", "unix:/run/haproxy/admin.sock", "unix:/run/haproxy/admin.sock"),
        ("haproxy", "tcp://127.0.0.1:9999", "tcp://127.0.0.1:9999"),
        ("nginx", "http://web1", "http://web1/nginx_status"),
        ("nginx", "http://web1:8080/", "http://web1:8080/nginx_status"),
        ("nginx", "http://web1/basic_status", "http://web1/basic_status"),
        ("nginx", "http://web1/s?a=b#c", "http://web1/s?a=b"),
        ("nginx", "web1:8080", "http://web1:8080/nginx_status"),
        *((kind, "http://u:secret@[::1/", "http://u:secret@[::1/") for kind in URLS),
    ],
)
def test_the_requested_url(kind: str, given: str, asked: str) -> None:
    assert URLS[kind](given) == asked


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("unix:/run/haproxy/admin.sock", "/run/haproxy/admin.sock"),
        ("unix:///run/a.sock", "/run/a.sock"),
        ("/run/a.sock", "/run/a.sock"),
        ("tcp://127.0.0.1:9999", "127.0.0.1:9999"),
        ("http://web1:8404/stats", None),
    ],
)
def test_sockets_of_haproxy(url: str, address: str | None) -> None:
    assert haproxy.socket_of(url) == address


@pytest.mark.parametrize("address", ["a..b:6379", ".a:6379", f"{'a' * 64}:6379", "a:0", "a:65536", "a"])
async def test_a_name_that_cannot_be_resolved_is_no_address(address: str) -> None:
    with pytest.raises(FetchError, match="not an address"):
        await exchange(address, b"", 1.0)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.8.7", "::1", "web1", "127.example", "10.0.0.1"])
def test_certificates_are_checked_unless_the_host_is_this_machine(host: str) -> None:
    assert is_loopback(host) is (host in ("localhost", "127.0.0.1", "127.9.8.7", "::1"))


def test_only_urls_are_shown_and_a_target_is_its_origin() -> None:
    assert without_credentials("http://u:secret@[::1/") == "(not a URL)"
    assert origin_of("https://u:p@[::1]:8443/app/x.php?q=1") == "https://[::1]:8443"
