"""Services that processes under test ask, by the clocks of their connections; and file locks from /proc/locks."""

import asyncio
import socket
import struct
from collections.abc import Iterator

import pytest

from collectors.errors import ParseError
from collectors.linux import locks, peers
from collectors.linux.peers import CLOCKS as CLOCKS_FILE
from collectors.machine import Endpoint
from collectors.php_fpm.collector import KIND as PHP_FPM
from collectors.request_path import RequestPath
from collectors.servers import KINDS
from collectors.transport import sock_diag
from collectors.transport.sock_diag import Connection
from collectors.transport.tcp_clocks import MOST_STAYING, Lead, TcpClocks, TcpSums, is_open
from collectors.waits import LockedFiles, Waits
from loadtop.model import OTHER, FileLock, HostFacts, HostSample, Peer, Process, Queued
from tests.unit.collectors.fake_machine import FakeMachine
from tests.unit.collectors.instant import instantly

SERVICES = (*(kind.service for kind in KINDS), *peers.SERVICES)
CLOCKS = """\
readings 10
< 10.0.0.1:80 33
< 127.0.0.1:9001 200
> 127.0.0.1:9001 33 60 50 1000 70 48.5 980
> 10.0.0.5:3306 200 80 40 900 400 40 900
> 10.0.0.9:6379 1000 10 10 99999 1 10 99999
> [fd00::5]:5432 0 10 0 0 1 0 0
"""


def test_whom_the_users_ask_who_serve_the_tested_port() -> None:
    """33 serves it and asks 200, who asks the database. Root and strangers do not count."""
    chosen = peers.of_users(peers.parse(CLOCKS), {80}, ())
    assert chosen == {(Endpoint("127.0.0.1", 9001), 33): 1, (Endpoint("10.0.0.5", 3306), 200): 2}


def test_a_server_that_is_watched_itself_is_on_the_way() -> None:
    chosen = peers.of_users(peers.parse(CLOCKS), {80}, {9001})
    assert list(chosen) == [(Endpoint("10.0.0.5", 3306), 200)]


def test_root_may_ask_anything() -> None:
    by_root = peers.parse(CLOCKS.replace("10.0.0.1:80 33", "10.0.0.1:80 0"))
    assert peers.only_root_serves(by_root, {80})
    assert not peers.only_root_serves(peers.parse(CLOCKS), {80})
    assert not peers.only_root_serves(peers.parse(CLOCKS), {81})


def test_peers_count_from_the_reading_on_in_which_they_are_chosen() -> None:
    counters, place = peers.PeerCounters(SERVICES), Endpoint("10.0.0.5", 3306)
    assert counters.update(peers.parse(CLOCKS), {}, {}).peers == ()
    later = peers.parse(
        CLOCKS.replace("80 40 900 400 40 900", "100 55 950 500 55 950").replace("readings 10", "readings 14")
    )
    found = counters.update(later, peers.at_places(later, {place: 2}), {})
    assert found.readings == 14
    assert found.peers == (Peer("10.0.0.5:3306", "mysql", 2, 20, 15, 50, 100),)


def test_messages_that_have_no_answer_are_no_questions_to_mysql() -> None:
    clocks = peers.parse(CLOCKS.replace("80 40 900 400 40 900", "80 40 900 400 9.5 50"))
    chosen = peers.at_places(clocks, {Endpoint("10.0.0.5", 3306): 2, Endpoint("127.0.0.1", 9001): 1})
    database, pool = peers.PeerCounters(SERVICES).update(clocks, chosen, {}).peers
    assert (database.questions, database.age_ms, database.segments) == (9.5, 50, 400)
    assert (pool.questions, pool.age_ms) == (50, 1000), "that is FastCGI"


def test_accept_queues_are_told_by_port() -> None:
    clocks = peers.parse(f"{CLOCKS}queues 7\n= 80 12\n= 443 0\n")
    assert clocks.queued == (Queued(80, 12), Queued(443, 0))
    found = peers.PeerCounters(SERVICES).update(clocks, {}, {})
    assert (found.queued, found.queue_readings) == ((Queued(80, 12),), 7)


