"""Which of several servers is under test, from where they listen and what they ask."""

from collectors.config_files import Config
from collectors.fpm_config import PoolConfig
from collectors.machine import Endpoint
from collectors.tested import Server, not_asked, note, others

NOTHING = Config((), lambda _: None)


def at(*places: tuple[str, int], apart: bool = False) -> Server:
    return Server(tuple(Endpoint(*place) for place in places), NOTHING, apart)


def test_the_one_that_listens_at_the_port_is_under_test() -> None:
    servers = {1: at(("::", 80), ("::", 443)), 2: at(("127.0.0.1", 8080)), 3: at(("::", 9000))}
    assert others(servers, "http://web1/") == {2, 3}
    assert others(servers, "https://web1/") == {2, 3}
    assert others(servers, "http://127.0.0.1:8080/x") == {1, 3}


def test_of_two_at_the_same_port_the_address_decides() -> None:
    servers = {1: at(("10.0.0.1", 80)), 2: at(("10.0.0.2", 80)), 3: at(("::", 81))}
    assert others(servers, "http://10.0.0.2/") == {1, 3}
    assert others(servers, "http://web1/") == {3}


def test_nobody_is_set_aside_where_nobody_listens_there() -> None:
    """The load goes through a proxy, or where they listen may not be read."""
    assert others({1: at(("::", 81)), 2: at()}, "http://web1/") == frozenset()
    assert others({1: at(("::", 80)), 2: at()}, "http://web1/") == {2}


def test_the_note_is_about_servers_that_hide_and_not_about_containers() -> None:
    assert note({1: at()}) == ""
    assert note({1: at(("::", 80)), 2: at(apart=True)}) == ""
    assert "by root only" in note({1: at(("::", 80)), 2: at()})


POOLS = {
    7: (PoolConfig("www", "/run/php/www.sock"),),
    8: (PoolConfig("shop", "/run/php/shop.sock"), PoolConfig("api", "127.0.0.1:9001")),
    9: (),
}


def test_pools_that_the_server_asks() -> None:
    unix = ['SetHandler "proxy:unix:/run/php/www.sock|fcgi://localhost"']
    assert not_asked(POOLS, unix) == {8}
    port = ["ProxyPassMatch ^/(.*[.]php)$ fcgi://127.0.0.1:9001/var/www/$1"]
    assert not_asked(POOLS, port) == {7}
    assert not_asked(POOLS, [*unix, *port]) == frozenset()


def test_a_server_that_names_no_pool_says_nothing() -> None:
    """It is told in a file that is not read, such as .htaccess, or asks another machine's."""
    assert not_asked(POOLS, ["DocumentRoot /var/www"]) == frozenset()
    assert not_asked(POOLS, ["ProxyPass / fcgi://10.0.0.9:9000/"]) == frozenset()
