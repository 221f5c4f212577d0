"""Verdicts where a service of no known kind is loaded, or serves behind what is, and other servers idle beside it."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from loadtop.cli.demo.apache import find_apache
from loadtop.generator.worker import DRAIN_S
from tests.loads.program import loadtop, summary_of
from tests.servers.apache import ApacheFactory, proxying
from tests.servers.haproxy import HaproxyFactory
from tests.servers.nginx import NginxFactory
from tests.servers.program import Program
from tests.servers.service import BURNING, FORWARDING, OVERFLOWING, ServiceFactory
from tests.servers.sshd import SshdFactory, put_ssh

pytestmark = pytest.mark.servers
fills_a_core = pytest.mark.alone("a service fills one core, and the others must be idle")
waits = pytest.mark.quiet("requests must wait for a worker, and not for the CPU")

SLOW = '#!/bin/sh\nsleep 0.2\nprintf "Content-Type: text/plain\\n\\nok\\n"\n'
CLIENTS = 8
QUICK = ("--headless", "-q", "--no-record", "--json", "-", "-t", "5", "--interval", "1")
AS_NOBODY = 'ForceCommand exec setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "$SSH_ORIGINAL_COMMAND"'
OWN_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$0" "$@"')


def summary(url: str, *options: str, clients: int = CLIENTS) -> dict[str, Any]:
    """What loadtop says of a load on a URL, as a program beside the server."""
    done = loadtop(*QUICK, "-c", str(clients), *options, url)
    assert done.returncode == 0, done.stderr
    return summary_of(done.stdout)


def told(found: dict[str, Any]) -> tuple[str, str]:
    return found["verdict"]["bottleneck"], found["verdict"]["advice"]


def groups(found: dict[str, Any]) -> set[str]:
    return {each["group"] for each in found["hosts"][0]["processes"]["groups"]}


@pytest.fixture
def hidden_apache(servers: contextlib.ExitStack, apache: ApacheFactory) -> Callable[[], Program]:
    """Starts an Apache in a network namespace of its own, where its page cannot be reached."""

    def start() -> Program:
        found, known = find_apache(), apache(workers=4)
        assert found is not None
        known.stop()
        command = [found.binary, "-d", str(known.directory), "-f", f"{known.directory}/httpd.conf", "-DFOREGROUND"]
        program = servers.enter_context(Program(command, log=known.directory / "hidden", launcher=OWN_NETWORK))
        program.wait_until((known.directory / "httpd.pid").exists)
        return program

    return start


@fills_a_core
@pytest.mark.parametrize("beside", [(), ("apache", "nginx", "haproxy", "hidden")])
def test_a_service_that_fills_its_core_is_named_whatever_idles_beside_it(
    service: ServiceFactory,
    apache: ApacheFactory,
    nginx: NginxFactory,
    haproxy: HaproxyFactory,
    hidden_apache: Callable[[], Program],
    beside: Sequence[str],
) -> None:
    """Also beside an Apache in another network namespace, whose page cannot be fetched."""
    loaded = service(BURNING, 0)
    if "apache" in beside:
        apache(workers=4)
    if "hidden" in beside:
        hidden_apache()
    if "nginx" in beside:
        nginx()
        haproxy([loaded.port + 1])
    found = summary(loaded.url)
    verdict, advice = told(found)
    assert (verdict, f"(pid {loaded.pid})" in advice) == ("cpu-core", True), found["verdict"]


@fills_a_core
def test_an_idle_web_server_beside_a_service_whose_sockets_are_hidden(
    service: ServiceFactory, apache: ApacheFactory, sshd: SshdFactory, tmp_path: Path
) -> None:
    """Over SSH as a user who may see whose sockets these are of neither."""
    loaded = service(BURNING, 0)
    apache(workers=4)
    far = sshd(extra=AS_NOBODY)
    options = (*QUICK, "-t", "8", "-c", str(CLIENTS), "--host", f"web=ssh://{far.alias}")
    done = loadtop(*options, loaded.url, env=put_ssh(tmp_path, far.config))
    assert done.returncode == 0, done.stderr
    verdict, advice = told(summary_of(done.stdout))
    assert (verdict, f"(pid {loaded.pid})" in advice) == ("cpu-core", True), summary_of(done.stdout)["timeline"]


@fills_a_core
@pytest.mark.parametrize("before", ["apache", "nginx"])
def test_a_service_behind_a_web_server_is_named(
    service: ServiceFactory, apache: ApacheFactory, nginx: NginxFactory, before: str
) -> None:
    behind = service(BURNING, 0)
    server = apache(workers=32, extra=proxying(behind.url)) if before == "apache" else nginx(proxy_pass=behind.url[:-1])
    found = summary(server.url)
    verdict, advice = told(found)
    assert (verdict, f"(pid {behind.pid})" in advice) == ("cpu-core", True), found["verdict"]
    assert "service" in groups(found)


@waits
def test_the_pool_behind_an_unknown_proxy_is_full(service: ServiceFactory, apache: ApacheFactory) -> None:
    pool = apache(mpm="prefork", workers=3, pages={"slow.cgi": SLOW}, keepalive_s=0)
    # Beside other tests, it may take seconds until Apache has started its workers.
    found = summary(f"{service(FORWARDING, pool.port).url}slow.cgi", clients=12)
    assert told(found)[0] == "apache-workers", found["verdict"]
    assert {"httpd", "service"} <= groups(found)


@waits
def test_a_service_whose_queue_overflows_stays_that(
    service: ServiceFactory, hidden_apache: Callable[[], Program]
) -> None:
    hidden_apache()
    found = summary(service(OVERFLOWING).url, clients=20)
    assert told(found)[0] == "listen-queue", found["verdict"]
    # Connections that the kernel tries again after 1, 3 and 7 s do not make the load longer than it is to be (-t 5).
    assert 5.0 <= found["duration_s"] < 5.0 + DRAIN_S + 0.5
    assert found["load"]["pending"] > 0
