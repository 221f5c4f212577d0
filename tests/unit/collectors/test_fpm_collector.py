"""Following pools of php-fpm: through a web server where a socket is closed to this user, and other turns."""

import asyncio
from collections.abc import Sequence

from collectors.errors import FetchError, SilentError
from collectors.machine import Endpoint, Missing, Page
from collectors.php_fpm.collector import KIND as PHP_FPM
from collectors.php_fpm.collector import FpmCollector
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.i18n import verbatim
from loadtop.model import Cause, HostFacts, HostSample, Outcome, State
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.collectors.fake_machine import FakeMachine, fastcgi_record
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


class Machine(FakeMachine):
    """One master of php-fpm, whose configuration and pages a test gives; its socket is closed to this user."""

    def __init__(self) -> None:
        super().__init__()
        self.group, self.httpd = PHP_FPM.group, {7: ()}
        self.files |= {"/proc/7/cmdline": f"php-fpm: master process ({CONF})\0\0", CONF: POOL, "/proc/net/unix": UNIX}
        self.at_sockets: dict[tuple[str, str], str] = {}
        self.refusal = FetchError(verbatim("not permitted: this user has no access to that socket"), cause=Cause.SOCKET)
        self.asked = self.fetched  # pages and addresses

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002 - a Machine
        self.asked.append(address)
        if not self.at_sockets:
            raise self.refusal
        path = next((path for place, path in self.at_sockets if place == address and path.encode() in question), "")
        page = self.at_sockets.get((address, path))
        head, body = ("Status: 404 Not Found", "File not found.\n") if page is None else ("A: b", page)
        return fastcgi_record(6, f"{head}\r\n\r\n{body}".encode()) + fastcgi_record(3, bytes(8))


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
    machine.refusal = SilentError(verbatim("no response within 1.0 s"))
    (pool,), outcome = after(machine)
    assert (pool.active, pool.listen_queue, pool.max_children) == (None, 1, 4)
    assert (outcome.state, machine.asked.count("http://127.0.0.1/st?json")) == (State.FAILED, 0)


def test_a_configuration_that_may_not_be_read_is_named() -> None:
    machine = Machine()
    machine.files[CONF] = Missing("not permitted")
    pools, outcome = after(machine)
    assert pools == ()
    assert str(outcome.reason) == (
        f"php-fpm is running, but its pools are unknown ({CONF}: not permitted). Set its status page with --fpm URL."
    )


def test_a_page_without_configuration_has_no_queue_of_a_unix_socket() -> None:
    machine = Machine()
    machine.httpd = {}
    machine.pages["http://web1/st?json"] = PAGE
    (pool,), _ = after(machine, urls=["http://web1/st"])
    assert (pool.active, pool.max_children, pool.listen_queue) == (1, None, None)


def test_no_master_at_all() -> None:
    machine = Machine()
    machine.httpd = {}
    assert str(after(machine)[1].reason) == "no php-fpm found"
    assert str(after(machine, find=False)[1].reason) == "not looked for"


def test_at_its_socket_with_what_the_page_does_not_say() -> None:
    machine = Machine()
    machine.files[CONF] = POOL + "listen.backlog = 99\n"
    machine.at_sockets["/run/php/www.sock", "/st"] = PAGE
    (pool,), outcome = after(machine)
    assert (pool.active, pool.max_children, pool.listen_queue, pool.address) == (1, 4, 1, "/run/php/www.sock")
    assert pool.listen_queue_limit == 99
    assert (outcome.state, pool.silent_s) == (State.OK, None)
    assert machine.asked.count("/run/php/www.sock") == 8


def test_two_masters_with_pools_of_the_same_name() -> None:
    machine = Machine()
    machine.httpd[8] = ()
    other = "/etc/php/8.4/fpm/php-fpm.conf"
    machine.files |= {
        "/proc/8/cmdline": f"php-fpm: master process ({other})\0\0",
        other: POOL.replace("www.sock", "new.sock").replace("= 4", "= 6"),
    }
    machine.at_sockets = {(f"/run/php/{name}.sock", "/st"): PAGE for name in ("www", "new")}
    pools, _ = after(machine)
    assert [(pool.pool, pool.max_children) for pool in pools] == [("www", 4), ("www /run/php/new.sock", 6)]


def test_a_url_without_a_path_gets_that_of_the_configuration() -> None:
    machine = Machine()
    machine.files[CONF] = POOL + "[api]\nlisten = /run/php/api.sock\npm.max_children = 9\npm.status_path = /api\n"
    machine.at_sockets = {("/run/php/www.sock", "/st"): PAGE, ("/run/php/api.sock", "/api"): PAGE.replace("www", "api")}
    pools, _ = after(machine, urls=["unix:/run/php/api.sock"])
    assert [(pool.pool, pool.max_children) for pool in pools] == [("api", 9)]


def test_a_page_over_http_is_completed_by_the_name_of_its_pool() -> None:
    machine = Machine()
    machine.files[CONF] = POOL + "[api]\nlisten = 9001\npm.max_children = 9\npm.status_path = /api\n"
    machine.pages["http://web1/api?json"] = PAGE.replace("www", "api")
    (pool,), _ = after(machine, urls=["http://web1/api"])
    assert (pool.pool, pool.max_children, pool.address, pool.listen_queue) == ("api", 9, "127.0.0.1:9001", 0)


