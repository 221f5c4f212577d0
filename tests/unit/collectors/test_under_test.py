"""Which of several servers is under test, from where they listen and what they ask."""

from collectors.apache.collector import KIND
from collectors.apache.configuration import fastcgi_addresses
from collectors.config_files import Config
from collectors.machine import Endpoint
from collectors.places import behind, serving
from collectors.under_test import Server, not_asked, note

NOTHING = Config()


def at(*places: tuple[str, int], own_network: bool = False) -> Server:
    return Server(KIND, tuple(Endpoint(*place) for place in places), NOTHING, own_network)


def places(*each: tuple[tuple[str, int], ...]) -> dict[int, tuple[Endpoint, ...]]:
    return {pid: tuple(Endpoint(*place) for place in listened) for pid, listened in enumerate(each, 1)}


def test_the_one_that_listens_at_the_port_is_under_test() -> None:
    found = places((("::", 80), ("::", 443)), (("127.0.0.1", 8080),), (("::", 9000),))
    assert serving(found, "http://web1/") == {1}
    assert serving(found, "https://web1/") == {1}
    assert serving(found, "http://127.0.0.1:8080/x") == {2}


def test_of_two_at_the_same_port_the_address_decides() -> None:
    found = places((("10.0.0.1", 80),), (("10.0.0.2", 80),), (("::", 81),))
    assert serving(found, "http://10.0.0.2/") == {2}
    assert serving(found, "http://web1/") == {1, 2}


def test_none_is_under_test_where_no_one_listens_there() -> None:
    """The load goes through a proxy, or where they listen cannot be read."""
    assert serving(places((("::", 81),), ()), "http://web1/") == frozenset()
    assert serving(places((("::", 80),), ()), "http://web1/") == {1}


def test_those_behind_a_proxy() -> None:
    found = places((("::", 8081),), (("127.0.0.1", 8082),), (("::1", 8083),), (("10.0.0.1", 8084),), ())
    asked = [Endpoint("127.0.0.1", 8081), Endpoint("127.0.0.1", 8082), Endpoint("::1", 8083)]
    assert behind(found, asked) == {1, 2, 3}
    assert behind(found, [Endpoint("127.0.0.1", 8084)]) == frozenset()
    assert behind(found, [Endpoint("10.0.0.1", 8084), Endpoint("10.0.0.1", 8082)]) == {4}


def test_the_note_is_about_servers_that_hide_and_not_about_containers() -> None:
    assert note({1: at()}) is note({1: at(("::", 80)), 2: at()}, hidden=False) is None
    assert note({1: at(("::", 80)), 2: at(own_network=True)}) is None
    assert "only root can see" in str(note({1: at(("::", 80)), 2: at()}))


def test_the_note_names_a_server_of_the_proxy_that_is_nowhere() -> None:
    found = {1: at(("::", 80)), 2: at(("::", 81))}
    assert note(found, ()) is None
    assert "the address of 'web\\x1b:80', behind the proxy, is unknown" in str(note(found, ("web\x1b:80", "x:1")))
    assert note({1: at(("::", 80))}, ("x:1",)) is None


POOLS = {7: frozenset({"/run/php/www.sock"}), 8: frozenset({"/run/php/shop.sock", "9001"}), 9: frozenset[str]()}


def named(*lines: str) -> frozenset[str] | None:
    config = Config(lines=list(lines), files={"/a": "\n".join(lines)})
    return fastcgi_addresses(config)


def test_pools_that_the_server_asks() -> None:
    unix = named('SetHandler "proxy:unix:/run/php/www.sock|fcgi://localhost"')
    assert not_asked(POOLS, [unix]) == {8, 9}
    port = named("ProxyPassMatch ^/(.*[.]php)$ fcgi://127.0.0.1:9001/var/www/$1")
    assert not_asked(POOLS, [port]) == {7, 9}
    assert not_asked(POOLS, [unix, port]) == {9}


def test_a_process_whose_pools_are_not_known_may_have_what_belongs_to_no_other() -> None:
    lines = ('SetHandler "proxy:unix:/run/php/www.sock|fcgi://localhost"', "ProxyPass / fcgi://127.0.0.1:9002/")
    assert not_asked(POOLS, [named(*lines)]) == {8}


def test_a_server_that_names_no_pool_says_nothing() -> None:
    """Its pool is set in a file that loadtop does not read, such as .htaccess, or is on another machine."""
    loads = "LoadModule proxy_fcgi_module modules/mod_proxy_fcgi.so"
    assert not_asked(POOLS, [named(loads, "DocumentRoot /var/www")]) == frozenset()
    assert not_asked(POOLS, [named("ProxyPass / fcgi://10.0.0.9:9000/")]) == frozenset()


def test_a_server_that_cannot_speak_to_a_pool_asks_none() -> None:
    module = named("LoadModule php_module modules/libphp.so", "DocumentRoot /var/www")
    assert not_asked(POOLS, [module]) == {7, 8, 9}
    assert not_asked(POOLS, [named()]) == frozenset(), "its configuration could not be read"
    unix = named('SetHandler "proxy:unix:/run/php/www.sock|fcgi://localhost"')
    assert not_asked(POOLS, [module, unix]) == {8, 9}, "another one does"
