"""Configurations made to cost: circular includes, patterns over everything, long files, other people's processes."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import pytest

from collectors import config_files
from collectors.apache import configuration as apache
from collectors.config_files import Config, config_file, includes, read_config, view_of
from collectors.haproxy import configuration as haproxy
from collectors.machine import FOREIGN, Missing, Wanted
from collectors.nginx import configuration as nginx
from collectors.php_fpm import configuration as php_fpm
from collectors.routing import MOST_PLACES, OWN_ADDRESSES, Backends, Place, Route, Router, Routes
from tests.unit.collectors.fake_machine import FakeMachine
from tests.unit.processor_time import allowed_s, least_s

INCLUDE = includes(re.compile(r"Include (\S{1,4096})"), "/c")


class Files:
    """A machine with these files. A directory that is not among them holds what lies below it. Counts what is read."""

    def __init__(self, files: Mapping[str, str | Missing]) -> None:
        self.files = files
        self.read = Counter[str]()

    async def texts(self, files: Iterable[Wanted]) -> dict[str, str | Missing]:
        return {file.path: self._text(file) for file in files}

    def _text(self, file: Wanted) -> str | Missing:
        self.read[file.path] += 1
        if file.path in self.files or not file.path.endswith("/"):
            text = self.files.get(file.path, Missing("no such file"))
            return text[: file.limit] if isinstance(text, str) else text
        below = (name.removeprefix(file.path) for name in self.files if name.startswith(file.path))
        inside = sorted({name.partition("/")[0] for name in below})
        return "".join(f"{file.path}{name}\n" for name in inside) or Missing("no such file")


def read(machine: Files, *first: str) -> Config:
    return asyncio.run(read_config(machine, first, INCLUDE))


def test_files_that_include_each_other_come_once_each() -> None:
    """Twelve of them made 12^8 visits."""
    files = {f"/c/{number}.conf": f"line {number}\nInclude *.conf\n" for number in range(12)}
    machine = Files(files)
    began = time.process_time()
    config = read(machine, "/c/0.conf")
    assert time.process_time() - began < allowed_s(1.0)
    assert sorted(config.lines) == sorted(f"line {number}" for number in range(12))
    assert all(machine.read[path] == 1 for path in files)


def test_a_file_that_is_included_twice_comes_twice() -> None:
    """As ``snippets/fastcgi.conf`` in each server of nginx."""
    config = read(Files({"/c/a": "Include b\none\nInclude b\n", "/c/b": "both\n"}), "/c/a")
    assert config.lines == ["both", "one", "both"]


def test_includes_that_double_themselves_have_an_end() -> None:
    files = {f"/c/{number}": f"Include {number + 1}\n" * 200 for number in range(7)} | {"/c/7": "line\n"}
    began = time.process_time()
    config = read(Files(files), "/c/0")
    assert time.process_time() - began < allowed_s(1.0)
    assert 0 < len(config.lines) <= 2 * config_files.MOST_LINES


def test_a_pattern_over_everything_is_bounded_before_it_is_walked() -> None:
    """Each directory has a hundred others: five levels are 10^10."""

    class Endless(Files):
        def _text(self, file: Wanted) -> str | Missing:
            self.read[file.path] += 1
            return "".join(f"{file.path}{number}\n" for number in range(100)) if file.path.endswith("/") else "line\n"

    machine = Endless({})
    began = time.process_time()
    config = read(machine, "/*/*/*/*/*", "/*/*/*/*/x/*")
    assert time.process_time() - began < allowed_s(1.0)
    listed = sum(path.endswith("/") for path in machine.read)
    assert listed <= config_files.MOST_DIRECTORIES
    assert len(config.files) <= config_files.MOST_FILES


def test_a_directory_without_end_is_looked_at_up_to_a_limit() -> None:
    listing = "".join(f"/c/d/{number}\n" for number in range(100_000))
    machine = Files({"/c/d/": listing, "/c/a": "Include d/*\n"})
    config = read(machine, "/c/a")
    assert len(config.files) == config_files.MOST_FILES


def test_long_files_are_cut() -> None:
    files = {f"/c/{number}.conf": f"{number}\n" + "x\n" * 200_000 for number in range(40)}
    config = read(Files(files), "/c/*.conf")
    assert len(config.lines) <= config_files.MOST_LINES
    assert sum(len(text) for text in config.files.values() if isinstance(text, str)) <= 1 << 20
    config = read(Files({"/c/a": "y" * 100_000}), "/c/a")
    assert config.lines == ["y" * config_files.LINE_LENGTH]


def test_thousands_of_patterns_are_bounded() -> None:
    text = "".join(f"Include {number}/*\n" for number in range(20_000))
    machine = Files({"/c/a": text})
    began = time.process_time()
    read(machine, "/c/a")
    assert time.process_time() - began < allowed_s(1.0)
    assert len(machine.read) <= config_files.MOST_PATTERNS + config_files.MOST_DIRECTORIES


WORST = {
    "short lines": "a b;\n" * config_files.MOST_LINES,
    "blanks": f"{' ' * 60}\n" * config_files.MOST_LINES,
    "quotes": "\"'{\n" * config_files.MOST_LINES,
    "long words": f"{'w' * 60};\n" * config_files.MOST_LINES,
    "sections": "<IfModule x>\n" * config_files.MOST_LINES,
    "listens": "Listen 80\n" * config_files.MOST_LINES,
    "servers": "server a 127.0.0.1:80\n" * config_files.MOST_LINES,
    "nginx, one upstream of many": (
        "http { upstream u {\n"
        + "server c:3; server d:4;\n" * 5000
        + "}\n"
        + "server { proxy_pass http://u; fastcgi_pass u; }\n" * 5000
    ),
    "nginx, slashes": "server { proxy_pass http://unix:" + f"{'/' * 1100};\nproxy_pass http://unix:" * 900,
    "haproxy, computed backends": (
        "frontend f\nbind :80\nuse_backend %[x]\n" * 4000 + "backend b\nserver s 127.0.0.1:80\n" * 4000
    ),
    "haproxy, one backend of many": (
        "frontend f\nbind :80\ndefault_backend b\n" * 4000
        + "backend b\n"
        + "".join(f"server s :{number}\n" for number in range(1, 8000))
    ),
    "haproxy, a chain": "".join(
        f"listen f\nbind :{number}\nbind 127.0.0.1:80\nserver s 127.0.0.1:{number + 1}\n" for number in range(80, 5080)
    ),
    "php-fpm, long names": f"[{'p' * 4000}]\n" + "".join(f"a{number} = {'$pool' * 790}\n" for number in range(260)),
    "sockets": f"fcgi{'unix:' * 818}\n" * 256,
    "an open section": f"<a{' ' * 4000}\n" * 256,
    "a section of words": f"<{'a' * 4000}\n" * 256,
}
MANY_ADDRESSES = "".join(
    f"     |-- 10.0.{number // 256}.{number % 256}\n        /32 host LOCAL\n" for number in range(26_000)
)


def backends(routes: Routes | None, addresses: str = MANY_ADDRESSES) -> Backends | None:
    through = [routes] if routes is not None else []
    files = Files({OWN_ADDRESSES[0].path: addresses})
    return asyncio.run(Router(files).backends(through, through, through, 80))


@pytest.mark.parametrize("kind", WORST)
def test_no_step_over_the_largest_configuration_takes_long(kind: str) -> None:
    """They run in the event loop, where nothing else continues meanwhile. A slow machine takes 0.3 s for the worst."""
    files = {f"/c/{part}.conf": WORST[kind][part * 200_000 : (part + 1) * 200_000] for part in range(11)}
    config = read(Files(files), "/c/*.conf")
    steps: dict[str, Callable[[], object]] = {
        "apache, listening": lambda: apache.listening(config),
        "apache, limits": lambda: apache.limits(config, "event"),
        "apache, pools": lambda: apache.fastcgi_addresses(config),
        "nginx": lambda: nginx.listening(config),
        "nginx, pools": lambda: nginx.fastcgi_addresses(config),
        "nginx, routes": lambda: nginx.routes(config),
        "nginx, backends": lambda: backends(nginx.routes(config)),
        "haproxy, routes": lambda: haproxy.routes(config),
        "haproxy, backends": lambda: backends(haproxy.routes(config)),
        "haproxy, statistics": lambda: haproxy.parse(config.lines),
        "php-fpm": lambda: php_fpm.parse(config.lines),
    }
    limit_s = allowed_s(1.0)
    took_s = {name: least_s(step, limit_s) for name, step in steps.items()}
    assert {name: seconds for name, seconds in took_s.items() if seconds > limit_s} == {}


def test_servers_beyond_the_limit_count_as_unknown() -> None:
    places = [Place("10.9.9.9", 80, text="far"), Place(port=81, text="near"), Place("10.9.9.9", 82, text="last")]
    routes = Routes([Route([Place(port=80)], [places, [Place("10.9.9.9", 83, text="next")] * 2])])
    assert backends(routes) == Backends(unknown=("near",))  # it has too many addresses to follow all of them
    many = [Place("10.9.9.9", port, text=str(port)) for port in range(1, MOST_PLACES + 1)]
    assert backends(Routes([Route([Place(port=80)], [many, places])])) == Backends(unknown=("far", "near", "last"))


def status(*users: int) -> str:
    columns = "\t".join(map(str, users))
    return f"Name:\tapache2\nUid:\t{columns}\nGid:\t0\t0\t0\t0\n"


@pytest.mark.parametrize(
    ("me", "its", "foreign"),
    [
        ((0, 0, 0, 0), status(0, 0, 0, 0), False),
        ((0, 0, 0, 0), status(1000, 1000, 1000, 1000), True),
        ((1000, 1000, 1000, 1000), status(1000, 1000, 1000, 1000), False),
        ((1000, 1000, 1000, 1000), status(0, 0, 0, 0), False),
        ((1000, 1000, 1000, 1000), status(1001, 1001, 1001, 1001), True),
        ((0, 0, 0, 0), status(1000, 0, 0, 0), True),
        ((0, 0, 0, 0), Missing("no such file"), True),
        ((0, 0, 0, 0), "garbage", True),
    ],
)
def test_whose_configuration_is_read(me: tuple[int, ...], its: str | Missing, foreign: bool) -> None:
    """That of root and of the user who watches. A program with root's rights that anyone can start is anyone's."""
    machine = Files(
        {
            "/proc/self/status": status(*me),
            "/proc/9/status": its,
            "/proc/9/cmdline": "apache2\0-f\0/evil/httpd.conf\0",
            "/evil/httpd.conf": "Listen 80\n",
        }
    )
    view = asyncio.run(view_of(machine, 9))
    config = asyncio.run(apache.read(view, view.command))
    assert view.foreign == foreign
    assert (machine.read["/evil/httpd.conf"] == 0) == foreign
    assert config.foreign == foreign
    assert (FOREIGN in config.files.values()) == foreign
    if foreign:
        assert "belongs to neither root nor this user" in str(config.problem())


def test_a_foreign_master_of_php_fpm_names_no_pool() -> None:
    machine = FakeMachine()
    machine.files = {
        "/proc/self/status": status(0, 0, 0, 0),
        "/proc/9/status": status(33, 33, 33, 33),
        "/proc/9/cmdline": "php-fpm: master process (/evil/fpm.conf)\0",
        "/evil/fpm.conf": "[www]\nlisten = 9000\n",
        "/etc/php-fpm.conf": "[etc]\nlisten = 9001\n",
    }
    pools, problem = asyncio.run(php_fpm.pools_of(machine, (9,)))
    assert pools == ()
    assert "belongs to neither root nor this user" in str(problem)


def test_configuration_is_read_from_regular_files_only() -> None:
    wanted: list[Wanted] = []

    class Noting(Files):
        async def texts(self, files: Iterable[Wanted]) -> dict[str, str | Missing]:
            asked = list(files)
            wanted.extend(asked)
            return await super().texts(asked)

    machine = Noting({"/etc/nginx/nginx.conf": "include /c/*.conf;\n", "/c/a.conf": "x;\n"})
    asyncio.run(nginx.read(machine, ()))
    asyncio.run(apache.read(machine, ()))
    asyncio.run(haproxy.read(machine, ()))
    assert {"/etc/nginx/nginx.conf", "/c/a.conf"} <= {file.path for file in wanted}
    assert all(file == config_file(file.path) for file in wanted if not file.path.endswith("/"))
