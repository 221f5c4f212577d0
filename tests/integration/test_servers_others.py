"""The tests' own php-fpm, HAProxy and sshd serve what they are asked to."""

import subprocess
import time
import urllib.request

import psutil
import pytest

from tests.servers.apache import ApacheFactory
from tests.servers.haproxy import HaproxyFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("tcp", [True, False])
def test_php_fpm_has_the_children_asked_for(php_fpm: FpmFactory, tcp: bool) -> None:
    pool = php_fpm(max_children=3, tcp=tcp)
    children = psutil.Process(pool.pid).children
    deadline = time.monotonic() + 10
    while len(children()) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(children()) == 3
    assert (pool.port is None) is not tcp


def test_haproxy_balances_and_counts(apache: ApacheFactory, haproxy: HaproxyFactory) -> None:
    web = [apache(pages={"index.html": name}) for name in ("one", "two")]
    balancer = haproxy([server.port for server in web], maxconn=2)
    bodies = {urllib.request.urlopen(balancer.url, timeout=5).read() for _ in range(4)}
    assert bodies == {b"one", b"two"}
    table = urllib.request.urlopen(balancer.stats_url + ";csv", timeout=5).read().decode()
    assert "be,BACKEND," in table


def test_sshd_lets_the_user_in(sshd: SshdFactory) -> None:
    server = sshd()
    find_program("ssh", install="apt-get install openssh-client")
    done = subprocess.run(
        [*server.command, "echo here"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20
    )
    assert done.stdout == "here\n", done.stderr


def test_a_missing_program_fails_with_what_to_install() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"needs no-such-server, .* not installed: apt-get install it"):
        find_program("no-such-server", install="apt-get install it")
