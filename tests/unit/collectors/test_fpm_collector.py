"""Following pools of php-fpm: through a web server where a socket is closed to this user, and other turns."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from collectors.errors import FetchError, SilentError
from collectors.machine import Endpoint, Member, Missing, Page
from collectors.php_fpm.collector import KIND as PHP_FPM
from collectors.php_fpm.collector import FpmCollector
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.i18n import verbatim
from loadtop.model import Cause, HostFacts, HostSample, Outcome, State
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.collectors.fake_machine import FakeFiles
from tests.unit.collectors.instant import instantly

CONF = "/etc/php/8.2/fpm/php-fpm.conf"
POOL = "[www]\nlisten = /run/php/www.sock\npm = static\npm.max_children = 4\npm.status_path = /st\n"
PAGE = (
    '{"pool":"www","process manager":"static","accepted conn":9,"listen queue":0,"listen queue len":0,'
    '"idle processes":3,"active processes":1,"total processes":4}'
)
UNIX = (
    "Num RefCount Protocol Flags Type St Inode Path\n"
    "0: 2 0 00010000 0001 01 7 /run/php/www.sock\n"
    "0: 3 0 00000000 0001 02 0 /run/php/www.sock\n"
)


class Machine(FakeFiles):
    """One master of php-fpm, whose configuration and pages a test gives; its socket is closed to this user."""

    def __init__(self) -> None:
        super().__init__()
        self.masters: tuple[int, ...] = (7,)
        self.files |= {
            "/proc/7/cmdline": f"php-fpm: master process ({CONF})\0\0",
            CONF: POOL,
            "/proc/net/unix": UNIX,
        }
        self.pages: dict[str, str] = {}
        self.error: FetchError = FetchError(
            verbatim("not permitted: this user has no access to that socket"), cause=Cause.SOCKET
        )
        self.asked: list[str] = []

    async def sample(self) -> HostSample:
        raise NotImplementedError

    def servers(self, group: str) -> tuple[int, ...]:
        return self.masters if group == PHP_FPM.group else ()

    def tested(self, group: str) -> tuple[int, ...]:
        return self.servers(group)

    def set_aside(self, pids: frozenset[int], services: frozenset[int]) -> None:
        raise NotImplementedError

    def lineage(self, pid: int) -> Sequence[Member]:
        raise NotImplementedError

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:  # noqa: ARG002 - a Machine
        return {}

    async def fetch(self, url: str, timeout_s: float) -> Page:  # noqa: ARG002
        self.asked.append(url)
        if url not in self.pages:
            raise FetchError(verbatim("connection refused: nothing listens there"))
        return Page(url, 200, self.pages[url], 0.001)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002
        self.asked.append(address)
        raise self.error

    async def reach(self, address: str) -> str:
        return address

    async def close(self) -> None:
        """Nothing is open."""


@instantly
async def after(
    machine: Machine, urls: Sequence[str] = (), target_urls: Sequence[str] = (), *, find: bool = True
) -> tuple[tuple[FpmPool, ...], Outcome]:
    """What the collector reports after some seconds."""
    watch = FpmCollector(machine, urls, UnderTest(machine, KINDS, target_urls), find=find)
    watch.start(1.0)
    sample = HostSample("", 1.0, HostFacts("a", "local", "Linux", "6", 1))
    found: tuple[tuple[FpmPool, ...] | None, Outcome] = (None, Outcome("", State.OK))
    for _ in range(8):
        watch.ask()
        watch.look(sample)
        await asyncio.sleep(1.0)
        found = watch.collect(sample, 0.0)
    await watch.close()
    return found[0] or (), found[1]


def test_through_the_web_server_where_the_socket_is_closed() -> None:
    machine = Machine()
    machine.pages["http://web1:8080/st?json"] = PAGE
    (pool,), outcome = after(machine, target_urls=["http://me:pw@web1:8080/index.php"])
    assert (pool.active, pool.max_children, pool.listen_queue, pool.address) == (1, 4, 1, "/run/php/www.sock")
    assert (outcome.state, outcome.reason) == (State.OK, "")


def test_a_page_of_another_pool_is_not_taken_for_it() -> None:
    machine = Machine()
    machine.pages["http://127.0.0.1/st?json"] = PAGE.replace("www", "other")
    (pool,), outcome = after(machine)
    assert (pool.active, pool.max_children, pool.listen_queue) == (None, 4, 1)
    assert "this user has no access to that socket" in str(outcome.reason)
    assert outcome.state is State.ABSENT


def test_a_silent_pool_is_followed_nonetheless() -> None:
    machine = Machine()
    machine.error = SilentError(verbatim("no response within 1.0 s"))
    (pool,), outcome = after(machine)
    assert (pool.active, pool.listen_queue, pool.max_children) == (None, 1, 4)
    assert (outcome.state, machine.asked.count("http://127.0.0.1/st?json")) == (State.FAILED, 0)


def test_a_configuration_that_may_not_be_read_is_named() -> None:
    machine = Machine()
    machine.files[CONF] = Missing("not permitted")
    pools, outcome = after(machine)
    assert pools == ()
    assert str(outcome.reason) == (
        f"php-fpm runs here, but its pools are unknown ({CONF}: not permitted). Name its status page with --fpm URL."
    )


def test_a_page_without_configuration_has_no_queue_of_a_unix_socket() -> None:
    machine = Machine()
    machine.masters = ()
    machine.pages["http://web1/st?json"] = PAGE
    (pool,), _ = after(machine, urls=["http://web1/st"])
    assert (pool.active, pool.max_children, pool.listen_queue) == (1, None, None)


def test_no_master_at_all() -> None:
    machine = Machine()
    machine.masters = ()
    assert str(after(machine)[1].reason) == "no php-fpm found"
    assert str(after(machine, find=False)[1].reason) == "not searched for"
