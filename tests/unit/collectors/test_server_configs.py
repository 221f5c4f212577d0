"""Configurations of Apache, php-fpm and HAProxy as distributions have them, read through their includes."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.apache import configuration as apache_config
from collectors.config_files import Config, IncludeOf, entries, includes, read_config
from collectors.haproxy import configuration as haproxy_config
from collectors.machine import Endpoint, Machine, Missing
from collectors.php_fpm import configuration as fpm_config
from collectors.php_fpm.configuration import PoolConfig
from collectors.routing import Place, own_addresses, reached, shown_addresses
from tests.unit.collectors.fake_machine import FakeFiles, FakeMachine


def no_include(_: str) -> str | None:
    return None


def read(files: Mapping[str, str | Missing], *first: str, include_of: IncludeOf = no_include) -> Config:
    return asyncio.run(read_config(FakeFiles(files), first, include_of))


DEBIAN_FPM = {
    "/etc/php/8.2/fpm/php-fpm.conf": "[global]\npid = /run/php/fpm.pid\ninclude=/etc/php/8.2/fpm/pool.d/*.conf\n",
    "/etc/php/8.2/fpm/pool.d/www.conf": """\
; a comment
[www]
listen = /run/php/php8.2-fpm.sock
;pm.status_path = /status
pm = dynamic
pm.max_children = 5 ; five
""",
    "/etc/php/8.2/fpm/pool.d/api.conf": """\