@pytest.mark.parametrize("counter", range(6))
def test_one_counter_that_falls_is_enough(counter: int) -> None:
    counters, place = peers.PeerCounters(SERVICES), Endpoint("10.0.0.5", 3306)
    then, now = [80, 40, 900, 400, 30, 800], [81, 41, 901, 401, 31, 801]
    now[counter] = then[counter] - 1
    row = "80 40 900 400 40 900"
    counters.update(peers.parse(CLOCKS.replace(row, " ".join(map(str, then)))), {}, {})
    anew = peers.parse(CLOCKS.replace(row, " ".join(map(str, now))))
    (found,) = counters.update(anew, peers.at_places(anew, {place: 1}), {}).peers
    assert [found.connections, found.questions, found.age_ms, found.segments] == [now[0], now[4], now[5], now[3]]


def test_a_peer_chosen_at_once_counts_from_nothing_and_then_on() -> None:
    counters, place = peers.PeerCounters(SERVICES), Endpoint("10.0.0.5", 3306)
    first = peers.parse(CLOCKS)
    chosen = peers.at_places(first, {place: 1})
    same = Peer("10.0.0.5:3306", "mysql", 1, 80, 40, 900, 400)
    for _ in range(2):
        assert counters.update(first, chosen, {}).peers == (same,)
    gone = peers.parse(CLOCKS.replace("> 10.0.0.5:3306 200 80 40 900 400 40 900\n", ""))
    assert counters.update(gone, {}, {}).peers == ()
    back = peers.parse(CLOCKS.replace("80 40 900 400", "90 40 900 400"))
    assert counters.update(back, chosen, {}).peers[0].connections == 90


def test_two_users_who_ask_the_same_place_are_one_peer() -> None:
    counters, place = peers.PeerCounters(SERVICES), Endpoint("10.0.0.5", 3306)
    clocks = peers.parse(CLOCKS + "> 10.0.0.5:3306 33 8 4 90 40 4 90\n")
    chosen = {(place, 200): 2, (place, 33): 1}
    (found,) = counters.update(clocks, chosen, {place: "mariadbd"}, {place}).peers
    assert found == Peer("10.0.0.5:3306", "mysql", 1, 88, 44, 990, 440, watched=True)


@pytest.mark.parametrize(
    ("port", "process", "kind"),
    [(25, "", "smtp"), (53, "", "dns"), (80, "", "http"), (389, "", "ldap"), (443, "", "http"), (465, "", "smtp"),
     (587, "", "smtp"), (636, "", "ldap"), (5432, "", "postgresql"), (6379, "", "redis"), (8000, "", "http"),
     (8080, "", "http"), (8443, "", "http"), (3306, "", "mysql"),
     (3307, "mariadbd", "mysql"), (9000, "", "php-fpm"), (1234, "php-fpm8.2", "php-fpm"),
     (11211, "", "memcached"), (4711, "python3", None)],
)  # fmt: skip
def test_services_are_recognised_by_process_or_port(port: int, process: str, kind: str | None) -> None:
    assert peers.kind_of(SERVICES, Endpoint("10.0.0.5", port), process) == kind


@pytest.mark.parametrize(
    ("path", "process", "kind"),
    [("/run/mysqld/mysqld.sock", "", "mysql"), ("/var/run/postgresql/.s.PGSQL.5432", "", "postgresql"),
     ("/run/redis/redis-server.sock", "", "redis"), ("/run/php/php8.2-fpm.sock", "", "php-fpm"),
     ("/run/app.sock", "", None), ("/run/app.sock", "mariadbd", "mysql")],
)  # fmt: skip
def test_services_at_unix_sockets_are_recognised_by_process_or_path(path: str, process: str, kind: str | None) -> None:
    assert peers.kind_of(SERVICES, Endpoint(path, 0), process) == kind


