"""Who serves the tested requests, from the sockets that processes hold."""

import asyncio
import re

import pytest

from collectors import request_path
from collectors.apache.collector import KIND as APACHE
from collectors.gunicorn.collector import KIND as GUNICORN
from collectors.haproxy.collector import KIND as HAPROXY
from collectors.kind import Kind
from collectors.machine import Endpoint, Member, Missing
from collectors.under_test import UnderTest
from loadtop.model import LOADTOP, OTHER
from tests.unit.collectors.fake_machine import FakeMachine

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
LOADED = "http://127.0.0.1:8000/"
SERVICE, CHILD, IDLE, PROXY, WORKER, BACKEND = 10, 11, 20, 30, 40, 50


def row(local: tuple[str, int], remote: tuple[str, int], state: str, inode: int) -> str:
    ends = " ".join(f"{bytes(map(int, reversed(host.split('.')))).hex()}:{port:04X}" for host, port in (local, remote))
    return f"   0: {ends} {state} 00000000:00000000 00:00000000 00000000     0        0 {inode} 1 0 100 0 0 10 0\n"


class Machine(FakeMachine):
    """An Apache at port 8080 and a HAProxy at 8081, both idle; ``opens`` lets a process hold a socket."""

    def __init__(self) -> None:
        super().__init__()
        self.httpd = {IDLE: (Endpoint("127.0.0.1", 8080),)}
        self.held: dict[int, list[int]] = {}
        self.rows: list[str] = []
        self.hidden: set[int] = set()
        self.pools: tuple[int, ...] = ()
        self.networks: dict[str, str] = {}
        self.searches = 0  # for the processes that hold sockets
        self.processes((IDLE, "apache2", "httpd"))
        self.processes((PROXY, "haproxy", "haproxy"))
        self.opens(IDLE, ("127.0.0.1", 8080))
        self.opens(PROXY, ("127.0.0.1", 8081))

    def processes(self, *lineage: tuple[int, str, str]) -> None:
        """A process, and those that it descends from."""
        members = [Member(*each) for each in lineage]
        self.members |= {member.pid: members[place:] for place, member in enumerate(members)}

    def opens(self, pid: int, local: tuple[str, int], remote: tuple[str, int] | None = None) -> None:
        inode = 1000 + len(self.rows)
        self.rows.append(row(local, remote or ("0.0.0.0", 0), "01" if remote else "0A", inode))  # noqa: S104
        self.held.setdefault(pid, []).append(inode)

    def asked(self) -> None:
        """Someone is connected to the tested port."""
        self.rows.append(row(("127.0.0.1", 8000), ("127.0.0.1", 40000), "01", 0))

    def servers(self, group: str) -> tuple[int, ...]:
        return {"httpd": (IDLE,), "haproxy": (PROXY,), "gunicorn": self.pools}.get(group, ())

    def _text(self, path: str) -> str | Missing:
        if path == "@few/proc/net/tcp":
            return HEAD + "".join(sorted(self.rows, key=lambda line: " 0A " not in line))
        if path.startswith("@holders/"):
            self.searches += 1
            wanted = set(map(int, re.findall(r"\d+", path)))
            found = [(pid, inode) for pid, inodes in self.held.items() for inode in inodes if inode in wanted]
            return "".join(f"{pid} socket:[{inode}]\n" for pid, inode in found if pid not in self.hidden)
        if (named := re.fullmatch(r"/proc/(\w+)/ns/", path)) and named[1] in self.networks:
            return self.networks[named[1]]
        return super()._text(path)


@pytest.fixture
def machine() -> Machine:
    """A service that is no server of a known kind listens at the tested port."""
    made = Machine()
    made.processes((SERVICE, "python3", OTHER), (5, "bash", OTHER))
    made.opens(SERVICE, ("127.0.0.1", 8000))
    return made


@pytest.fixture
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """One look is enough."""
    monkeypatch.setattr(request_path, "LEAST_LOOKS", 1)


