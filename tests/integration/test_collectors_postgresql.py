"""Real PostgreSQL: asked by its unix socket, near and over SSH, found, full, with locks, and without rights."""

import asyncio
import getpass
from pathlib import Path

import pytest

from loadtop.model import HostSample, State
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.postgresql.record import PostgresqlStatus
from tests.loads.program import wait_until
from tests.servers.postgresql import PostgresqlFactory
from tests.servers.program import beside
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, outcome, until

pytestmark = pytest.mark.servers


def read(sample: HostSample) -> PostgresqlStatus | None:
    return next(iter(POSTGRESQL.readings(sample)), None)


@pytest.mark.parametrize("far", [False, True])
async def test_locks_and_connections(postgresql: PostgresqlFactory, machine: Sshd, watch: Watch, far: bool) -> None:
    server = postgresql()
    server.run("CREATE TABLE a (n int)")
    server.run("INSERT INTO a VALUES (1)")
    user = getpass.getuser()
    server.run(f'CREATE ROLE "{user}" LOGIN IN ROLE pg_monitor')
    given = {"status_urls": {"postgresql": [f"unix:{server.unix_socket}"]}}
    host = await watch(remote=machine.transport() if far else None, **given)
    sample = await until(host, lambda s: read(s) is not None)
    status = read(sample)
    assert status is not None
    assert outcome(sample, "postgresql") == (State.OK, "")
    assert (status.port, status.max_connections, status.reserved, status.hidden) == (server.port, 20, 3, False)
    assert (status.active, status.lock_waits, status.blockers, status.connected) == (0, 0, 0, 1)
    assert status.version == server.run("SHOW server_version")
    with beside(server.start("BEGIN; UPDATE a SET n = n; SELECT pg_sleep(60)")):
        await until(host, lambda s: (found := read(s)) is not None and found.wait_event == "Timeout:PgSleep")
        with beside(*(server.start("UPDATE a SET n = n") for _ in range(3))):
            full = (4, 3, 5)
            await until(host, lambda s: (f := read(s)) is not None and (f.active, f.lock_waits, f.connected) == full)
            status = read(await until(host, lambda s: (found := read(s)) is not None and found.blocker is not None))
            assert status is not None
            assert status.blocker is not None
            assert status.blockers
            assert (status.blocker.blocked, status.blocker.mode, status.blocker.table) == (3, "ExclusiveLock", "a")
            holding = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'BEGIN%sleep(60)'"
            assert str(status.blocker.session) == server.run(holding)
            assert (status.blocker.statement, status.blocker.idle) == ("BEGIN", False)
            assert (status.wait_event, status.wait_event_sessions) == ("Lock:tuple", 2)


async def test_the_table_of_a_lock_in_another_database(postgresql: PostgresqlFactory, watch: Watch) -> None:
    server = postgresql()
    server.run("CREATE TABLE a (n int)")
    server.run("INSERT INTO a VALUES (1)")
    server.run(f'CREATE ROLE "{getpass.getuser()}" LOGIN IN ROLE pg_monitor')
    server.run("CREATE DATABASE shop TEMPLATE postgres")
    host = await watch(status_urls={"postgresql": [f"unix:{server.unix_socket}"]})
    await until(host, lambda s: read(s) is not None)
    with beside(server.start("BEGIN; UPDATE a SET n = n; SELECT pg_sleep(60)", "shop")):
        await until(host, lambda s: (found := read(s)) is not None and found.active == 1)
        with beside(server.start("SELECT n FROM a WHERE n < 4711 FOR UPDATE", "shop")):
            status = read(await until(host, lambda s: (found := read(s)) is not None and found.blocker is not None))
            assert status is not None
            assert status.blocker is not None
            assert status.blocker.table == "a"
            assert "4711" not in repr(status)


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> str:
    """A role whose password is in the password file."""
    (Path.home() / ".pgpass").write_text("# of tests\n*:*:postgres:watcher:Hu5h\\:1\n")
    (Path.home() / ".pgpass").chmod(0o600)
    monkeypatch.setenv("PGUSER", "watcher")
    return "watcher"


async def test_it_is_found_and_a_role_is_needed(postgresql: PostgresqlFactory, watch: Watch, account: str) -> None:
    server = postgresql(max_connections=10)
    server.run(f"CREATE ROLE {account} LOGIN PASSWORD 'Hu5h:1'")
    host = await watch()
    sample = await until(host, lambda s: "denied the login" in outcome(s, "postgresql")[1])
    assert "GRANT pg_monitor" in outcome(sample, "postgresql")[1]
    await host.close()
    with beside(*(server.start("SELECT pg_sleep(60)") for _ in range(7))):
        sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(60)'"
        await asyncio.to_thread(wait_until, lambda: server.run(sleeping) == "7")
        named = await watch(status_urls={"postgresql": [server.address]})
        sample = await until(named, lambda s: (found := read(s)) is not None and found.refuses)
        assert "max_connections is reached" in outcome(sample, "postgresql")[1]
    server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")
    with beside(server.start("SELECT pg_sleep(60)")):
        sample = await until(named, lambda s: (found := read(s)) is not None and found.hidden and found.connected == 2)
    status = read(sample)
    assert status is not None
    assert (status.active, status.lock_waits, status.connected) == (None, None, 2)
    assert "GRANT pg_monitor" in str(POSTGRESQL.lacks((status,), sample).fix)
