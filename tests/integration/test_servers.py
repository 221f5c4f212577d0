"""The tests' own servers: what the other tests take for granted."""

import urllib.request
from collections.abc import Callable

import pytest

from tests.loads.program import wait_until
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.program import find_program

pytestmark = pytest.mark.servers


def test_apache_logs_requests_but_not_status_pages(apache: ApacheFactory) -> None:
    server = apache(pages={"a.html": b"12345"})
    for page in ("a.html", "a.html", "a.html", "server-status?auto"):
        with urllib.request.urlopen(server.url + page, timeout=5) as response:
            response.read()
    assert len(server.requests()) == 3
    assert {(entry.status, entry.body_bytes) for entry in server.logged()} == {(200, 5)}


@pytest.mark.parametrize("end", [Apache.stop, Apache.kill])
def test_stopped_and_killed_servers_leave_no_process(apache: ApacheFactory, end: Callable[[Apache], None]) -> None:
    server = apache(mpm="prefork", workers=3)
    assert wait_until(lambda: len(server.program.members()) == 4)
    end(server)
    assert server.program.members() == []


def test_a_missing_program_fails_and_names_the_package() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"needs no-such-server, .* not installed: apt-get install it"):
        find_program("no-such-server", install="apt-get install it")