def placed(machine: Machine, *kinds: Kind) -> tuple[set[int], set[int], list[list[str]]]:
    """Who is set aside, who is a service, and where Apache's page may be."""

    async def look() -> list[list[str]]:
        under_test = UnderTest(machine, (APACHE, HAPROXY, *kinds), [LOADED])
        under_test.look()
        await under_test.settle(1.0)
        await under_test.path.finish()
        pages = await under_test.origins(APACHE)
        await under_test.close()
        return pages

    pages = asyncio.run(look())
    return set(machine.aside or ()), set(machine.services), pages


@pytest.mark.usefixtures("one_look")
def test_other_servers_are_set_aside_and_not_queried(machine: Machine) -> None:
    machine.asked()
    assert placed(machine) == ({IDLE, PROXY}, {SERVICE}, [])


def test_a_single_look_at_a_service_that_asks_nobody_sets_no_server_aside(machine: Machine) -> None:
    """It may have met a request for a status page that the service has not passed on yet."""
    machine.asked()
    assert placed(machine) == (set(), {SERVICE}, [["http://127.0.0.1:8000", "http://127.0.0.1:8080"]])


def test_a_single_look_at_a_service_that_asks_another_is_enough(machine: Machine) -> None:
    machine.asked()
    machine.opens(SERVICE, ("127.0.0.1", 40001), ("127.0.0.1", 8080))
    assert placed(machine)[:2] == ({PROXY}, {SERVICE})


@pytest.mark.usefixtures("one_look")
def test_a_pool_at_the_tested_port_needs_no_web_server(machine: Machine) -> None:
    machine.processes((SERVICE, "gunicorn", "gunicorn"), (5, "bash", OTHER))
    machine.asked()
    assert placed(machine, GUNICORN) == ({IDLE, PROXY}, set(), [])


@pytest.mark.parametrize(("looks", "aside"), [(1, {PROXY, BACKEND}), (2, {PROXY})])
def test_a_pool_that_is_not_reached_is_set_aside_after_some_looks(
    monkeypatch: pytest.MonkeyPatch, looks: int, aside: set[int]
) -> None:
    """Connections to it can be short."""
    monkeypatch.setattr(request_path, "LEAST_LOOKS", looks)
    machine = Machine()
    machine.httpd[IDLE] = (Endpoint("127.0.0.1", 8000),)
    machine.opens(IDLE, ("127.0.0.1", 8000))
    machine.processes((BACKEND, "gunicorn", "gunicorn"))
    machine.pools = (BACKEND,)
    machine.asked()
    assert placed(machine, GUNICORN)[0] == aside


def test_nothing_is_decided_before_the_load_comes(machine: Machine) -> None:
    """A proxy holds no connection to those behind it before."""
    assert placed(machine)[:2] == (set(), set())


