"""The tests' own Apache serves what it is asked to, and is gone afterwards."""

import ssl
import urllib.error
import urllib.request

import pytest

from tests.servers.apache import Apache, ApacheFactory, Mpm

pytestmark = pytest.mark.servers


def fetch(server: Apache, path: str = "") -> str:
    context = ssl.create_default_context(cafile=server.certificate) if server.certificate else None
    with urllib.request.urlopen(server.url + path, timeout=5, context=context) as response:
        body: bytes = response.read()
        return body.decode()


@pytest.mark.parametrize("mpm", ["prefork", "worker", "event"])
def test_has_the_workers_asked_for(apache: ApacheFactory, mpm: Mpm) -> None:
    server = apache(mpm=mpm, workers=6)
    status = dict(line.split(": ", 1) for line in fetch(server, "server-status?auto").splitlines() if ": " in line)
    assert status["ServerMPM"] == mpm
    assert len(status["Scoreboard"]) == 6


@pytest.mark.parametrize(("mpm", "php"), [("prefork", "mod"), ("event", "fpm")])
def test_runs_php(apache: ApacheFactory, mpm: Mpm, php: str) -> None:
    server = apache(mpm=mpm, php="mod" if php == "mod" else "fpm", pages={"sum.php": "<?= 40 + 2 ?>"})
    assert fetch(server, "sum.php") == "42"


def test_shows_the_state_of_its_php_fpm(apache: ApacheFactory) -> None:
    server = apache(php="fpm", fpm_children=3, pages={"index.php": "<?= 1 ?>"})
    assert "pool:                 www" in fetch(server, "fpm-status")


@pytest.mark.parametrize("mpm", ["prefork", "event"])
def test_runs_programs(apache: ApacheFactory, mpm: Mpm) -> None:
    program = "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\nran'\n"
    assert fetch(apache(mpm=mpm, pages={"run.cgi": program}), "run.cgi") == "ran"


def test_speaks_tls(apache: ApacheFactory) -> None:
    assert "works" in fetch(apache(tls=True))


def test_logs_requests_but_not_status_pages(apache: ApacheFactory) -> None:
    server = apache(pages={"a.html": b"12345"})
    for _ in range(3):
        fetch(server, "a.html")
    fetch(server, "server-status?auto")
    assert len(server.requests()) == 3
    assert {(entry.status, entry.body_bytes) for entry in server.logged()} == {(200, 5)}


def test_without_status_answers_not_found(apache: ApacheFactory) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(apache(status=False), "server-status")


def test_stopped_and_killed_servers_leave_no_process(apache: ApacheFactory) -> None:
    for end in (Apache.stop, Apache.kill):
        server = apache(mpm="prefork", workers=3)
        assert len(server.program.members()) == 4
        end(server)
        assert server.program.members() == []
