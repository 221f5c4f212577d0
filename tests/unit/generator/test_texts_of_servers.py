"""Texts of servers are short when they leave the generator's parsers, and reports of workers have a greatest length."""

from time import monotonic

import msgspec
import pytest

from loadtop.generator.aggregation import Report
from loadtop.generator.exchange import MAX_HEAD, MAX_SERVER_TEXT, ResponseParser
from loadtop.generator.pool import MAX_LINE
from loadtop.generator.request_log import VERBOSE_STATUSES, VerboseLog
from loadtop.model import GeneratorSample, LoadSample, LoadState


def head(server: bytes, body: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nServer: %b\r\nContent-Length: %d\r\n\r\n%b" % (server, len(body), body)


def parsed(data: bytes) -> ResponseParser:
    parser = ResponseParser(is_head=False)
    parser.feed(data)
    assert parser.complete
    return parser


@pytest.mark.parametrize("server", [b"x" * 40_000, b"a=" * 100_000, b"//@" * 60_000, b"\xe9" * 200_000])
def test_the_name_of_the_software_is_cut(server: bytes) -> None:
    name = parsed(head(server)).server
    assert 0 < len(name) <= MAX_SERVER_TEXT
    assert name == server.decode("latin-1")[:MAX_SERVER_TEXT].strip()


@pytest.mark.parametrize("byte", [b"\xe9", b"\x80", b"\\", b'"', b"\n", b"\x7f", b"a"])
def test_a_report_with_the_longest_text_of_v_fits_into_a_line(byte: bytes) -> None:
    log = VerboseLog(VERBOSE_STATUSES)
    parser = parsed(head(b"x", byte * (2 * MAX_HEAD)))
    for _ in range(400):
        log.add_response(parser)
    load = LoadSample(monotonic(), "builtin", LoadState.RUNNING, "closed", 1.0)
    report = Report(load, GeneratorSample((0.0,), 0.0), verbose_text=log.take())
    line = msgspec.json.encode(report)
    assert "responses left out" in report.verbose_text
    assert len(line) < MAX_LINE
