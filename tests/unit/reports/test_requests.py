"""Slow and failed requests as texts."""

from math import inf, nan

import pytest
from msgspec.structs import replace

from loadtop.i18n import Message
from loadtop.model import LoadSample, RequestRecord, Requests
from loadtop.reports import requests
from tests.unit.known import known
from tests.unit.recording.made import moments

SLOW = RequestRecord(1_800_000_000.125, "GET", "http://web1/", 1203.42, 0.1, 0.0, 1200.0, 3.3, 200)
FAILED = replace(SLOW, status=None, failure="receive", reason=Message("refused"), total_ms=0.2, waiting_ms=None)


@pytest.fixture
def load() -> LoadSample:
    return known(moments(3)[-1].load)


def test_the_report_is_short_and_names_the_url_once_if_it_is_always_the_same(load: LoadSample) -> None:
    many = replace(load, noted=Requests((SLOW,) * 20, ()))
    lines = list(requests.lines(many, requests.SHORT))
    assert len(lines) == 2 + requests.SHORT
    assert len(list(requests.lines(many))) == 2 + 20
    assert lines[2].split() == ["08:00:00.125", "1,203", "0.10", "0", "1,200", "3.3", "200"]
    other = replace(SLOW, url="http://web1/other")
    assert len(list(requests.lines(replace(load, noted=Requests((SLOW, other), ()))))) == 2 + 2 * 2


def test_a_failure_shows_time_request_and_reason(load: LoadSample) -> None:
    _, first, reason = requests.lines(replace(load, noted=Requests((), (FAILED,))))
    assert first == "  08:00:00.125 receive  after 0.20 ms  GET http://web1/"
    assert reason == "    refused"
    ((kind, called, began, after, why),) = requests.failure_rows(replace(load, noted=Requests((), (FAILED,))))
    assert (kind, called, began, after, why) == ("receive", "GET http://web1/", "08:00:00.125", "0.20", "refused")


def test_kept_heads_are_reported(load: LoadSample) -> None:
    told = replace(SLOW, request_head="GET / HTTP/1.1\nHost: web1", response_head="HTTP/1.1 200 OK")
    noted = replace(load, noted=Requests((told, SLOW), ()))
    assert requests.head_rows(noted) == [("08:00:00.125", "200", "> GET / HTTP/1.1; > Host: web1; < HTTP/1.1 200 OK")]


@pytest.mark.parametrize("number", [inf, -inf, nan, 1e300])
def test_impossible_numbers_of_a_recording_are_shown_somehow(number: float, load: LoadSample) -> None:
    record = replace(SLOW, started=number, total_ms=number, waiting_ms=number)
    noted = replace(load, noted=Requests((record,) * 1000, (record,) * 1000))
    assert list(requests.lines(noted))
    assert len(requests.slowest_rows(noted)) == 20


def test_an_engine_that_does_not_tell_has_no_lines(load: LoadSample) -> None:
    assert list(requests.lines(replace(load, noted=None))) == []
    assert list(requests.lines(None)) == []