def test_the_first_sample_after_the_load_has_come_knows_who_serves_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples are a second apart, but for a few milliseconds."""

    async def samples() -> list[bool]:
        under_test = UnderTest(machine, (APACHE, HAPROXY), [LOADED])
        loop = asyncio.get_running_loop()
        now, found = loop.time(), list[bool]()
        monkeypatch.setattr(loop, "time", lambda: now)
        for connected in (False, True, True):
            if connected:
                machine.asked()
            under_test.look()
            found.append(await under_test.settle(1.0))
            now += 0.98
        await under_test.close()
        return found

    assert asyncio.run(samples()) == [False, True, False]
    assert machine.services == {SERVICE}


@pytest.mark.parametrize("turns", range(12))
async def test_a_watch_ends_whenever_it_is_cancelled(machine: Machine, turns: int) -> None:
    """Also in the moment at which the search ends that it waits for."""
    under_test = UnderTest(machine, (APACHE, HAPROXY), [LOADED])
    under_test.look()

    async def watch() -> None:
        for _ in range(100):
            await under_test.settle(1.0)
            await asyncio.sleep(0)

    task = asyncio.create_task(watch())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait((task,), timeout=0.5)
    await under_test.close()
    assert task.cancelled()


def test_nothing_is_known_where_its_sockets_may_not_be_read(machine: Machine) -> None:
    machine.asked()
    machine.hidden = {SERVICE}
    assert placed(machine)[:2] == (set(), set())


def test_the_server_that_a_child_of_the_service_asks_is_under_test(machine: Machine) -> None:
    """The service is a reverse proxy, and one of its children holds the connection."""
    machine.asked()
    machine.processes((CHILD, "worker", OTHER), (SERVICE, "python3", OTHER))
    machine.opens(CHILD, ("127.0.0.1", 50000), ("127.0.0.1", 8080))
    assert placed(machine) == ({PROXY}, {SERVICE}, [["http://127.0.0.1:8080"]])


def test_a_service_behind_a_known_server_is_found(machine: Machine) -> None:
    """The worker of Apache that serves the tested port holds connections to it. The shell that started it is none."""
    machine.asked()
    machine.held = {pid: inodes for pid, inodes in machine.held.items() if pid != SERVICE}
    machine.processes((WORKER, "apache2", "httpd"), (IDLE, "apache2", "httpd"))
    machine.opens(WORKER, ("127.0.0.1", 8000))
    machine.httpd[IDLE] += (Endpoint("127.0.0.1", 8000),)
    machine.processes((BACKEND, "gunicorn", OTHER), (5, "bash", OTHER))
    machine.opens(BACKEND, ("0.0.0.0", 9000))  # noqa: S104
    machine.opens(WORKER, ("127.0.0.1", 50000), ("127.0.0.1", 9000))
    assert placed(machine)[:2] == ({PROXY}, {BACKEND})


@pytest.mark.parametrize(("long_s", "looks"), [(1.0, request_path.MOST_LOOKS), (-1.0, request_path.LEAST_LOOKS)])
def test_a_service_that_asks_ever_new_places_is_not_followed_each_second(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, long_s: float, looks: int
) -> None:
    monkeypatch.setattr(request_path, "SOON_S", 0.0)
    monkeypatch.setattr(request_path, "LONG_S", long_s)
    machine.asked()

    async def look() -> None:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        for port in range(1, 2 * request_path.MOST_LOOKS):
            machine.opens(SERVICE, ("127.0.0.1", 50000), ("10.0.0.1", port))
            path.look()
            await path.finish()
        await path.close()

    asyncio.run(look())
    assert machine.searches == looks


def test_who_holds_sockets_is_looked_up_again_only_where_one_is_new(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOON_S", "AGAIN_S", "MOST_S"):
        monkeypatch.setattr(request_path, name, 0.0)
    machine.asked()

    async def look() -> list[int]:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        found: list[int] = []
        for turn in range(9):
            if turn == 6:
                machine.opens(SERVICE, ("127.0.0.1", 50000), ("127.0.0.1", 8080))
            path.look()
            await path.finish()
            found.append(machine.searches)
        assert IDLE in path.reached, "the server that is asked only now"
        await path.close()
        return found

    first = request_path.LEAST_LOOKS
    assert asyncio.run(look()) == [1, 2, first, first, first, first, first + 1, first + 2, first + 2]


def test_a_service_that_hands_its_socket_over_is_found_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOON_S", "AGAIN_S", "MOST_S"):
        monkeypatch.setattr(request_path, name, 0.0)
    machine.asked()

    async def look() -> list[frozenset[int]]:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        found: list[frozenset[int]] = []
        for turn in range(8):
            if turn == 6:
                machine.members.pop(SERVICE)
                machine.processes((CHILD, "python3", OTHER))
                machine.held[CHILD] = machine.held.pop(SERVICE)
            path.look()
            await path.finish()
            found.append(path.services)
        await path.close()
        return found

    assert asyncio.run(look())[5:] == [{SERVICE}, {CHILD}, {CHILD}]


@pytest.mark.parametrize(
    ("tested", "searches"),
    [
        (("127.0.0.1", 8000), 0),  # who connects there is a client of the test
        (("127.0.0.1", 8080), 1),
        (("127.0.0.2", 8000), 1),  # a server of its own may listen there: behind it is another at the tested port
    ],
)
def test_clients_of_the_test_are_not_looked_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tested: tuple[str, int], searches: int
) -> None:
    for name in ("SOON_S", "AGAIN_S", "MOST_S"):
        monkeypatch.setattr(request_path, name, 0.0)
    machine.asked()
    if tested == ("127.0.0.2", 8000):
        machine.opens(BACKEND, tested)

    async def look() -> int:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        for _ in range(5):
            path.look()
            await path.finish()
        before = machine.searches
        machine.opens(5, ("127.0.0.1", 50000), tested)
        path.look()
        await path.finish()
        await path.close()
        return machine.searches - before

    assert asyncio.run(look()) == searches


def test_who_holds_sockets_is_looked_up_again_where_some_were_left_out(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SOON_S", "AGAIN_S", "MOST_S"):
        monkeypatch.setattr(request_path, name, 0.0)
    monkeypatch.setattr(request_path, "MOST_SOCKETS", len(machine.rows))
    machine.asked()

    async def look() -> None:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        for _ in range(8):
            path.look()
            await path.finish()
        await path.close()

    asyncio.run(look())
    assert machine.searches == 8


def test_a_service_whose_connections_are_too_short_is_found_but_sets_no_server_aside(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_path, "SOON_S", 0.0)
    found: list[tuple[frozenset[int], bool, int]] = []

    async def look() -> None:
        path = UnderTest(machine, (APACHE, HAPROXY), [LOADED]).path
        machine.opens(SERVICE, ("127.0.0.1", 50000), ("127.0.0.1", 8080))  # one of Apache and HAProxy, so far
        for number in range(4 * request_path.LEAST_LOOKS):
            if number == 2 * request_path.LEAST_LOOKS:  # it is started again
                machine.members.pop(SERVICE)
                machine.processes((CHILD, "python3", OTHER))
                machine.held[CHILD] = machine.held.pop(SERVICE)
            path.look()
            await path.finish()
            found.append((path.services, path.known, machine.searches))
        assert (path.reached, path.asked, path.leaves) == (frozenset(), {}, False)
        await path.close()

    asyncio.run(look())
    none = frozenset[int]()
    seldom = request_path.LEAST_LOOKS
    assert found[: seldom - 1] == [(none, False, 0)] * (seldom - 1)
    assert found[seldom - 1 : -1] == [(frozenset({SERVICE}), False, 1)] * (3 * seldom)
    assert found[-1] == (frozenset({CHILD}), False, 2), "twice as many looks after the first search"
    assert not machine.aside


def test_a_page_that_loadtop_serves_sets_no_server_aside(machine: Machine) -> None:
    machine.asked()
    machine.processes((SERVICE, "python3", LOADTOP))
    assert placed(machine)[:2] == (set(), set())


@pytest.mark.usefixtures("one_look")
@pytest.mark.parametrize("leaves", [False, True])
def test_a_server_in_a_container_counts_where_the_service_may_lead_there(machine: Machine, *, leaves: bool) -> None:
    machine.asked()
    machine.httpd[IDLE] = ()
    machine.networks = {"self": "net:[1]\n", str(IDLE): "net:[2]\n"}
    if leaves:
        machine.opens(SERVICE, ("172.17.0.1", 50000), ("172.17.0.2", 80))
    aside, services, pages = placed(machine)
    assert services == {SERVICE}
    assert (aside, pages) == ((set(), [["http://127.0.0.1:8000"]]) if leaves else ({IDLE, PROXY}, []))


def test_a_port_that_is_carried_into_a_container_says_nothing_of_those_in_containers(machine: Machine) -> None:
    machine.asked()
    machine.httpd[IDLE] = ()
    machine.networks = {"self": "net:[1]\n", str(IDLE): "net:[2]\n"}
    machine.processes((SERVICE, "docker-proxy", OTHER))
    assert placed(machine)[0] == set()


@pytest.mark.parametrize(("looks", "client", "aside"), [(1, None, True), (1, 8080, False), (9, None, False)])
def test_a_web_server_without_clients_is_set_aside_where_nobody_may_be_seen(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, looks: int, client: int | None, aside: bool
) -> None:
    """The service is another user's, and so are its sockets. Behind it there may be the web server, with a client."""
    monkeypatch.setattr(request_path, "LEAST_LOOKS", looks)
    machine.hidden = {SERVICE}
    machine.asked()
    if client is not None:
        machine.rows.append(row(("127.0.0.1", client), ("127.0.0.1", 40001), "01", 0))
    found, services, _ = placed(machine)
    assert (IDLE in found, services) == (aside, set())
