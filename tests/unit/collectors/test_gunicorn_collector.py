"""How the workers of a gunicorn are counted, and where its settings are found."""

from collections.abc import Iterable, Mapping
from typing import cast

import pytest
from msgspec.structs import replace

from collectors.accept_queues import AcceptQueues
from collectors.config_files import View
from collectors.errors import FetchError
from collectors.gunicorn.collector import GunicornCollector, Settings, settings_of
from collectors.linux import sockets
from collectors.linux.unix_sockets import STREAMS
from collectors.machine import Endpoint, Machine, Member, Missing, Wanted
from loadtop.model import Listener, Process
from loadtop.servers.gunicorn.record import GROUP, GunicornPool
from tests.unit.collectors.fake_machine import FakeFiles, FakeMachine, collector_of
from tests.unit.collectors.instant import instantly

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   0: 0100007F:{port} 0100007F:D6A2 {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1\n"


@pytest.mark.parametrize(
    ("rows", "accepted"),
    [
        ([("1F40", "0A", 5)], 0),  # it listens
        ([("1F40", "01", 6), ("1F40", "08", 7), ("1F40", "01", 6)], 2),  # one row came twice
        ([("1F40", "01", 0), ("1F41", "01", 8)], 0),  # not accepted yet; another port
    ],
)
async def test_connections_at_a_port(rows: list[tuple[str, str, int]], accepted: int) -> None:
    table = HEAD + "".join(ROW.format(port=port, state=state, inode=inode) for port, state, inode in rows)
    assert await counted("127.0.0.1:8000", {sockets.OPEN_TABLES[0].path: table}) == accepted


async def test_connections_at_a_path() -> None:
    text = (
        "LISTEN 5 /run/a.sock\nESTAB 6 /run/a.sock\nESTAB 6 /run/a.sock\nESTAB 7 /run/a.sock\nESTAB 8 /x/run/a.sock\n"
    )
    assert await counted("/run/a.sock", {STREAMS.path: text}) == 2


async def test_a_garbled_table() -> None:
    with pytest.raises(FetchError, match="no head"):
        await counted("127.0.0.1:8000", {sockets.OPEN_TABLES[0].path: "x\n"})


@instantly
async def test_its_workers_are_those_of_its_group_that_it_started() -> None:
    machine = FakeMachine()
    machine.httpd = {7: (Endpoint("127.0.0.1", 8000),), 19: (Endpoint("127.0.0.1", 8001),), 30: ()}
    machine.files["/proc/7/cmdline"] = "python3\0/usr/bin/gunicorn\0--threads\x002\0app"
    machine.files["/proc/30/cmdline"] = "python3\0/usr/bin/gunicorn\0-b\0:8002\0app"
    machine.files |= {"/proc/self/ns/": "net:[1]\n", "/proc/7/ns/": "net:[1]\n", "/proc/19/ns/": "net:[2]\n"}
    accepted = [ROW.format(port=port, state="01", inode=5 + number) for number, port in enumerate(["1F40"] * 6)]
    machine.files[sockets.OPEN_TABLES[0].path] = HEAD + "".join(accepted)
    machine.listeners = (Listener(8000, 3),)
    master = Member(7, "gunicorn", GROUP)
    machine.members = {pid: [Member(pid, "gunicorn", GROUP), master] for pid in (7, 8, 9, 21)}
    groups = {7: GROUP, 8: GROUP, 9: GROUP, 20: GROUP, 21: "others"}
    rows = tuple(Process(pid, "gunicorn", group, "S", 1, 0, 0, 0) for pid, group in groups.items())
    collector = collector_of(GunicornCollector, machine)
    found = await collector.candidates((7, 19, 30))
    assert [addresses for addresses, _ in found] == [("127.0.0.1:8000",), (), ("127.0.0.1:8002",)]
    assert [otherwise is None for _, otherwise in found] == [True, False, True]
    await collector.search_pages((7,))
    collector.ask()
    sample = replace(await machine.sample(), processes=rows)
    pool = replace(collector.read(sample, 0.0)[0][0], at=None)
    expected = GunicornPool("127.0.0.1:8000", 2, 2, 4, 3, "gthread", 6)
    assert (pool, pool.queued) == (expected, 5)
    await collector.close()


async def test_its_settings_stay_known_while_it_is_looked_for_again() -> None:
    known: list[str] = []

    class Looked(FakeMachine):
        async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
            pool = GunicornPool("127.0.0.1:8000")
            known.append(collector.completed(pool, sample, AcceptQueues(cast("Machine", self), sample)).worker_class)
            return await super().texts(files)

    machine = Looked()
    machine.httpd = {7: (Endpoint("127.0.0.1", 8000),)}
    machine.files["/proc/7/cmdline"] = "python3\0/usr/bin/gunicorn\0app"
    collector, sample = collector_of(GunicornCollector, machine), await machine.sample()
    await collector.candidates((7,))
    known.clear()
    await collector.candidates((7,))
    assert set(known) == {"sync"}


async def counted(address: str, files: dict[str, str]) -> int | None:
    machine = FakeMachine()
    machine.files |= files
    collector = collector_of(GunicornCollector, machine)
    (pool,) = collector.records(await collector.fetch(address, 1.0), 5.0)
    assert (pool.address, pool.at) == (address, 5.0)
    return pool.connections


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("/usr/bin/gunicorn app:app", Settings(7, ("127.0.0.1:8000",), "sync", 1)),
        (
            "/usr/bin/gunicorn -b :80 --bind=unix:/run/a.sock app",
            Settings(7, ("127.0.0.1:80", "/run/a.sock"), "sync", 1),
        ),
        ("/usr/bin/gunicorn --threads 4 app", Settings(7, ("127.0.0.1:8000",), "gthread", 4)),
        ("/usr/bin/gunicorn -k gevent --threads=4 app", Settings(7, ("127.0.0.1:8000",), "gevent", None)),
        ("/usr/bin/gunicorn -c /etc/g.py app", Settings(7, ("10.0.0.1:90",), "gthread", 3)),
        ("/usr/bin/gunicorn --config file:conf/g.py --threads 2 app", Settings(7, ("127.0.0.1:8000",), "gthread", 2)),
    ],
)
async def test_its_settings(words: str, found: Settings) -> None:
    files = {
        "/etc/g.py": 'bind = "10.0.0.1:90"\nthreads=3\nworkers = cpus() * 2\nworker_class = "gthread"\n',
        "/proc/7/cwd/conf/g.py": "threads = 9\n# bind = 1:1\n",
    }
    assert await settings_of(View(FakeFiles(files), command=("python3", *words.split())), 7) == found


async def test_a_title_hides_its_settings() -> None:
    assert await settings_of(View(FakeFiles({}), command=("gunicorn: master [app:app]",)), 7) == Settings(7)
    assert "settings are hidden" in str(GunicornCollector.lacks(GunicornPool("127.0.0.1:80", 2)))
    assert GunicornCollector.lacks(GunicornPool(worker_class="sync")) is None


def test_connections_beyond_its_threads_wait() -> None:
    assert GunicornPool("a", 2, 2, 4, 1, "gthread", 7).queued == 4
    assert GunicornPool("a", 2, 2, 3, 0, "gthread", 3).queued == 0
    assert GunicornPool("a", 2, None, 7, 3, "gevent", 7).queued == 3
    assert GunicornPool("a", 2, 2, 3, None, "gthread", 3).queued is None