def test_a_unix_socket_is_a_peer_by_its_path() -> None:
    """But for that of the pool that serves the requests."""
    text = CLOCKS + "| /run/mysqld/mysqld.sock 33 9 8 700 4 8 700\n| /run/php/php8.2-fpm.sock 33 9 9 9 9 9 9\n"
    clocks = peers.parse(text)
    chosen = peers.of_users(clocks, {80}, {9001}, [PHP_FPM.service])
    assert chosen == {(Endpoint("10.0.0.5", 3306), 200): 2, (Endpoint("/run/mysqld/mysqld.sock", 0), 33): 1}
    (found,) = peers.PeerCounters(SERVICES).update(clocks, {(Endpoint("/run/mysqld/mysqld.sock", 0), 33): 1}, {}).peers
    assert found == Peer("/run/mysqld/mysqld.sock", "mysql", 1, 9, 8, 700, 4, by_connection=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "readings\n",
        "readings 1\n| run/a 1 1 1 1 1 0 0\n",
        "readings 1\n> 10.0.0.5:3306 1 1 1 1 1\n",
        "readings 1\n> x\n",
        "readings 1\n= 80\n",
        "readings 1\n= 99999 1\n",
        "readings 1\n> 10.0.0.5:99999 1 1 1 1 1 0 0\n",
    ],
)
def test_texts_that_are_none(text: str) -> None:
    with pytest.raises(ParseError):
        peers.parse(text)


LOCKS = """\
1: FLOCK  ADVISORY  WRITE 26171 fe:00:9977858 0 EOF
1: -> FLOCK  ADVISORY  WRITE 26172 fe:00:9977858 0 EOF
1: -> FLOCK  ADVISORY  WRITE 26173 fe:00:9977858 0 EOF
1: -> FLOCK  ADVISORY  WRITE 4711 fe:00:9977858 0 EOF
2: POSIX  ADVISORY  WRITE 800 00:17:1066 0 EOF
3: LEASE  ACTIVE    READ  800 fe:00:12 0 EOF
3: -> LEASE  BREAKER   READ  26172 fe:00:12 0 EOF
4: OFDLCK ADVISORY  READ  -1 fe:00:77 0 9
4:  -> OFDLCK ADVISORY  WRITE 26171 fe:00:77 0 9
"""


def test_locks_for_which_processes_under_test_wait() -> None:
    found = locks.parse(LOCKS, {26171, 26172, 26173}, {26171: "apache2"})
    assert found == (FileLock("flock", "fe:00", 9977858, 26171, "apache2", 2), FileLock("ofd", "fe:00", 77, 0, "", 1))


def test_processes_that_have_a_file_locked_and_their_open_files() -> None:
    assert locks.processes_at(LOCKS, "fe:00", 9977858) == (26171, 26172, 26173, 4711)
    assert locks.processes_at(LOCKS.replace("4711", "0"), "fe:00", 9977858) == (26171, 26172, 26173)
    assert (locks.processes_at(LOCKS, "fe:01", 9977858), locks.processes_at(LOCKS, "fe:00", 77)) == ((), (26171,))
    assert locks.open_files([7, 8]).made_of == ("@files", "7,8")


@pytest.mark.parametrize("row", ["", "what is this\n", "2: DELEG ACTIVE READ 5 fe:00:1 0 EOF\n"])
def test_those_that_wait_for_an_unknown_lock_are_left_out(row: str) -> None:
    """A row that is not understood ends what waits for the lock before it."""
    waits = "2: -> FLOCK ADVISORY WRITE 26172 fe:00:9977858 0 EOF\n"
    text = f"1: FLOCK ADVISORY WRITE 26171 fe:00:9977858 0 EOF\n{row}{waits}"
    assert len(locks.parse(text, {26172}, {})) == (0 if row else 1)


def test_a_waiter_of_an_unknown_kind_does_not_end_a_lock() -> None:
    rows = ("1: FLOCK", "1: -> DELEG", "1: -> FLOCK")
    text = "".join(f"{row} ADVISORY WRITE 2617{n} fe:00:9977858 0 EOF\n" for n, row in enumerate(rows))
    assert [lock.waiting for lock in locks.parse(text, {26172}, {})] == [1]


async def nothing() -> None:
    """No one follows the request path."""


