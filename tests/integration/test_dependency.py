"""Verdicts where the server's workers wait for another service, or for a file lock."""

from typing import Any

import pytest

from tests.loads.program import loadtop, summary_of
from tests.servers.apache import ApacheFactory
from tests.servers.nginx import NginxFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.program import server_directory
from tests.servers.service import PLACES, UNIX, ServiceFactory

pytestmark = [pytest.mark.servers, pytest.mark.quiet("requests must wait for the service, and not for the CPU")]

ASK = "<?= file_get_contents('http://127.0.0.1:{port}/') ?>"
LOCKING = "<?php $file = fopen(__DIR__ . '/lock', 'c'); flock($file, LOCK_EX); usleep(20000); ?>done"
SESSION = "<?php session_save_path(__DIR__); session_start(); usleep(20000); ?>done"
QUICK = ("--headless", "-q", "--no-record", "--json", "-", "-t", "3", "--interval", "0.5")
CLIENTS = 12
SERVED_S = 0.05  # the time of a question in a place of the service


def summary(url: str, *options: str) -> dict[str, Any]:
    done = loadtop(*QUICK, "-c", str(CLIENTS), *options, url)
    assert done.returncode == 0, done.stderr
    return summary_of(done.stdout)


@pytest.mark.parametrize(("places", "options"), [(1, ()), (64, ("--rate", "120"))])
def test_only_a_service_that_serves_one_after_the_other_is_the_dependency(
    nginx: NginxFactory, service: ServiceFactory, places: int, options: tuple[str, ...]
) -> None:
    asked = service(PLACES, places)
    place = f"127.0.0.1:{asked.port}"
    # A closed load on 64 places would run in step: a reading would see all of it or nothing.
    found = summary(nginx(proxy_pass=asked.url).url, "-t", "6", "--interval", "1", *options)
    verdict = found["verdict"]
    if places == 1:
        assert verdict["bottleneck"] == "dependency", verdict
        assert verdict["dependency"] == {"address": place, "kind": None}
        assert verdict["since_s"] <= 5
    else:
        assert verdict["bottleneck"] == "none", verdict
    (peer,) = found["hosts"][0]["dependencies"]
    assert peer["address"] == place
    there = CLIENTS if places == 1 else found["load"]["rps"] * SERVED_S  # Little's law
    assert peer["questions"]["mean"] == pytest.approx(there, rel=0.2)
    told = found["breakdown"]
    assert (told["parts"][0]["part"], told["parts"][0]["name"]) == ("dependency", place)
    each_ms = told["mean_ms"] if places == 1 else 1000 * SERVED_S
    assert told["parts"][0]["ms"] == pytest.approx(each_ms, rel=0.15)


@pytest.mark.parametrize(("places", "limit"), [(1, "dependency"), (64, "apache-workers")])
def test_a_full_pool_is_the_limit_only_before_a_service_as_fast_as_ever(
    apache: ApacheFactory, service: ServiceFactory, places: int, limit: str
) -> None:
    page = ASK.format(port=service(PLACES, places).port)
    found = summary(f"{apache(mpm='prefork', php='mod', workers=6, pages={'ask.php': page}).url}ask.php")
    assert found["verdict"]["bottleneck"] == limit, found["verdict"]


def test_workers_that_wait_for_one_file_are_the_lock(apache: ApacheFactory) -> None:
    server = apache(mpm="prefork", php="mod", workers=16, pages={"lock.php": LOCKING, "lock": ""})
    (server.directory / "pages" / "lock").chmod(0o666)
    verdict = summary(f"{server.url}lock.php")["verdict"]
    assert verdict["bottleneck"] == "lock", verdict
    assert verdict["lock"]["kind"] == "flock"
    locked = server.directory / "pages" / "lock"
    assert (verdict["lock"]["inode"], verdict["lock"]["path"]) == (locked.stat().st_ino, str(locked))


def test_requests_of_one_php_session_wait_for_its_lock(nginx: NginxFactory, php_fpm: FpmFactory) -> None:
    pool = php_fpm(max_children=6)
    server = nginx(fastcgi_pass=pool, pages={"session.php": SESSION})
    (server.directory / "pages").chmod(0o777)  # sessions are files beside the page
    verdict = summary(f"{server.url}session.php", "-C", "PHPSESSID=one")["verdict"]
    assert verdict["bottleneck"] == "lock", verdict
    assert verdict["lock"]["path"] == str(server.directory / "pages" / "sess_***")
    assert "Call session_write_close()" in verdict["advice"]


ASK_UNIX = """<?php
$there = stream_socket_client('unix://{path}');
fwrite($there, "GET / HTTP/1.0\\r\\n\\r\\n");
echo stream_get_contents($there);"""


def test_a_service_behind_a_unix_socket_is_a_dependency_by_its_path(
    apache: ApacheFactory, service: ServiceFactory
) -> None:
    with server_directory() as directory:
        path = str(directory / "app.sock")
        service(UNIX, path, 1)
        page = {"ask.php": ASK_UNIX.format(path=path)}
        found = summary(f"{apache(mpm='prefork', php='mod', workers=16, pages=page).url}ask.php")
    verdict, told = found["verdict"], found["breakdown"]
    assert verdict["bottleneck"] == "dependency", verdict
    assert verdict["dependency"] == {"address": path, "kind": None}
    assert (told["parts"][0]["part"], told["parts"][0]["name"]) == ("dependency", path)
    assert told["parts"][0]["ms"] == pytest.approx(told["mean_ms"], rel=0.15)