[api]
listen = 9000
listen.backlog = 128
pm=static
pm.max_children = "12"
pm.status_path = /$pool-status
pm.status_listen = 127.0.0.1:9001
""",
    "/etc/php/8.2/fpm/pool.d/old.conf.bak": "[old]\nlisten = 9002\n",
}


@given(st.text())
def test_any_text_is_a_configuration(text: str) -> None:
    fpm_config.parse(text.splitlines())
    fpm_config.parse(("[a]", *text.splitlines()))
    haproxy_config.parse(text.splitlines())
    lines = ("frontend a", "bind :80", f"use_backend {text}", f"server {text}", f"server a {text}", f"bind {text}")
    config = Config(lines=list(lines), files={"/h": "\n".join(lines)})
    reached([haproxy_config.routes(config)], Place(port=80), 80)
    haproxy_config.parse(("global", f"stats {text}", "listen a", f"bind {text}", f"stats uri {text}"))
    apache_config.parse(text.splitlines(), "event")


FPM_CONF = "/etc/php/8.2/fpm/php-fpm.conf"


@pytest.mark.parametrize(
    ("files_of", "command", "files"),
    [
        (fpm_config.file_of, f"php-fpm: master process ({FPM_CONF})", FPM_CONF),
        (fpm_config.file_of, "php-fpm: pool www", None),
        (fpm_config.file_of, "", None),
        (apache_config.files_of, ["httpd", "-f", "/srv/a.conf"], ("/srv/a.conf",)),
        (apache_config.files_of, ["httpd", "-d", "/srv", "-f", "conf/a.conf"], ("/srv/conf/a.conf",)),
        (apache_config.files_of, ["httpd", "-f", "a.conf"], ()),
        (apache_config.files_of, ["httpd", "-d", "/srv"], ("/srv/apache2.conf", "/srv/conf/httpd.conf")),
        (apache_config.files_of, ["/usr/sbin/httpd", "-DFOREGROUND"], apache_config.LAYOUTS),
        (apache_config.files_of, [], apache_config.LAYOUTS),
        (haproxy_config.files_of, ["haproxy", "-Ws", "-f", "/etc/h.cfg", "-p", "/run/h.pid"], ["/etc/h.cfg"]),
        (haproxy_config.files_of, ["haproxy", "-f", "/a/", "-f", "/b.cfg"], ["/a/*.cfg", "/b.cfg"]),
        (haproxy_config.files_of, ["haproxy", "-f", "/a.cfg", "--", "/b.cfg", "c.cfg"], ["/a.cfg", "/b.cfg"]),
        (haproxy_config.files_of, [], []),
    ],
)
def test_the_command_line_names_the_configuration(
    files_of: Callable[[Any], Any], command: object, files: object
) -> None:
    assert files_of(command) == files


def pools(files: Mapping[str, str | Missing], path: str, first: str = "") -> tuple[Config, tuple[PoolConfig, ...]]:
    """What is read, beginning with a file or a pattern of files, and the pools in it."""
    config = read(files, first or path, include_of=fpm_config.include_of(path))
    return config, fpm_config.parse(config.lines)


@pytest.mark.parametrize("first", ["", fpm_config.LAYOUTS[0]], ids=["file", "pattern of layouts"])
def test_debians_pools(first: str) -> None:
    config, found = pools(DEBIAN_FPM, FPM_CONF, first)
    assert found == (
        PoolConfig("api", "127.0.0.1:9000", "static", 12, "/api-status", "127.0.0.1:9001", 128),
        PoolConfig("www", "/run/php/php8.2-fpm.sock", "dynamic", 5),
    )
    assert config.problem() is None
    assert config.file_with("[www]") == "/etc/php/8.2/fpm/pool.d/www.conf"


def test_a_later_file_continues_with_a_pool_and_relative_includes_are_below_the_prefix() -> None:
    path = "/usr/local/etc/php-fpm.conf"
    files = {
        path: "[global]\ninclude=etc/php-fpm.d/*.conf\n",
        "/usr/local/etc/php-fpm.d/www.conf": "[www]\nlisten = 127.0.0.1:9000\npm = dynamic\npm.max_children = 5\n",
        "/usr/local/etc/php-fpm.d/zz.conf": "[www]\nlisten = *:9000\npm.max_children = 50\n",
    }
    assert pools(files, path)[1] == (PoolConfig("www", "127.0.0.1:9000", "dynamic", 50),)


def test_where_the_pools_of_a_master_listen() -> None:
    text = (
        "[global]\nlisten = 1\n[a]\nlisten = '/run/$pool.sock' ; here\n[b]\nlisten = 10.0.0.1:9001\n[c]\npm = static\n"
    )
    machine = FakeMachine()
    machine.files = {"/proc/9/cmdline": f"php-fpm: master process ({FPM_CONF})\0", FPM_CONF: text}
    assert asyncio.run(fpm_config.pool_addresses(cast("Machine", machine), 9)) == {"/run/a.sock", "9001"}


def test_what_may_not_be_read_is_named_and_a_file_that_includes_itself_ends() -> None:
    path, hidden = "/etc/php-fpm.conf", "/etc/php-fpm.d/www.conf"
    config, _ = pools({path: "include=/etc/php-fpm.d/*.conf\n", hidden: Missing("not permitted")}, path)
    assert str(config.problem()) == f"{hidden}: not permitted"
    assert config.found
    assert config.file_with("[www]") == ""
    assert not pools({}, path)[0].found
    assert pools({path: "include=/etc/*.conf\n[a]\nlisten=1\n"}, path)[1] == (PoolConfig("a", "127.0.0.1:1"),)


def test_links_in_a_directory_lead_where_they_lead() -> None:
    listing = "../mods-available/mpm_event.conf\n/etc/apache2/mods-enabled/own.conf\n"
    assert entries("/etc/apache2/mods-enabled/", listing) == [
        "/etc/apache2/mods-available/mpm_event.conf",
        "/etc/apache2/mods-enabled/own.conf",
    ]
    assert entries("/none/", Missing("no such file")) == []


DEBIAN_APACHE = {
    "/etc/apache2/apache2.conf": """Timeout 300