async def test_locks_of_a_database_are_its_own() -> None:
    """The server does not wait for the file locks that a database waits for."""
    machine, url = FakeMachine(), "http://127.0.0.1:80/"
    waits = Waits(machine, (url,), RequestPath(machine, (url,), nothing), lambda: (), KINDS)
    machine.files[locks.LOCKS] = LOCKS
    groups = {26171: "mysql", 26172: "mysql", 26173: "httpd", 4711: OTHER}
    processes = tuple(Process(pid, group, group, "S", 1, 0, 1, 9) for pid, group in groups.items())
    sample = HostSample("", 1.0, HostFacts("web1", "fake", "Linux", "6.1", 2), processes=processes)
    _, found, _ = waits.collect(sample)
    assert found == (FileLock("flock", "fe:00", 9977858, 26171, "mysql", 1),)
    await waits.close()


async def test_a_pool_that_takes_the_requests_is_not_a_peer() -> None:
    """The user who serves the tested port asks it at its address."""
    machine, url = FakeMachine(), "http://10.0.0.1:80/"
    waits = Waits(machine, (url,), RequestPath(machine, (url,), nothing), lambda: (), KINDS)
    machine.files[CLOCKS_FILE] = CLOCKS
    sample = HostSample("", 1.0, HostFacts("web1", "fake", "Linux", "6.1", 2))
    for pools, addresses in (((), {"127.0.0.1:9001", "10.0.0.5:3306"}), (("127.0.0.1:9001",), {"10.0.0.5:3306"})):
        found, _, _ = waits.collect(sample, pools)
        assert found is not None
        assert {peer.address for peer in found.peers} == addresses
    await waits.close()


async def test_a_lock_has_its_path_where_open_files_may_be_read() -> None:
    """Of the processes that hold it or wait for it, whichever has the file open at that moment."""
    machine = FakeMachine()
    machine.files[locks.LOCKS] = LOCKS
    open_files = locks.open_files(locks.processes_at(LOCKS, "fe:00", 9977858))
    assert open_files.path == "@files/26171,26172,26173,4711"
    machine.files[open_files.path] = "12 /dev/null\n9977858 /var/lib/php/sessions/sess_1\nx\n"
    found, files = (FileLock("flock", "fe:00", 9977858, 26171, "php", 3),), LockedFiles(machine)
    assert files.named(found) == found
    await files.finish()
    assert files.named(found)[0].path == "/var/lib/php/sessions/sess_1"
    await files.close()


def test_a_file_is_not_confused_with_one_on_another_device() -> None:
    text = "12 /srv/lock\n12 /srv/lock\n13 /srv/a\n13 /tmp/b\n"
    assert locks.parse_open_files(text) == {12: "/srv/lock"}


@instantly
async def test_of_many_files_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.waits.MOST_FILES", 2)
    machine = FakeMachine()
    files = LockedFiles(machine)
    machine.files["@files/7,8"] = "1 /a\n2 /b\n3 /c\n"
    each = [(FileLock("flock", "fe:00", inode, 7, "php", 1),) for inode in (1, 2, 3)]
    for (lock,) in each:
        rows = (
            f"1:{way} FLOCK  ADVISORY  WRITE {pid} fe:00:{lock.inode} 0 EOF\n" for way, pid in (("", 7), (" ->", 8))
        )
        machine.files[locks.LOCKS] = "".join(rows)
        files.named((lock,))
        await asyncio.sleep(2.0)
    assert [files.named(found)[0].path for found in reversed(each)] == ["/c", "/b", None]
    await files.close()


def test_however_many_wait_in_a_row_all_are_counted() -> None:
    """Each waits for the one before it, further to the right."""
    rows = [f"1: {' ' * n}-> FLOCK  ADVISORY  WRITE {n} fe:00:7 0 EOF\n" for n in range(1, 301)]
    (found,) = locks.parse("1: FLOCK  ADVISORY  WRITE 1000 fe:00:7 0 EOF\n" + "".join(rows), range(1, 301), {})
    assert found.waiting == 300


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        listener.accept()[0] as server,
    ):
        yield client, server


def ignore(_: bytes, __: int, ___: int) -> None:
    """For a connection that was accepted here."""


