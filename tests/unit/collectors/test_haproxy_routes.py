"""Where HAProxy sends requests: by its configuration, and by what its machine says of names."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from collectors import host_names as names
from collectors.config_files import Config
from collectors.haproxy.collector import KIND
from collectors.haproxy.configuration import place_of, routes
from collectors.machine import Endpoint, Machine, Missing, Wanted
from collectors.routing import Backends, Place, Router, accepted, reached
from collectors.under_test import configuration_of
from tests.unit.known import known

BALANCED = """defaults
    default_backend spare
frontend www
    bind *:80,[::]:8080
    use_backend api if { path_beg /api }
    default_backend shop
frontend old
    bind :81
frontend any
    bind :82
    use_backend %[req.hdr(host)]
listen own
    bind 10.0.0.1:83
    server o1 10.0.0.5
peers others
    server p1 10.0.0.9:1024
backend shop
    server s1 127.0.0.1:8001 check maxconn 10
    server s2 ipv4@localhost:8002 check
    server s3 unix@/run/s3.sock
backend api
    server a1 [::1]:8003
    server a2 /run/a2.sock
    server a3
backend spare
    server-template s 3 web2.example:8004 check
"""
SHOP = {"127.0.0.1:8001", "localhost:8002", "/run/s3.sock"}
API = {"::1:8003", "/run/a2.sock"}
SPARE = {"web2.example:8004"}


def config_of(text: str) -> Config:
    return Config(lines=text.splitlines(), files={"/h.cfg": text})


def told(place: Place) -> str:
    return place.socket or (f"{place.host}:{place.port}" if place.port else f"? {place.text}")


@pytest.mark.parametrize(
    ("port", "servers"),
    [
        (80, {*API, *SHOP}),
        (8080, {*API, *SHOP}),
        (81, SPARE),
        (82, {*SPARE, *API, *SHOP, "10.0.0.5:82"}),
        (83, {*SPARE, "10.0.0.5:83"}),
    ],
)
def test_what_requests_of_a_port_can_reach(port: int, servers: set[str]) -> None:
    found = [routes(config_of(BALANCED))]
    assert accepted(found, Place(port=port))
    assert set(map(told, reached(found, Place(port=port), port))) == servers


def test_an_unused_port() -> None:
    found = [routes(config_of(BALANCED))]
    assert not accepted(found, Place(port=84))
    assert not accepted(found, Place("10.0.0.2", 83))
    assert not accepted(found, Place(port=1024))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("10.0.0.1", "10.0.0.1:8000"),
        ("10.0.0.1:+1", "10.0.0.1:8001"),
        ("10.0.0.1:-1", "10.0.0.1:7999"),
        ("ipv6@::1:80", "::1:80"),
        ("[fe80::1]:80", "fe80::1:80"),
        ("*:80", ":80"),
        ("0.0.0.0:80", ":80"),
        ("tcp@web-1.example:80", "web-1.example:80"),
        ("unix@/run/a@b.sock", "/run/a@b.sock"),
        ("abns@inner", "@inner"),
        ("_http._tcp.example", "? _http._tcp.example"),
        ("${WEB}:80", "? ${WEB}:80"),
        ("fd@${FD}", "? fd@${FD}"),
        ("sockpair@3", "? sockpair@3"),
        ("", ":8000"),
    ],
)
def test_forms_of_addresses(text: str, expected: str) -> None:
    assert told(place_of(text).seen_from(8000)) == expected


def test_sockets_of_servers_are_below_the_chroot_and_those_of_bind_are_not() -> None:
    text = (
        "global\n chroot /var/lib/haproxy/\nfrontend a\n bind unix@/x.sock\n default_backend b\nbackend b\n server s /y"
    )
    found = [routes(config_of(text))]
    assert set(map(told, reached(found, Place(socket="/x.sock"), 80))) == {"/var/lib/haproxy/y"}


class Proxied:
    """A machine with one HAProxy of this configuration, these hosts, and a resolver that knows these names."""

    def __init__(self, config: str, hosts: str = "", **resolver: str) -> None:
        self._files: dict[str, str | Missing] = {
            "/proc/7/cmdline": "haproxy\0-f\0/h.cfg\0",
            "/h.cfg": config,
            names.HOSTS: hosts,
            "/proc/net/fib_trie": "     |-- 10.0.0.1\n        /32 host LOCAL\n",
            **{names.wanted(name.replace("_", ".")).path: f"{address}\n" for name, address in resolver.items()},
        }
        self.read: list[str] = []

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        paths = [file.path for file in files]
        self.read += paths
        return {path: self._files.get(path, Missing("no such file")) for path in paths}


async def backends(machine: Proxied, router: Router, port: int = 80) -> Backends | None:
    config = known(await configuration_of(cast("Machine", machine), KIND, 7))
    found = [routes(config)]
    return await router.backends(found, found, [], port)


def upstream(machine: Proxied, port: int = 80) -> Backends | None:
    return asyncio.run(backends(machine, Router(machine), port))


def test_names_are_those_of_the_machine() -> None:
    config = (
        "listen a\n bind :80\n server s1 web.local:8001\n server s2 shop.example:8002\n server s3 far.example:8003\n"
        " server-template t 2 pool.local:8004\n"
    )
    hosts = "10.0.0.1 me web.local # mine\n10.0.0.1 pool.local\n10.0.0.2 POOL.local\n"
    machine = Proxied(config, hosts, shop_example="127.0.0.1", far_example="10.0.0.9", web_local="10.0.0.8")
    assert upstream(machine) == Backends(
        frozenset((Endpoint("10.0.0.1", 8001), Endpoint("127.0.0.1", 8002), Endpoint("10.0.0.1", 8004)))
    )


def test_the_resolver_is_queried_once() -> None:
    machine = Proxied("listen a\n bind :80\n server s none.example:1\n server t none.example:2\n")
    router = Router(machine)

    async def twice() -> list[Backends | None]:
        return [await backends(machine, router), await backends(machine, router)]

    assert asyncio.run(twice()) == [Backends(unknown=("none.example:1", "none.example:2"))] * 2
    assert machine.read.count(names.wanted("none.example").path) == 1


def test_sockets_lead_to_frontends_of_haproxy() -> None:
    config = (
        "global\n chroot /jail\n"
        "frontend a\n bind :80\n default_backend b\n"
        "backend b\n server s1 unix@/in.sock send-proxy\n server s2 abns@in\n server s3 unix@/other.sock\n"
        "frontend in\n bind unix@/jail/in.sock\n default_backend c\n"
        "frontend in2\n bind abns@in\n bind 127.0.0.1:90\n default_backend d\n"
        "backend c\n server w 127.0.0.1:8001\n server back 127.0.0.1:90\n"
        "backend d\n server w 127.0.0.1:8002\n server round abns@in\n"
    )
    assert upstream(Proxied(config)) == Backends(
        frozenset((Endpoint("127.0.0.1", 8001), Endpoint("127.0.0.1", 8002))), ("unix@/other.sock",)
    )


def test_what_only_haproxy_knows_is_named() -> None:
    config = "listen a\n bind :80\n server s1 127.0.0.1:8001\n server-template t 1-3 _http._tcp.example resolvers dns\n"
    assert upstream(Proxied(config)) == Backends(frozenset((Endpoint("127.0.0.1", 8001),)), ("_http._tcp.example",))
    assert upstream(Proxied(config), 81) is None


def test_hosts() -> None:
    text = "127.0.0.1\tlocalhost\n::1 localhost ip6\n#10.0.0.1 x\nbad localhost\n10.0.0.1 A.b c # x\n"
    assert names.in_hosts(text, "localhost") == {"127.0.0.1", "::1"}
    assert names.in_hosts(text, "a.B") == {"10.0.0.1"}
    assert names.in_hosts(text, "x") == frozenset()


def test_this_machines_resolver(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "127.0.0.1\n" in str(names.resolved_here("127.0.0.1"))

    def refuse(*_: object, **__: object) -> list[object]:
        raise OSError

    monkeypatch.setattr("socket.getaddrinfo", refuse)
    assert names.resolved_here("web1") == names.UNKNOWN
