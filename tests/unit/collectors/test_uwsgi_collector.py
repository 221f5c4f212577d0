"""What uWSGI's stats server says, and where a uWSGI has one."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from collectors.config_files import View
from collectors.errors import AbsentError, ParseError
from collectors.machine import Page
from collectors.uwsgi.collector import parse, parse_page
from collectors.uwsgi.configuration import stats_servers
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.unit.collectors.fake_machine import FakeFiles

Status = Callable[[str], str]
ADDRESS = "127.0.0.1:9191"


@pytest.mark.parametrize("head", ["", "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"])
def test_an_answer(status: Status, head: str) -> None:
    found = parse(head + status("uwsgi-2.0.json"), ADDRESS)
    assert found == UwsgiStatus(
        address="127.0.0.1:46209", workers=2, threads=2, active=2, url=ADDRESS, version="2.0.21-debian", idle=0,
        cheap=2, requests=4, exceptions=0, sockets=("127.0.0.1:46209",),
    )  # fmt: skip
    assert (found.slots, found.started, found.full) == (4, 2, 50.0)
    assert "secret" not in str(found)


def test_without_cores_the_status_of_each_worker_counts() -> None:
    found = parse(json.dumps({"workers": [{"status": each} for each in ("busy", "idle", "cheap")]}))
    assert found == UwsgiStatus(workers=3, threads=1, active=1, idle=1, cheap=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        "{}",
        '{"workers": []}',
        '{"workers": {"id": 1}}',
        '{"workers": [1, null]}',
        '{"a":' * 5000,
        f'{{"workers": {"9" * 5000}}}',
    ],
)
def test_other_answers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
    with pytest.raises(AbsentError, match="--uwsgi ADDRESS"):
        parse_page(Page(ADDRESS, 200, text, 0.0))


@pytest.mark.parametrize("number", ["-1", "true", "1.5", '"x"', "null", "[[]]"])
def test_a_value_that_is_not_a_number_is_not_measured(number: str) -> None:
    text = f'{{"version": {number}, "sockets": [{{"name": {number}}}, 1], "workers": [{{"requests": {number}}}]}}'
    found = parse(text)
    assert replace(found, version="", address="", sockets=()) == UwsgiStatus(
        workers=1, threads=1, active=0, idle=1, cheap=0
    )


FILES = {
    "/etc/a.ini": "[uwsgi]\nstats = /run/%n/stats.sock\nname = b\nstats-server = %(name):9192\n",
    "/etc/b.yaml": "uwsgi:\n  stats: :9191\n",
    "/etc/c.json": '{"uwsgi": {\n"stats": "/run/c.sock",\n"workers": 2}}',
    "/etc/d.ini": "[uwsgi]\n; stats = 1:1\n#stats = 1:1\nsocket = :3031\nstats = @hidden\n",
    "/proc/7/cwd/e.ini": "stats=0.0.0.0:9193",
}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("--ini /etc/a.ini", [("/run/a/stats.sock", "b:9192")]),
        ("/etc/b.yaml:section --stats=/run/x.sock", [("/run/x.sock",), ("127.0.0.1:9191",)]),
        ("--json=/etc/c.json", [("/run/c.sock",)]),
        ("--ini /etc/d.ini", []),
        ("e.ini", [("127.0.0.1:9193",)]),
        ("--emperor /etc", [("/run/a/stats.sock", "b:9192")]),
        ("--master --stats 10.0.0.1:9191 --http :80", [("10.0.0.1:9191",)]),
        ("--stats /run/x.sock /run/y", [("/run/x.sock",)]),
        ("--stats", []),
        ("", []),
    ],
)
async def test_where_its_stats_servers_are(words: str, found: list[tuple[str, ...]]) -> None:
    view = View(FakeFiles(FILES), command=("uwsgi", *words.split()))
    assert await stats_servers(view, 7) == found
