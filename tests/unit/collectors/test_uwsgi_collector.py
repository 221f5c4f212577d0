"""What uWSGI's stats server says, and where a uWSGI has one."""

import json

import pytest
from msgspec.structs import replace

from collectors.config_files import View
from collectors.errors import AbsentError, ParseError
from collectors.machine import Page
from collectors.uwsgi.collector import UwsgiCollector, parse, parse_page
from collectors.uwsgi.configuration import stats_servers
from loadtop.model import Listener
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.unit.collectors.fake_machine import FakeFiles, FakeMachine, collector_of
from tests.unit.collectors.instant import instantly
from tests.unit.collectors.texts import status
from tests.unit.known import known as known_to_be

ADDRESS = "127.0.0.1:9191"


@pytest.mark.parametrize("head", ["", "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"])
def test_an_answer(head: str) -> None:
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
        ("e.ini --emperor .", [("127.0.0.1:9193",)]),
        ("--emperor /etc", [("/run/a/stats.sock", "b:9192"), ("127.0.0.1:9191",), ("/run/c.sock",)]),
        ("--master --stats 10.0.0.1:9191 --http :80", [("10.0.0.1:9191",)]),
        ("--stats /run/x.sock /run/y", [("/run/x.sock",)]),
        ("--stats", []),
        ("", []),
    ],
)
async def test_where_its_stats_servers_are(words: str, found: list[tuple[str, ...]]) -> None:
    view = View(FakeFiles(FILES), command=("uwsgi", *words.split()))
    assert await stats_servers(view, 7) == found


@pytest.mark.parametrize("foreign", [True, False])
async def test_without_a_stats_server_it_says_whose_configuration_was_read(foreign: bool) -> None:
    view = View(FakeFiles({}), command=("uwsgi",), foreign=foreign)
    ((_, missing),) = await collector_of(UwsgiCollector, FakeMachine()).candidates_of(7, view, ())
    assert ("it is another user's: its configuration is not read" in str(known_to_be(missing).message)) is foreign


@instantly
async def test_its_queue_is_the_kernels() -> None:
    machine = FakeMachine()
    machine.httpd = {7: (), 8: ()}
    machine.files |= {"/proc/self/ns/": "net:[1]\n", "/proc/7/ns/": "net:[1]\n", "/proc/8/ns/": "net:[2]\n"}
    machine.files["/proc/7/cmdline"] = machine.files["/proc/8/cmdline"] = f"uwsgi\0--stats\0{ADDRESS}"
    sockets = [{"name": f"127.0.0.1:{port}"} for port in (80, 81, 82)]
    machine.answers[ADDRESS] = json.dumps({"workers": [{"cores": [{}] * 3}, {}], "sockets": sockets}).encode()
    machine.listeners = (Listener(80, 2), Listener(81, 3))
    collector = collector_of(UwsgiCollector, machine)
    found = await collector.candidates((7, 8))
    assert [addresses for addresses, _ in found] == [(ADDRESS,), ()]
    assert "with its own network" in str(known_to_be(found[1][1]).message)
    await collector.search_pages((7,))
    collector.ask()
    (status,), _, seconds = collector.read(await machine.sample(), 0.0)
    assert (status.listen_queue, status.threads, seconds < 60) == (5, 2, True)
    await collector.close()
