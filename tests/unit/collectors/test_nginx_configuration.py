"""nginx's configuration: its limits, where it listens, its status pages, and where it passes requests on."""

import asyncio
import time
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.config_files import Config, includes
from collectors.machine import ANY_IPV4, Endpoint, Missing
from collectors.nginx import configuration
from collectors.routing import Place, accepted, reached
from tests.unit.collectors.fake_machine import FakeFiles
from tests.unit.known import known
from tests.unit.processor_time import allowed_s

MAIN = "/etc/nginx/nginx.conf"
DEBIAN: dict[str, str | Missing] = {
    MAIN: """\
user www-data;
worker_processes auto;
pid /run/nginx.pid;
include /etc/nginx/modules-enabled/*.conf;

events {
\tworker_connections 768;
\t# multi_accept on;
}

http {
\tsendfile on;
\ttypes_hash_max_size 2048;
\t# server_names_hash_bucket_size 64;
\tinclude /etc/nginx/mime.types;
\tdefault_type application/octet-stream;
\tlog_format main '$remote_addr - "$request" {$status}; ' "it's; {fine}";
\taccess_log /var/log/nginx/access.log;
\tinclude /etc/nginx/conf.d/*.conf;
\tinclude "/etc/nginx/sites-enabled/*";
}
""",
    "/etc/nginx/modules-enabled/50-mod-http-echo.conf": "load_module modules/ngx_http_echo_module.so;\n",
    "/etc/nginx/mime.types": "types {\n    text/html html htm shtml;\n    text/css css;\n}\n",
    "/etc/nginx/conf.d/upstreams.conf": """\
upstream app {
    least_conn;
    server 127.0.0.1:8001 weight=5;
    server [::1]:8002 max_fails=3;
    server backend.example;
    server unix:/run/app.sock backup;
    keepalive 16;
}
upstream php { server unix:/run/php/php8.2-fpm.sock; server 127.0.0.1:9000; }
""",
    "/etc/nginx/sites-enabled/default": """\
server {
    listen 80 default_server;
    listen [::]:80 default_server;
    server_name _;
    root /var/www/html;
    location / { try_files $uri $uri/ =404; }
    location ~ \\.php$ {
        include snippets/fastcgi-php.conf;
        fastcgi_pass php;
    }
    location = /basic_status { stub_status; allow 127.0.0.1; deny all; }
}
""",
    "/etc/nginx/snippets/fastcgi-php.conf": "fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\nfastcgi_index index.php;\n",
    "/etc/nginx/sites-enabled/shop": """\
server { # a proxy
    listen 127.0.0.1:8080;
    location / {
        proxy_set_header X-Odd a"b#c}d;
        proxy_pass http://app;
    }
    location /files { proxy_pass http://127.0.0.1:8003/x/; }
    location /status { stub_status on; }
}
""",
}


def read(files: Mapping[str, str | Missing], *command: str) -> Config:
    return asyncio.run(configuration.read(FakeFiles(files), command or ("nginx: master process /usr/sbin/nginx",)))


def config_of(text: str) -> Config:
    return read({MAIN: text})


def told(place: Place) -> str:
    return place.socket or (f"{place.host}:{place.port}" if place.port else f"? {place.text}")


def reached_at(text: str, port: int = 80) -> list[str]:
    """Where requests that come in at a port go."""
    routes = [known(configuration.routes(config_of(text)))]
    return [told(place) for place in reached(routes, Place(port=port), port)]


def test_debians_configuration() -> None:
    config = read(DEBIAN)
    settings = configuration.parse(config.lines)
    assert (settings.processes, settings.connections) == (None, 768)
    assert [path for server in settings.servers for path in server.status_paths] == ["/basic_status", "/status"]
    assert configuration.listening(config) == (Endpoint(ANY_IPV4, 80), Endpoint("::", 80), Endpoint("127.0.0.1", 8080))
    assert configuration.fastcgi_addresses(config) == frozenset({"/run/php/php8.2-fpm.sock", "9000"})
    assert config.problem() is None