IncludeOptional mods-enabled/*.load
IncludeOptional mods-enabled/*.conf
Include ports.conf
""",
    "/etc/apache2/ports.conf": "Listen 80\nListenBacklog 200\n",
    "/etc/apache2/mods-enabled/mpm_event.load": (
        "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
    ),
    "/etc/apache2/mods-enabled/mpm_event.conf": """<IfModule mpm_prefork_module>
    MaxRequestWorkers 10
</IfModule>
<IfModule mpm_event_module>
    StartServers            2
    ThreadsPerChild         20
    MaxRequestWorkers       100
    <IfModule !mpm_worker_module>
        ServerLimit 5
    </IfModule>
</IfModule>
""",
}


def limits(workers: int, servers: int, threads: int | None, backlog: int) -> dict[str, int | None]:
    names = ("max_request_workers", "server_limit", "threads_per_child", "listen_backlog")
    return dict(zip(names, (workers, servers, threads, backlog), strict=True))


@pytest.mark.parametrize(
    ("mpm", "expected"),
    [("event", limits(100, 5, 20, 200)), ("prefork", limits(10, 256, None, 200)), ("worker", limits(400, 16, 25, 200))],
)
def test_debians_apache(mpm: str, expected: dict[str, int | None]) -> None:
    path = apache_config.files_of(["/usr/sbin/apache2", "-k", "start"])[0]
    root = apache_config.root_of([], path, DEBIAN_APACHE[path])
    config = read(DEBIAN_APACHE, path, include_of=includes(apache_config.INCLUDE, root))
    assert apache_config.limits(config, mpm) == expected
    lines = [line for text in DEBIAN_APACHE.values() for line in text.splitlines()]
    assert apache_config.parse(lines) == limits(100, 5, 20, 200), "the loaded module says which MPM"


def test_defaults_only_where_everything_could_be_read() -> None:
    files: dict[str, str | Missing] = {
        "/etc/httpd/conf/httpd.conf": 'ServerRoot "/etc/httpd"\nMaxClients 50\nInclude conf.d/*.conf\n',
        "/etc/httpd/conf.d/a.conf": Missing("not permitted"),
    }
    path = "/etc/httpd/conf/httpd.conf"
    include = includes(apache_config.INCLUDE, apache_config.root_of([], path, files[path]))
    assert apache_config.limits(read(files, path, include_of=include), "prefork") == {"max_request_workers": 50}
    files["/etc/httpd/conf.d/a.conf"] = "ServerLimit 60\n"
    assert apache_config.limits(read(files, path, include_of=include), "prefork") == limits(50, 60, None, 511)
    assert apache_config.limits(read({}, path, include_of=include), "prefork") == {}


def test_the_addresses_on_which_apache_listens() -> None:
    text = "Listen 80\n<IfModule ssl_module>\n  Listen 443 https\n</IfModule>\nListen 127.0.0.1:8080\nlisten [::1]:81\n"
    config = read({"/a.conf": f"{text}#Listen 1\nListenBacklog 2\nListen x\nListen 80"}, "/a.conf")
    assert apache_config.listening(config) == (
        Endpoint("0.0.0.0", 80),  # noqa: S104 - everywhere
        Endpoint("0.0.0.0", 443),  # noqa: S104
        Endpoint("127.0.0.1", 8080),
        Endpoint("::1", 81),
    )


HAPROXY = """global
    stats socket /run/haproxy/admin.sock mode 660 level admin  # Debian's
    stats socket ipv4@127.0.0.1:9999 level user
    stats timeout 30s
defaults
    mode http
frontend fe
    bind *:80,[::]:8080
    default_backend be
backend be
    server s1 127.0.0.1:8000
listen stats
    bind "127.0.0.1:8404" ssl crt /etc/x.pem
    stats enable
    stats uri /my-stats
listen other
    bind :8405
    stats auth admin:secret
frontend on_a_socket
    bind unix@/run/x.sock
    stats enable
"""


def test_where_haproxy_has_its_statistics() -> None:
    assert haproxy_config.parse(HAPROXY.splitlines()) == (
        "unix:/run/haproxy/admin.sock",
        "tcp://127.0.0.1:9999",
        "https://127.0.0.1:8404/my-stats;csv",
        "http://127.0.0.1:8405/haproxy?stats;csv",
    )


def test_statistics_in_defaults_are_on_every_frontend() -> None:
    text = "defaults\n stats enable\nfrontend a\n bind :81\nbackend b\ndefaults\nfrontend c\n bind :82\n"
    assert haproxy_config.parse(text.splitlines()) == ("http://127.0.0.1:81/haproxy?stats;csv",)


ROUTES = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.77.1.0/24 2 0 2
        |-- 10.77.1.2
           /32 host LOCAL
        |-- 10.77.1.255
           /32 link BROADCAST
     |-- 127.0.0.0
        /8 host LOCAL
"""
ADDRESSES6 = "fe800000000000002c5d00fffe000001 02 40 20 80     eth0\n"


def test_addresses_of_a_machine() -> None:
    loopback = {"127.0.0.1", "::1"}
    assert own_addresses(ROUTES, ADDRESSES6) == {*loopback, "10.77.1.2", "fe80::2c5d:ff:fe00:1"}
    assert shown_addresses(own_addresses(ROUTES, ADDRESSES6)) == ("10.77.1.2",)
    assert own_addresses(Missing("no such file"), Missing("no such file")) == loopback


def test_an_impossible_address_of_a_machine_is_left_out() -> None:
    assert shown_addresses(own_addresses(ROUTES.replace("10.77.1.2\n", "999.77.1.2\n"), None)) == ()