def test_pools_behind_an_unreadable_configuration_are_found_where_their_master_listens() -> None:
    machine = Machine()
    machine.files[CONF] = Missing("not permitted")
    machine.files["/proc/net/unix"] = UNIX.replace("www.sock", "php8.2-fpm.sock")
    machine.httpd[7] = (Endpoint("127.0.0.1", 9000),)
    machine.at_sockets = {
        ("127.0.0.1:9000", "/status"): PAGE,
        ("/run/php/php8.2-fpm.sock", "/fpm-status"): PAGE.replace("www", "api"),
    }
    pools, outcome = after(machine)
    found = [(pool.pool, pool.active, pool.max_children, pool.address, pool.listen_queue) for pool in pools]
    assert found == [("www", 1, None, "127.0.0.1:9000", 0), ("api", 1, None, "/run/php/php8.2-fpm.sock", 1)]
    assert outcome.state is State.OK


def test_few_sockets_are_asked_once_each() -> None:
    """Anyone can listen at any number of sockets that do not respond."""
    machine = Machine()
    machine.files[CONF] = Missing("permission denied")
    paths = [f"/home/me/fpm{number}.sock" for number in range(500)]
    machine.files["/proc/net/unix"] = (
        UNIX.splitlines()[0]
        + "".join(f"\n0: 2 0 00010000 0001 01 {number} {path}" for number, path in enumerate(paths))
        + "\n"
    )
    machine.at_sockets[(paths[40], "/fpm-status")] = PAGE
    machine.at_sockets[(paths[3], "/status")] = PAGE
    after(machine)
    assert set(machine.asked) == set(paths[:32])
    assert machine.asked[:20].count(paths[3]) == 2


def test_other_sockets_are_not_queried() -> None:
    machine = Machine()
    machine.files[CONF] = Missing("not permitted")
    machine.at_sockets["/run/php/www.sock", "/fpm-status"] = PAGE
    assert after(machine)[0] == ()
    assert machine.asked == []


def test_a_pool_without_a_page_is_said_how_to_get_one() -> None:
    machine = Machine()
    machine.files[CONF] = POOL.replace("pm.status_path = /st\n", "")
    (pool,), outcome = after(machine)
    assert (pool.pool, pool.active, pool.max_children, pool.listen_queue, pool.silent_s) == ("www", None, 4, 1, None)
    assert f"pool www has no status page: add this to its section [www] in {CONF}" in str(outcome.reason)
    assert machine.asked == []


def test_a_page_that_appears_is_followed() -> None:
    """A pool whose page cannot be fetched is looked for again."""
    machine = Machine()
    machine.pages["http://127.0.0.1/st?json"] = PAGE

    class Later(Machine):
        async def fetch(self, url: str, timeout_s: float) -> Page:
            if self.asked.count(url) < 1:
                self.asked.append(url)
                raise FetchError(verbatim("connection refused: nothing is listening there"))
            return await super().fetch(url, timeout_s)

    later = Later()
    later.pages = machine.pages
    (pool,), outcome = after(later)
    assert (pool.active, outcome.state) == (1, State.OK)


def test_one_pool_of_two_has_no_page() -> None:
    machine = Machine()
    machine.at_sockets["/run/php/www.sock", "/st"] = PAGE
    machine.files[CONF] = POOL + "[new]\nlisten = /run/php/new.sock\npm.max_children = 2\npm.status_path = /st\n"
    pools, outcome = after(machine)
    assert [(pool.pool, pool.active) for pool in pools] == [("www", 1), ("new", None)]
    assert outcome.state is State.OK
    assert "page not found (404)" in str(outcome.reason)


def test_among_pools_at_ports_the_socket_of_one_is_followed() -> None:
    machine = Machine()
    machine.files[CONF] = "[api]\nlisten = 9001\n" + POOL
    machine.at_sockets["/run/php/www.sock", "/st"] = PAGE
    assert [(pool.pool, pool.listen_queue) for pool in after(machine)[0]] == [("api", None), ("www", 1)]


def test_32_pools_are_followed() -> None:
    machine = Machine()
    machine.files[CONF] = "".join(f"[{number}]\nlisten = {9000 + number}\n" for number in range(40))
    assert [pool.pool for pool in after(machine)[0]] == [str(number) for number in range(32)]


def test_a_page_is_requested_from_six_web_servers() -> None:
    machine = Machine()
    after(machine, target_urls=[f"http://web{number}/" for number in range(9)])
    assert {url for url in machine.asked if url.startswith("http")} == {f"http://web{n}/st?json" for n in range(6)}


def test_the_first_path_with_a_page_is_taken() -> None:
    machine = Machine()
    machine.files[CONF] = Missing("not permitted")
    machine.httpd[7] = (Endpoint("127.0.0.1", 9000),)
    machine.at_sockets = {("127.0.0.1:9000", path): PAGE for path in ("/fpm-status", "/status")}
    assert len(after(machine)[0]) == 1
