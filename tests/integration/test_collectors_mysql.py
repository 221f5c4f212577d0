"""Real MariaDB: asked by its unix socket, near and over SSH, found, full, and with a row lock."""

import asyncio
from pathlib import Path

import pytest

from loadtop.model import HostSample, State
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.mysql.record import MysqlStatus
from tests.loads.program import wait_until
from tests.servers.mysql import Mysql, MysqlFactory
from tests.servers.program import beside
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, outcome, until

pytestmark = pytest.mark.servers


def read(sample: HostSample) -> MysqlStatus | None:
    return next(iter(MYSQL.readings(sample)), None)


def sleeping(server: Mysql) -> list[str]:
    """The number of the session that holds the locks."""
    return server.run("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP%'").split()


@pytest.mark.parametrize("far", [False, True])
async def test_row_locks_and_connections(mysql: MysqlFactory, machine: Sshd, watch: Watch, far: bool) -> None:
    server = mysql(max_connections=10)
    server.run("CREATE DATABASE t; CREATE TABLE t.a (n INT PRIMARY KEY) ENGINE=InnoDB; INSERT INTO t.a VALUES (1)")
    given = {"status_urls": {"mysql": [f"unix:{server.unix_socket}"]}}
    host = await watch(remote=machine.transport() if far else None, **given)
    sample = await until(host, lambda s: read(s) is not None)
    status = read(sample)
    assert status is not None
    assert outcome(sample, "mysql") == (State.OK, "")
    assert (status.port, status.max_connections, status.running, status.lock_waits) == (server.port, 10, 0, 0)
    assert status.version == server.run("SELECT VERSION()").split()[1]
    update = "SET innodb_lock_wait_timeout = 8; UPDATE t.a SET n = n"
    with beside(server.start(f"BEGIN; {update}; SELECT SLEEP(60)")):
        await until(host, lambda s: (found := read(s)) is not None and found.running == 1)
        with beside(*(server.start(update) for _ in range(3))):
            full = (4, 3, 5)
            await until(host, lambda s: (f := read(s)) is not None and (f.running, f.lock_waits, f.connected) == full)
            status = read(await until(host, lambda s: (found := read(s)) is not None and found.blocker is not None))
            assert status is not None
            assert status.blocker is not None
            assert (status.blocker.blocked, status.blocker.mode, status.blocker.table) == (3, "X", "t.a")
            assert str(status.blocker.session) in sleeping(server)
            assert status.blocker.statement == "SELECT"
            await until(
                host, lambda s: (found := read(s)) is not None and found.lock_waits == 0 and (found.lock_ms or 0) > 1000
            )


@pytest.fixture
def account() -> str:
    """A user of MySQL whose password is in the option file."""
    (Path.home() / ".my.cnf").write_text("!includedir /nowhere\n[client]\nuser = watcher\npassword = 'Hu5h # 1'\n")
    return "'watcher'@'127.0.0.1'"


async def test_it_is_found_and_an_account_is_needed(mysql: MysqlFactory, watch: Watch, account: str) -> None:
    server = mysql(max_connections=10)
    server.run(f"CREATE USER {account} IDENTIFIED BY 'Hu5h # 1'")
    host = await watch()
    sample = await until(host, lambda s: "denied the login" in outcome(s, "mysql")[1])
    assert "IDENTIFIED VIA unix_socket" in outcome(sample, "mysql")[1]
    await host.close()
    with beside(*(server.start("SELECT SLEEP(60)") for _ in range(10))):
        await asyncio.to_thread(wait_until, lambda: "\t11" in server.run("SHOW STATUS LIKE 'Threads_connected'"))
        named = await watch(status_urls={"mysql": [server.address]})
        sample = await until(named, lambda s: (found := read(s)) is not None and found.refuses)
        assert "max_connections is reached" in outcome(sample, "mysql")[1]
    sample = await until(named, lambda s: (found := read(s)) is not None and not found.refuses)
    assert outcome(sample, "mysql") == (State.OK, "")
    status = read(sample)
    assert status is not None
    assert status.blockers_hidden
    assert "GRANT PROCESS" in str(MYSQL.lacks((status,), sample).fix)