@pytest.mark.parametrize(("family", "address"), [("v4", "127.0.0.1"), ("v6", "::1"), ("v6", "::ffff:127.0.0.1")])
def test_a_connection_is_found_again_while_it_is_established(family: str, address: str) -> None:
    kind = socket.AF_INET if family == "v4" else socket.AF_INET6
    with (
        socket.create_server(("", 0), family=kind, dualstack_ipv6=family == "v6") as listener,
        socket.socket(kind) as client,
        socket.socket(kind) as other,
    ):
        port = listener.getsockname()[1]
        for each in (client, other):
            each.connect((address, port))
        opened = sock_diag.connections(sock_diag.listening_ports(), ignore)
        found = [each for each in opened if each.remote_port == port]
        assert {each.port for each in found} == {each.getsockname()[1] for each in (client, other)}
        assert [again and again[:5] for again in sock_diag.the_same(found)] == [each[:5] for each in found]
        other.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        other.close()  # with a reset, which leaves nothing
        assert [again and again.port for again in sock_diag.the_same(found)] == [
            each.port if each.port == client.getsockname()[1] else None for each in found
        ]


def connected(port: int, remote_port: int = 3306, *, sent_ms: int = 5, segments: int = 2) -> Connection:
    """One on which a question is pending, unless data was received later than it was sent, 10 ms ago."""
    return Connection(b"\x0a\0\0\1", port, b"\x0a\0\0\5", remote_port, 33, 0, 0, sent_ms, 10, 10, 7, segments)


def sums_of(sums: TcpSums) -> dict[int, tuple[float, ...]]:
    return {each.place.port: each.counters[:4] for each in peers.parse(sums.text()).asked}


def test_connections_that_stay_count_with_the_mean_since_the_last_reading() -> None:
    sums, one, two = TcpSums(), connected(1), connected(2, sent_ms=50)
    sums.add([one, two, connected(9, 80)], set())
    assert sums.staying(()) == [], "new ones may be brief"
    sums.add([two, one, connected(8, 80)], set())
    assert sums.staying(()) == [two, one]
    sums.add_between([two, connected(1, sent_ms=3, segments=3)])
    sums.add_between([connected(2, sent_ms=6), connected(1, sent_ms=2, segments=3)])
    sums.add_between([None, None])
    before = sums_of(sums)
    assert before == {3306: (4, 2, 10, 4), 80: (2, 2, 10, 4)}
    sums.add([connected(1, sent_ms=60, segments=4), connected(2, sent_ms=9)], set())
    passed = [now - then for now, then in zip(sums_of(sums)[3306], before[3306], strict=True)]
    assert passed == pytest.approx([2, 2 / 3 + 2 / 3, 5 / 3 + 5, 2], abs=0.01)
    sums.add([one, two], set())
    assert sums_of(sums)[3306][1] - passed[1] == pytest.approx(3), "what was seen counts once"
    assert sums.readings == 4


def test_connections_of_the_load_are_read_between_readings_only_without_others() -> None:
    sums = TcpSums()
    load = [connected(port, 80) for port in range(2 * MOST_STAYING)]
    for _ in range(2):
        sums.add([*load, *map(connected, range(3))], set())
    assert [each.remote_port for each in sums.staying({80})] == [3306] * 3
    sums.add(load, set())
    assert sums.staying({80}) == load[:MOST_STAYING]


@pytest.mark.parametrize(
    ("unacknowledged", "sent_ms", "received_ms", "acknowledged_ms", "open_"),
    [
        (0, 100, 80, 80, False),  # answered
        (0, 80, 100, 60, True),
        (1, 20, 20, 20, True),  # asked in the tick of the answer before
        (0, 220, 220, 176, True),  # and acknowledged by a peer that has no answer after 44 ms
        (0, 220, 220, 220, False),  # asked and answered within a tick
        (0, 5000, 5000, 1000, False),  # a keep-alive probe was acknowledged
        (0, 5000, 5000, 4500, True),
        (0, 5000, 5000, 4499, False),
    ],
)
def test_open_questions_by_clocks_and_acknowledgements(
    unacknowledged: int, sent_ms: int, received_ms: int, acknowledged_ms: int, open_: bool
) -> None:
    ends = (b"", 1, b"", 2, 33, 0)
    assert is_open(Connection(*ends, unacknowledged, sent_ms, received_ms, acknowledged_ms, 5, 6)) is open_


