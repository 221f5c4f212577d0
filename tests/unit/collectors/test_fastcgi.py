"""php-fpm over FastCGI: where a URL leads, what is asked, and what comes back."""

import contextlib
import struct
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.errors import ParseError
from collectors.machine import Machine, Page
from collectors.php_fpm import status as fpm
from collectors.php_fpm.configuration import PoolConfig
from tests.unit.collectors.fake_machine import FakeMachine
from tests.unit.collectors.fake_machine import fastcgi_record as record
from tests.unit.collectors.instant import instantly


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


def test_an_answer_over_fastcgi() -> None:
    head, body = b"Status: 404 Not Found\r\nContent-Type: text/html\r\n\r\n", b"File not found.\n"
    answer = record(7, b"Primary script unknown", 2) + record(6, head) + record(6, body, 7) + record(3, bytes(8))
    assert fpm.parse_answer(answer) == (404, "File not found.\n")
    assert fpm.parse_answer(record(6, b"A: b\r\n\r\nx") + record(3, bytes(8))) == (200, "x")
    assert fpm.parse_answer(record(6, b"STATUS : 503\r\n\r\nStatus: 1") + record(3, bytes(8))) == (503, "Status: 1")


@instantly
async def test_the_first_path_that_has_a_page_is_taken() -> None:
    class Fpm(FakeMachine):
        async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002 - a Machine
            path = next(each for each in ("/a", "/b", "/c") if each.encode() in question)
            self.fetched.append(path)
            head = b"Status: 404\r\n" if path == "/a" else b"A: b\r\n"
            return record(6, head + b"\r\n" + path.encode()) + record(3, bytes(8))

    machine = Fpm()
    machine.pages["http://web1/s"] = "web"
    known = cast("Machine", machine)
    page = await fpm.fetch(known, "unix:/s", 1.0, ("/a", "/b", "/c"))
    assert (page.status, page.text, machine.fetched) == (200, "/b", ["/a", "/b"])
    assert (await fpm.fetch(known, "unix:/s;/a", 1.0)).status == 404
    assert (await fpm.fetch(known, "unix:/s", 1.0, ())) == Page("unix:/s", 404, "", 0.0)
    assert (await fpm.fetch(known, "http://web1/s", 1.0)).text == "web"


def test_an_answer_that_is_cut_off_or_none() -> None:
    with pytest.raises(ParseError, match="cut off"):
        fpm.parse_answer(record(6, b"A: b\r\n\r\nx"))
    with pytest.raises(ParseError, match="not a FastCGI response"):
        fpm.parse_answer(b"HTTP/1.1 400 Bad Request\r\n\r\n")


@given(st.binary(max_size=200))
def test_any_bytes_are_an_answer_or_a_parse_error(answer: bytes) -> None:
    with contextlib.suppress(ParseError):
        status, _ = fpm.parse_answer(answer)
        assert 0 <= status < 1000


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300))
def test_a_request_names_its_path(path: str) -> None:
    asked = fpm.request(path)
    assert path.encode() in asked
    assert asked.startswith(bytes([1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0]))
    assert asked.count(b"QUERY_STRINGjson") == 1


def test_a_request_is_that_of_a_web_server_here() -> None:
    asked = fpm.request("/st")
    records: list[tuple[int, bytes]] = []
    while asked:
        version, kind, number, length, padding = struct.unpack_from(">BBHHB", asked)
        assert (version, number, padding) == (1, 1, 0)
        records.append((kind, asked[8 : 8 + length]))
        asked = asked[8 + length :]
    assert [kind for kind, _ in records] == [1, 4, 4, 5]
    assert [content for _, content in records[2:]] == [b"", b""]
    assert pairs(records[1][1]) == {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "/st",
        "SCRIPT_FILENAME": "/st",
        "REQUEST_URI": "/st?json",
        "QUERY_STRING": "json",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "loadtop",
        "REMOTE_ADDR": "127.0.0.1",
    }


def pairs(content: bytes) -> dict[str, str]:
    """Names and values with lengths of four bytes each (FastCGI Specification 1.0, section 3.4)."""
    found: dict[str, str] = {}
    while content:
        name, value = (length & ~(1 << 31) for length in struct.unpack_from(">II", content))
        assert content[0] >> 7 == content[4] >> 7 == 1
        found[content[8 : 8 + name].decode()] = content[8 + name : 8 + name + value].decode()
        content = content[8 + name + value :]
    return found


@pytest.mark.parametrize(("said", "status"), [("999", 999), ("1000", 0), ("what", 0)])
def test_the_status_of_an_answer(said: str, status: int) -> None:
    assert fpm.parse_answer(record(6, f"Status: {said}\r\n\r\n".encode()) + record(3, b""))[0] == status


def test_invalid_bytes_are_replaced() -> None:
    assert fpm.parse_answer(record(6, b"A: b\r\n\r\n\xff") + record(3, b"")) == (200, "\ufffd")


@pytest.mark.parametrize("name", ["html", "xml", "openmetrics", "full"])
def test_a_page_is_requested_as_json(name: str) -> None:
    assert fpm.status_url(f"http://web1/st?{name}&a=b") == "http://web1/st?a=b&json"
    assert fpm.status_url("http://web1") == "http://web1/fpm-status?json"


@pytest.mark.parametrize(("text", "requests"), [('{"slow requests":[1]', None), ('{"slow requests":7', 7)])
def test_values_that_are_lists_are_left_out(text: str, requests: int | None) -> None:
    page = text + ',"pool":"www","process manager":"static","listen queue len":0}'
    assert (fpm.parse(page).slow_requests, fpm.parse(page).listen_queue_limit) == (requests, None)
