"""A web server that passes requests on, as nginx does: what stands behind it is under test too."""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence

import pytest

from collectors.apache.collector import KIND as APACHE
from collectors.config_files import Config, read_config
from collectors.kind import Kind
from collectors.machine import Endpoint, Texts
from collectors.nginx.collector import KIND as NGINX
from collectors.php_fpm.collector import KIND as PHP_FPM
from collectors.routing import Place, Route, Routes
from collectors.under_test import UnderTest
from loadtop.model import Role
from tests.unit.collectors.fake_machine import FakeMachine

FRONT, FIRST, SECOND, MASTER, OTHER_MASTER = 5, 10, 20, 30, 40


def routes(config: Config) -> Routes:
    """Sends what comes in at port 80 to the servers in its configuration."""
    servers = tuple(Place("127.0.0.1", int(line)) for line in config.lines if line.isdecimal())
    return Routes([Route([Place(port=80)], [servers])])


async def configuration(texts: Texts, _: Sequence[str]) -> Config:
    return await read_config(texts, ("/front.conf",))


def fastcgi_addresses(config: Config) -> frozenset[str] | None:
    return frozenset(line for line in config.lines if line.startswith("/")) or None


KIND = Kind(
    name="front",
    group="front",
    role=Role.WEB,
    processes=re.compile("front"),
    configuration=configuration,
    routes=routes,
    fastcgi_addresses=fastcgi_addresses,
)


class Machine(FakeMachine):
    """One server in front, two Apaches and two masters of php-fpm."""

    def __init__(self, config: str) -> None:
        super().__init__()
        self.httpd = {
            FRONT: (Endpoint("0.0.0.0", 80),),  # noqa: S104 - everywhere
            FIRST: (Endpoint("127.0.0.1", 8010),),
            SECOND: (Endpoint("127.0.0.1", 8020),),
        }
        self.files["/front.conf"] = config
        for pid, name in ((MASTER, "www"), (OTHER_MASTER, "shop")):
            self.files[f"/proc/{pid}/cmdline"] = f"php-fpm: master process (/{name}.conf)\0"
            self.files[f"/{name}.conf"] = f"[{name}]\nlisten = /run/{name}.sock\n"

    def servers(self, group: str) -> tuple[int, ...]:
        return {"front": (FRONT,), "httpd": (FIRST, SECOND), "php-fpm": (MASTER, OTHER_MASTER)}.get(group, ())


def placed(config: str) -> tuple[set[int], list[list[str]], list[list[str]]]:
    """The processes that are set aside, and where the pages of the server in front and of Apache may be."""
    machine = Machine(config)

    async def look() -> tuple[list[list[str]], list[list[str]]]:
        under_test = UnderTest(machine, (KIND, APACHE, PHP_FPM), ["http://web1/"])
        under_test.look()
        await under_test.settle(1.0)
        found = await under_test.origins(KIND), await under_test.origins(APACHE)
        await under_test.close()
        return found

    front, apache = asyncio.run(look())
    return set(machine.aside or ()), front, apache


class Restarted(Machine):
    """Its servers end while their sockets are read for the second time."""

    def __init__(self) -> None:
        super().__init__("static\n")
        self.ended: Callable[[], None] | None = None

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:
        found = await super().listening(pids)
        if self.ended is not None:
            ended, self.ended, self.httpd = self.ended, None, {}
            ended()
            for _ in range(9):
                await asyncio.sleep(0)  # the search that this starts comes to its end
        return found

    def servers(self, group: str) -> tuple[int, ...]:
        return super().servers(group) if self.httpd else ()


async def test_servers_that_end_while_their_pages_are_looked_for() -> None:
    machine = Restarted()
    under_test = UnderTest(machine, (KIND, APACHE), ["http://web1/"])
    under_test.look()
    await under_test.settle(1.0)
    machine.ended = under_test.look
    assert await under_test.origins(APACHE) == [["http://web1", "http://127.0.0.1:8010", "http://127.0.0.1:8020"]]
    await under_test.close()


async def test_servers_set_aside_while_the_path_is_awaited_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the first sample would count them."""
    machine = Machine("static\n")
    under_test = UnderTest(machine, (KIND, APACHE, PHP_FPM), ["http://web1/"])

    async def finish() -> None:
        for _ in range(100):
            await asyncio.sleep(0)
        assert machine.aside

    monkeypatch.setattr(under_test.path, "finish", finish)
    under_test.look()
    assert await under_test.settle(1.0)
    await under_test.close()


FRONT_PAGES = [["http://web1", "http://127.0.0.1:80"]]


def test_alone() -> None:
    """It asks no pool and no other server: all others are set aside."""
    assert placed("static\n") == ({FIRST, SECOND, MASTER, OTHER_MASTER}, FRONT_PAGES, [])


def test_in_front_of_another_web_server() -> None:
    """That one's page is asked for at its own port. Its configuration is not known, so it can ask any pool."""
    assert placed("8020\n") == ({FIRST}, FRONT_PAGES, [["http://127.0.0.1:8020"]])


def test_in_front_of_a_pool() -> None:
    assert placed("/run/shop.sock\n") == ({FIRST, SECOND, MASTER}, FRONT_PAGES, [])


async def test_the_page_of_a_kind_that_does_not_run_is_looked_for_without_reading_sockets() -> None:
    under_test = UnderTest(machine := Machine("8010\n8020\n"), (KIND, APACHE, NGINX), ["http://web1/"])
    under_test.look()
    await under_test.settle(1.0)
    machine.httpd = {}  # who listens where, if it is read again
    assert await under_test.origins(NGINX) == []
    assert under_test.ports() == {80, 8010, 8020}


async def test_of_two_servers_at_one_port_none_is_the_one_that_answers() -> None:
    under_test = UnderTest(machine := Machine("static\n"), (KIND, APACHE), ["http://web1/"])
    machine.httpd[SECOND] = (Endpoint("127.0.0.2", 8010), Endpoint("127.0.0.2", 8020))
    under_test.look()
    await under_test.settle(1.0)
    ports = (8010, 8020, 8030)
    assert [under_test.server_at(APACHE, f"http://web1:{port}/") is None for port in ports] == [True, False, True]
    await under_test.close()