@pytest.mark.parametrize(("silent_ms", "open_"), [(0, True), (9_999, True), (10_000, False)])
def test_a_service_that_speaks_first_is_waited_for(silent_ms: int, open_: bool) -> None:
    assert is_open(Connection(b"", 1, b"", 2, 33, 0, 0, silent_ms, silent_ms, silent_ms, 0, 0)) is open_


@pytest.mark.parametrize(("segments_out", "open_"), [(1, True), (63, True), (64, False)])
def test_a_connection_that_was_never_answered(segments_out: int, open_: bool) -> None:
    assert is_open(Connection(b"", 1, b"", 2, 33, 0, 0, 20, 20, 20, 0, segments_out)) is open_


def test_the_next_question_in_the_tick_of_an_answer(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    address, port = server.getsockname()[:2]
    clocks = TcpClocks()
    clocks.read()
    for _ in range(5):
        client.sendall(b"question")
        server.recv(10)
        server.sendall(b"answer")
        client.recv(10)
    client.sendall(b"question")
    server.recv(10)
    try:
        for reading in range(1, 6):
            clocks.read()
            (asked,) = (each for each in peers.parse(clocks.text()).asked if each.place == Endpoint(address, port))
            assert asked.questions >= reading
    finally:
        clocks.close()


def test_a_message_that_has_no_answer_is_counted_apart(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    place = Endpoint(*server.getsockname()[:2])
    clocks = TcpClocks()
    for _ in range(20):  # from then on Linux delays acknowledgements
        client.sendall(b"question")
        server.recv(10)
        server.sendall(b"answer")
        client.recv(10)

    def counted(message: bytes) -> peers.Asked:
        client.sendall(message)
        clocks.read()
        (asked,) = (each for each in peers.parse(clocks.text()).asked if each.place == place)
        server.sendall(b"answer")
        client.recv(10)
        return asked

    try:
        requests = counted(b"question")
        assert requests.questions == requests.answered >= 1
        # A busy machine may look only after the acknowledgement.
        found = (counted(b"closing: ") for _ in range(100))
        assert any(each.questions > each.answered for each in found)
    finally:
        clocks.close()


def seen(lead: int, sent_ms: int, received_ms: int, acknowledged_ms: int, received: int = 3) -> Connection:
    return Connection(b"", 1, b"", 2, 33, 0, 0, sent_ms, received_ms, acknowledged_ms, received, received + lead)


@pytest.mark.parametrize(
    ("pending", "answered", "each", "found"),
    [
        (5, 0, seen(0, 20, 20, 20), True),
        (4, 0, seen(0, 20, 20, 20), False),
        (40, 2, seen(0, 20, 20, 20), True),
        (40, 3, seen(0, 20, 20, 20), False),  # with TLS, or messages of several segments
        (5, 0, seen(1, 20, 20, 20), False),
        (5, 0, seen(0, 20, 20, 20, received=16), True),
        (5, 0, seen(0, 20, 20, 20, received=17), False),  # acknowledgements are delayed again
        (5, 0, seen(0, 10_000, 10_000, 10_000), False),
        (5, 0, seen(0, 20, 10, 10), False),
        (5, 0, seen(0, 20, 20, 21), False),
    ],
)
def test_where_the_clocks_do_not_tell_the_number_of_segments_does(
    pending: int, answered: int, each: Connection, found: bool
) -> None:
    lead = Lead()
    for _ in range(pending):
        assert lead.is_pending(seen(0, 10, 20, 20))
    for _ in range(answered):
        assert not lead.is_pending(seen(0, 20, 10, 10))
    assert lead.is_pending(each) is found


@pytest.mark.parametrize("each", [seen(0, 10, 20, 20, received=17), seen(5, 10, 20, 20, received=0)])
def test_a_lead_is_learned_on_new_connections_that_were_answered(each: Connection) -> None:
    lead = Lead()
    for _ in range(9):
        assert lead.is_pending(each)
    assert not lead.is_pending(seen(0, 20, 20, 20))
    assert not lead.is_pending(seen(5, 20, 20, 20))


def sent(ago_ms: int, port: int = 1, unacknowledged_bytes: int = 0, segments: int = 6) -> Connection:
    unacknowledged = unacknowledged_bytes > 0
    return Connection(
        b"\x0a\0\0\1",
        port,
        b"\x0a\0\0\5",
        3306,
        33,
        unacknowledged_bytes,
        unacknowledged,
        ago_ms,
        900,
        900,
        5,
        segments,
    )


def answered(sums: TcpSums, *found: Connection) -> float:
    """How many of these count as requests to MySQL."""
    before = peers.parse(sums.text()).asked
    sums.add(found, set())
    (now,) = peers.parse(sums.text()).asked
    return now.answered - sum(each.answered for each in before)


@pytest.mark.parametrize(("unacknowledged_bytes", "requests"), [(9, 0), (18, 0), (26, 1), (9 + 26, 1), (0, 1)])
def test_what_was_sent_last_shows_in_its_bytes(unacknowledged_bytes: int, requests: int) -> None:
    assert answered(TcpSums(), sent(5, 1, unacknowledged_bytes)) == requests


@pytest.mark.parametrize(("segments", "requests"), [(2, 1), (3, 0)])
def test_a_statement_is_closed_after_a_login_and_the_statement(segments: int, requests: int) -> None:
    """``DO SLEEP(0.1)`` is as long as two closed statements."""
    assert answered(TcpSums(), sent(5, 1, 18, segments)) == requests


def test_what_was_sent_last_stays_known_until_more_is_sent() -> None:
    sums = TcpSums()
    assert answered(sums, sent(5, 1, 9), sent(5, 2, 26)) == 1
    sums.add_between([sent(30, 1), sent(30, 2)])
    assert answered(sums, sent(500, 1), sent(500, 2)) == 1
    assert answered(sums, sent(5, 1, segments=7), sent(9, 2, segments=7)) == 2
    assert answered(sums, sent(2, 1, 9, segments=8)) == 0
    assert answered(sums, sent(5, 3)) == 1
    assert answered(sums, sent(500, 1, segments=8)) == 1, "it was not open any more, and another has its port"


@pytest.mark.parametrize(
    ("requests", "closings", "late", "share"),
    [(0, 4, True, 1.0), (2, 6, True, 0.25), (2, 6, False, 1.0), (0, 5, True, 0.0), (9, 0, True, 1.0)],
)
def test_what_was_sent_last_is_estimated_from_others(requests: int, closings: int, late: bool, share: float) -> None:
    """``late``: those of which it is known are as old."""
    sums = TcpSums()
    known = [sent(5, port, 26 if port <= requests else 9) for port in range(1, requests + closings + 1)]
    sums.add(known, set())
    if late:
        sums.add([each._replace(sent_ms=60, unacknowledged_bytes=0, unacknowledged=0) for each in known], set())
    assert answered(sums, sent(60, 99)) == share


def test_leads_of_a_place_without_connections_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.transport.tcp_clocks.MOST_PEERS", 2)
    sums, unclear = TcpSums(), Connection(b"\x0a\0\0\1", 1, b"\x0a\0\0\5", 3306, 33, 0, 0, 20, 20, 20, 7, 7)
    learn = [connected(port, segments=7) for port in range(5)]

    def questions() -> float:
        before = sums_of(sums).get(3306, (0, 0.0))[1]
        sums.add([unclear], set())
        return sums_of(sums)[3306][1] - before

    sums.add(learn, set())
    assert questions() == 1
    for port in (80, 81, 82):
        sums.add([connected(1, port)], set())
    assert questions() == 0


def test_a_question_is_open_until_it_is_answered(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    address, port = server.getsockname()[:2]
    clocks = TcpClocks()

    def now() -> tuple[int, float, int]:
        clocks.read()
        found = {each.place: each for each in peers.parse(clocks.text()).asked}
        asked = found[Endpoint(address, port)]
        return asked.connections, asked.questions, asked.segments

    try:
        clocks.read()
        before = now()
        client.sendall(b"question")
        server.recv(10)
        opened = now()
        assert opened[1] > before[1]
        assert opened[2] == before[2] + 1
        server.sendall(b"answer")
        client.recv(10)
        answered = now()
        assert now()[1] == answered[1]
    finally:
        clocks.close()
