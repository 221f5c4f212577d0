"""What is said of databases and caches: how full they are, and in reports."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.model.server import ServerReading, ServiceState
from loadtop.rates.measured import HostView
from loadtop.rates.records import ServerRates
from loadtop.servers.kind import Kind
from loadtop.servers.mysql.kind import MYSQL
from loadtop.servers.mysql.record import MysqlStatus
from loadtop.servers.postgresql.kind import POSTGRESQL
from loadtop.servers.postgresql.record import PostgresqlStatus
from loadtop.servers.redis.kind import REDIS
from loadtop.servers.redis.record import RedisStatus
from tests.unit.interval import host
from tests.unit.known import known

CACHE = RedisStatus("db:6379", "7.0.15", 12, 3, 1000, 7, 5000, 0, 100.0, port=6379, uptime_s=9)
DATABASE = MysqlStatus("db:3306", "8.0.43", 4, 12, 151, 3, 4711, 5, 6012, 0, port=3306, uptime_s=61)
SESSIONS = PostgresqlStatus("db:5432", "15.18", 13, 5, 1, 3, 0, 1, 2, 100, 3, 4711, port=5432, uptime_s=61)
RATES: dict[str, dict[str, float | None]] = {
    "redis": {"commands": 50.0, "rejected": 0.0, "cpu": 41.25},
    "postgresql": {"transactions": 250.0},
    "mysql": {"questions": 120.0, "slow_queries": 0.5, "lock_ms": 3000.0, "refused": 0.0},
}


def view_of(reading: ServerReading, kind: Kind[Any], **changes: float | None) -> HostView:
    rates = ServerRates(reading, {**RATES[kind.name], **changes})
    return host(servers={kind.name: (rates,)})


def state_of(reading: ServerReading, kind: Kind[Any], **changes: float | None) -> ServiceState:
    (state,) = view_of(reading, kind, **changes).services()
    return state


def test_only_databases_and_caches_are_services() -> None:
    from loadtop.servers.nginx.record import NginxStatus

    page = NginxStatus("u", 9, 0, 9, 0, accepts=100, handled=100, requests=0)
    assert host(servers={"nginx": (ServerRates(page, {}),)}).services() == ()
    assert replace(host(), rates=None).services() == ()


@pytest.mark.parametrize(
    ("reading", "kind", "state"),
    [
        (CACHE, REDIS, {"port": 6379, "connected": 12, "connection_limit": 1000, "thread_pct": 41.25}),
        (DATABASE, MYSQL, {"port": 3306, "connected": 12, "connection_limit": 151, "running": 4, "lock_waits": 3}),
        (SESSIONS, POSTGRESQL, {"port": 5432, "connected": 13, "connection_limit": 97, "running": 5, "lock_waits": 3}),
    ],
)
def test_the_status(reading: ServerReading, kind: Kind[Any], state: dict[str, Any]) -> None:
    assert state_of(reading, kind) == ServiceState(kind=kind.name, address=f"db:{state['port']}", **state)


@pytest.mark.parametrize(
    ("reading", "kind", "expected"),
    [
        (CACHE, REDIS, {"commands_s": 50.0, "cpu_pct": 41.25, "clients": 12, "blocked": 3, "slowlog": 7}),
        (
            DATABASE,
            MYSQL,
            {"queries_s": 120.0, "running": 4, "connected": 12, "lock_waits": 3, "lock_ms_s": 3000.0,
             "slow_queries_s": 0.5},
        ),
        (
            SESSIONS,
            POSTGRESQL,
            {"transactions_s": 250.0, "active": 5, "connected": 13, "idle_in_transaction": 1, "lock_waits": 3,
             "io_waits": 1},
        ),
    ],
)  # fmt: skip
def test_metrics(reading: ServerReading, kind: Kind[Any], expected: dict[str, float]) -> None:
    view = view_of(reading, kind)
    assert {metric.name.partition(".")[2]: metric.read(view) for metric in kind.metrics} == expected
    assert {metric.read(host()) for metric in kind.metrics} == {None}


@pytest.mark.parametrize(
    ("reading", "changes", "rates", "full"),
    [
        (CACHE, {}, {}, False),
        (CACHE, {"clients": 949}, {}, False),
        (CACHE, {"clients": 950}, {}, True),
        (CACHE, {}, {"cpu": 94.9}, False),
        (CACHE, {}, {"cpu": 95.0}, True),
        (CACHE, {}, {"cpu": None}, False),
        (CACHE, {}, {"rejected": 0.5}, True),
        (CACHE, {"refuses": True, "clients": None}, {"cpu": None, "rejected": None}, True),
        (CACHE, {"clients": None}, {}, False),
        (CACHE, {"max_clients": 0}, {}, False),
        (DATABASE, {}, {}, False),
        (DATABASE, {"connected": 143}, {}, False),
        (DATABASE, {"connected": 144}, {}, True),
        (DATABASE, {}, {"refused": 0.2}, True),
        (DATABASE, {"refuses": True, "connected": None}, {"refused": None}, True),
        (DATABASE, {"connected": None}, {}, False),
        (DATABASE, {"max_connections": None}, {}, False),
        (SESSIONS, {}, {}, False),
        (SESSIONS, {"connected": 92}, {}, False),
        (SESSIONS, {"connected": 93}, {}, True),  # three of the hundred are not for ordinary users
        (SESSIONS, {"connected": 93, "reserved": None}, {}, False),
        (SESSIONS, {"refuses": True, "connected": None}, {}, True),
        (SESSIONS, {"connected": None}, {}, False),
        (SESSIONS, {"max_connections": None}, {}, False),
        (SESSIONS, {"max_connections": 2}, {}, False),
    ],
)
def test_a_full_server(
    reading: RedisStatus | MysqlStatus | PostgresqlStatus, changes: dict[str, Any], rates: dict[str, Any], full: bool
) -> None:
    kinds: dict[ServerReading, Kind[Any]] = {CACHE: REDIS, DATABASE: MYSQL, SESSIONS: POSTGRESQL}
    changed = replace(reading, **changes)
    assert state_of(changed, kinds[reading], **rates).is_full is full
    assert (changed.full == 100.0) is changed.refuses


def test_the_busiest_thread_of_several_counts() -> None:
    rates = [ServerRates(CACHE, RATES["redis"] | {"cpu": cpu}) for cpu in (20.0, None, 41.25, 3.0)]
    assert REDIS.read("redis.cpu_pct")(host(servers={"redis": tuple(rates)})) == 41.25
    assert REDIS.read("redis.cpu_pct")(host(servers={"redis": (rates[1],)})) is None


def test_one_server_that_hides_something_lacks_it() -> None:
    sample = known(host().sample)
    hiding, telling = replace(DATABASE, blockers_hidden=True), replace(SESSIONS, hidden=False)
    assert "cannot see which session" in str(MYSQL.lacks((DATABASE, hiding), sample).reason)
    assert "cannot see the states" in str(POSTGRESQL.lacks((telling, replace(SESSIONS, hidden=True)), sample).reason)
    assert (MYSQL.lacks((DATABASE,), sample).reason, POSTGRESQL.lacks((telling,), sample).reason) == ("", "")


def test_redis_in_words() -> None:
    assert str(REDIS.seen((CACHE,))) == "7.0.15, maxclients 1,000 (db:6379)"
    assert str(REDIS.seen((RedisStatus("db:1"),))) == "-, maxclients - (db:1)"
    assert REDIS.brief([ServerRates(CACHE, RATES["redis"])]) == " redis 50/s"
    assert REDIS.brief([ServerRates(CACHE, {"commands": None})]) == ""
    assert dict(REDIS.settings((CACHE, RedisStatus("b")))) == {"redis db:6379 maxclients": "1000"}


def test_mysql_in_words() -> None:
    assert str(MYSQL.seen((DATABASE,))) == "8.0.43, max_connections 151 (db:3306)"
    assert str(MYSQL.seen((MysqlStatus("db:1"),))) == "-, max_connections - (db:1)"
    assert MYSQL.brief([ServerRates(DATABASE, {})]) == " mysql 4 running lock waits 3"
    assert MYSQL.brief([ServerRates(replace(DATABASE, lock_waits=0), {})]) == " mysql 4 running"
    assert MYSQL.brief([ServerRates(MysqlStatus("a"), {})]) == ""
    assert dict(MYSQL.settings((DATABASE, MysqlStatus("b")))) == {"mysql db:3306 max_connections": "151"}


def test_postgresql_in_words() -> None:
    assert str(POSTGRESQL.seen((SESSIONS,))) == "15.18, max_connections 100 (db:5432)"
    assert POSTGRESQL.brief([ServerRates(SESSIONS, {})]) == " postgresql 5 active lock waits 3"
    assert POSTGRESQL.brief([ServerRates(replace(SESSIONS, lock_waits=0), {})]) == " postgresql 5 active"
    assert POSTGRESQL.brief([ServerRates(PostgresqlStatus("a"), {})]) == ""
    assert dict(POSTGRESQL.settings((SESSIONS, PostgresqlStatus("b")))) == {"postgresql db:5432 max_connections": "100"}
