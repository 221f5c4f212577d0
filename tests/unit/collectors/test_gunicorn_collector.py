"""How the workers of a gunicorn are counted, and where its settings are found."""

from typing import cast

import pytest

from collectors.config_files import View
from collectors.errors import FetchError
from collectors.gunicorn.collector import GunicornCollector, Settings, settings_of
from collectors.linux import sockets
from collectors.linux.unix_sockets import STREAMS
from collectors.machine import Machine
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.servers.gunicorn.record import GunicornPool
from tests.unit.collectors.fake_machine import FakeFiles, FakeMachine

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


async def counted(address: str, files: dict[str, str]) -> int | None:
    machine = FakeMachine()
    machine.files |= files
    known = cast("Machine", machine)
    collector = GunicornCollector(known, (), UnderTest(known, KINDS, ()))
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
    assert "hides" in str(GunicornCollector.lacks(GunicornPool("127.0.0.1:80", 2)))
    assert GunicornCollector.lacks(GunicornPool(worker_class="sync")) is None


def test_connections_beyond_its_threads_wait() -> None:
    assert GunicornPool("a", 2, 2, 4, 1, "gthread", 7).queued == 4
    assert GunicornPool("a", 2, 2, 3, 0, "gthread", 3).queued == 0
    assert GunicornPool("a", 2, None, 7, 3, "gevent", 7).queued == 3
    assert GunicornPool("a", 2, 2, 3, None, "gthread", 3).queued is None