def test_debians_routes() -> None:
    routes = [known(configuration.routes(read(DEBIAN)))]
    assert not reached(routes, Place(port=80), 80)
    assert [told(place) for place in reached(routes, Place(port=8080), 8080)] == [
        "127.0.0.1:8001", "::1:8002", "backend.example:80", "/run/app.sock", "127.0.0.1:8003"
    ]  # fmt: skip
    assert accepted(routes, Place("127.0.0.1", 8080))
    assert not accepted(routes, Place("10.0.0.1", 8080))
    assert not accepted(routes, Place(port=81))


@pytest.mark.parametrize(
    ("text", "processes", "connections"),
    [
        ("", 1, 512),
        ("worker_processes 4;", 4, 512),
        ("worker_processes auto;events{worker_connections 1024;}", None, 1024),
        ("events { worker_connections 1k; }", 1, 512),
        ("events { use epoll; worker_connections  16 ; } worker_processes 2;", 2, 16),
        ("# worker_processes 8;\nworker_processes '3';", 3, 512),
        ("http { worker_processes 9; worker_connections 9; }", 1, 512),
    ],
)
def test_limits(text: str, processes: int | None, connections: int) -> None:
    settings = configuration.parse(text.splitlines())
    assert (settings.processes, settings.connections) == (processes, connections)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80", Place(ANY_IPV4, 80)),
        ("*:8000", Place(ANY_IPV4, 8000)),
        ("127.0.0.1", Place("127.0.0.1", 80)),
        ("127.0.0.1:8000 default_server backlog=99", Place("127.0.0.1", 8000)),
        ("localhost:8000", Place("localhost", 8000)),
        ("localhost", Place("localhost", 80)),
        ("[::]:8000 ipv6only=on", Place("::", 8000)),
        ("[::1]", Place("::1", 80)),
        ("443 ssl http2", Place(ANY_IPV4, 443)),
        ("unix:/var/run/nginx.sock", Place(socket="/var/run/nginx.sock")),
        ("$port", Place()),
    ],
)
def test_forms_of_listen(text: str, expected: Place) -> None:
    (server,) = configuration.parse([f"http {{ server {{ listen {text}; }} }}"]).servers
    assert server.listens == [expected]


def test_a_server_without_listen() -> None:
    assert configuration.listening(config_of("http { server { root /srv; } }")) == (Endpoint(ANY_IPV4, 80),)


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        ("http://127.0.0.1:8000", ["127.0.0.1:8000"]),
        ("http://127.0.0.1:8000/uri/$1", ["127.0.0.1:8000"]),
        ("http://localhost", ["localhost:80"]),
        ("https://web2.example", ["web2.example:443"]),
        ("https://app/", ["10.0.0.1:80", "10.0.0.2:81"]),
        ("http://[::1]:8000/", ["::1:8000"]),
        ("http://unix:/run/app.sock:/uri/", ["/run/app.sock"]),
        ("http://unix:/run/app.sock", ["/run/app.sock"]),
        ("http://unix:/run/app.sock:$request_uri", ["/run/app.sock"]),
        ("http://$backend", ["? http://$backend"]),
        ("http://${backend}:80/x", ["? http://${backend}:80/x"]),
        ("$scheme://127.0.0.1:8000", ["? $scheme://127.0.0.1:8000"]),
        ('"http://127.0.0.1:8000"', ["127.0.0.1:8000"]),
    ],
)
def test_where_requests_are_passed_on(passed: str, expected: list[str]) -> None:
    server = f"server {{ location / {{ if ($a = 1) {{ proxy_pass {passed}; }} }} }}"
    assert reached_at(f"http {{ upstream app {{ server 10.0.0.1; server 10.0.0.2:81; }} {server} }}") == expected


def test_only_the_server_at_that_port_passes_on() -> None:
    text = """http {
        server { listen 81; location / { grpc_pass grpc://127.0.0.1:50051; } }
        server { listen unix:/run/in.sock; location / { proxy_pass http://127.0.0.1:8001; } }
    }"""
    assert reached_at(text, 81) == ["127.0.0.1:50051"]
    routes = [known(configuration.routes(config_of(text)))]
    assert [told(place) for place in reached(routes, Place(socket="/run/in.sock"), 0)] == ["127.0.0.1:8001"]


def test_a_server_that_answers_itself_has_no_routes() -> None:
    assert configuration.routes(config_of("http { server { root /srv; } }")) is None


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        ("fastcgi_pass 127.0.0.1:9000;", {"9000"}),
        ("fastcgi_pass unix:/run/php/php-fpm.sock;", {"/run/php/php-fpm.sock"}),
        ("fastcgi_pass [::1]:9001;", {"9001"}),
        ("fastcgi_pass $pool;", set[str]()),
        ("uwsgi_pass 127.0.0.1:3031;", {"3031"}),
        ("proxy_pass http://127.0.0.1:8000;", None),
    ],
)
def test_application_pools(passed: str, expected: set[str] | None) -> None:
    config = config_of(f"http {{ server {{ location ~ \\.php$ {{ {passed} }} }} }}")
    assert configuration.fastcgi_addresses(config) == expected


def test_an_unreadable_file_can_name_any_pool() -> None:
    files = {MAIN: "http {\ninclude sites/*; # all\n}\n", "/etc/nginx/sites/a": "server { }"}
    assert configuration.fastcgi_addresses(read(files)) is None
    config = read({**files, "/etc/nginx/sites/b": Missing("not permitted")})
    assert configuration.fastcgi_addresses(config) == frozenset()
    assert str(config.problem()) == "/etc/nginx/sites/b: not permitted"
    assert not read({}).found


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (["nginx: master process /usr/sbin/nginx -c /srv/n.conf"], ("/srv/n.conf",)),
        (["nginx: master process nginx -p /srv/ -c conf/n.conf -g daemon off;"], ("/srv/conf/n.conf",)),
        (["nginx: master process nginx -p /srv"], ("/srv/conf/nginx.conf", *configuration.LAYOUTS)),
        (["nginx: master process nginx -c n.conf"], configuration.LAYOUTS),
        (["nginx: master process nginx -g daemon off;"], configuration.LAYOUTS),
        (["nginx", "-c", "/srv/n.conf"], ("/srv/n.conf",)),
        (["nginx: worker process"], configuration.LAYOUTS),
        ([], configuration.LAYOUTS),
    ],
)
def test_the_command_line_names_the_configuration(command: list[str], files: tuple[str, ...]) -> None:
    assert configuration.files_of(command) == files


def test_a_relative_include_is_below_the_folder_of_the_main_file() -> None:
    files = {"/srv/conf/n.conf": "http {\ninclude web.conf;\n}\n", "/srv/conf/web.conf": "server { listen 82; }"}
    config = read(files, "nginx: master process nginx -p /srv -c conf/n.conf")
    assert configuration.listening(config) == (Endpoint(ANY_IPV4, 82),)


def test_words_after_an_include_count() -> None:
    config = config_of("http { server {\ninclude fastcgi_params; fastcgi_pass 127.0.0.1:9000;\n} }")
    assert configuration.fastcgi_addresses(config) == frozenset({"9000"})


@given(st.text(alphabet=st.sampled_from("{};\"'#\\$ \n-:/.[]aserver019")))
def test_any_text_is_a_configuration(text: str) -> None:
    for words in (
        text,
        f"http {{ server {{ listen {text}; location {text} {{ proxy_pass {text}; }}",
        f"server {{{text}",
    ):
        config = config_of(words)
        configuration.listening(config)
        configuration.fastcgi_addresses(config)
        routes = configuration.routes(config)
        if routes is not None:
            reached([routes], Place(port=80), 80)


REPEATED = [*"{};\"'\\a#$\n ", '\\"', "\"'", '"\\', "a ", "# ", "${", "server {", "listen 80;"]


@pytest.mark.parametrize("pattern", REPEATED)
def test_a_huge_configuration_takes_no_long_time(pattern: str) -> None:
    """200 kB of the same: in time that grows with its size alone."""
    text = f"http {{ server {{ {pattern * (200_000 // len(pattern))}"
    began = time.process_time()
    configuration.parse(text.splitlines())
    assert time.process_time() - began < allowed_s(3.0)  # 0.3 s alone; were it the square of the size, minutes


def test_a_line_that_nearly_includes_takes_no_long_time() -> None:
    include = includes(configuration.INCLUDE, "/etc/nginx")
    began = time.process_time()
    assert include("include " + "a" * 1_000_000) is None
    assert include(" " * 1_000_000) is None
    assert time.process_time() - began < allowed_s(1.0)
