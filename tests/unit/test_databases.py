"""What is said of databases and caches: how full they are, and in reports."""

from dataclasses import replace
from typing import Any

import pytest

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


def test_the_status_of_redis() -> None:
    assert state_of(CACHE, REDIS) == ServiceState(
        kind="redis", address="db:6379", port=6379, connected=12, connection_limit=1000, thread_pct=41.25
    )


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


@pytest.mark.parametrize(
    ("changes", "rates", "full"),
    [
        ({}, {}, False),
        ({"clients": 949}, {}, False),
        ({"clients": 950}, {}, True),
        ({}, {"cpu": 94.9}, False),
        ({}, {"cpu": 95.0}, True),
        ({}, {"cpu": None}, False),
        ({}, {"rejected": 0.5}, True),
        ({"refuses": True, "clients": None}, {"cpu": None, "rejected": None}, True),
        ({"clients": None}, {}, False),
        ({"max_clients": 0}, {}, False),
    ],
)
def test_a_full_redis(changes: dict[str, Any], rates: dict[str, float | None], full: bool) -> None:
    state = state_of(replace(CACHE, **changes), REDIS, **rates)
    assert state.is_full is full


def test_redis_in_words() -> None:
    assert str(REDIS.seen((CACHE,))) == "7.0.15, maxclients 1,000 (db:6379)"
    assert str(REDIS.seen((RedisStatus("db:1"),))) == "-, maxclients - (db:1)"
    assert REDIS.brief([ServerRates(CACHE, RATES["redis"])]) == " redis 50/s"
    assert REDIS.brief([ServerRates(CACHE, {"commands": None})]) == ""
    assert dict(REDIS.settings((CACHE, RedisStatus("b")))) == {"redis db:6379 maxclients": "1000"}


def test_metrics_of_redis() -> None:
    view = view_of(CACHE, REDIS)
    found = {metric.name.partition(".")[2]: metric.read(view) for metric in REDIS.metrics}
    assert found == {"commands_s": 50.0, "cpu_pct": 41.25, "clients": 12, "blocked": 3, "slowlog": 7}
    assert {metric.read(host()) for metric in REDIS.metrics} == {None}


def test_the_status_of_mysql() -> None:
    state = state_of(DATABASE, MYSQL)
    assert state == ServiceState(
        kind="mysql", address="db:3306", port=3306, connected=12, connection_limit=151, running=4, lock_waits=3
    )
    assert not state.is_full


@pytest.mark.parametrize(
    ("changes", "rates", "full"),
    [
        ({"connected": 143}, {}, False),
        ({"connected": 144}, {}, True),
        ({}, {"refused": 0.2}, True),
        ({"refuses": True, "connected": None}, {"refused": None}, True),
        ({"connected": None}, {}, False),
        ({"max_connections": None}, {}, False),
    ],
)
def test_a_full_mysql(changes: dict[str, Any], rates: dict[str, float | None], full: bool) -> None:
    reading = replace(DATABASE, **changes)
    assert state_of(reading, MYSQL, **rates).is_full is full
    assert (reading.full == 100.0) is reading.refuses


def test_mysql_in_words() -> None:
    assert str(MYSQL.seen((DATABASE,))) == "8.0.43, max_connections 151 (db:3306)"
    assert str(MYSQL.seen((MysqlStatus("db:1"),))) == "-, max_connections - (db:1)"
    assert MYSQL.brief([ServerRates(DATABASE, {})]) == " mysql 4 running lock waits 3"
    assert MYSQL.brief([ServerRates(replace(DATABASE, lock_waits=0), {})]) == " mysql 4 running"
    assert MYSQL.brief([ServerRates(MysqlStatus("a"), {})]) == ""
    assert dict(MYSQL.settings((DATABASE, MysqlStatus("b")))) == {"mysql db:3306 max_connections": "151"}


def test_metrics_of_mysql() -> None:
    view = view_of(DATABASE, MYSQL)
    found = {metric.name.partition(".")[2]: metric.read(view) for metric in MYSQL.metrics}
    assert found == {
        "queries_s": 120.0, "running": 4, "connected": 12, "lock_waits": 3, "lock_ms_s": 3000.0, "slow_queries_s": 0.5,
    }  # fmt: skip
    assert {metric.read(host()) for metric in MYSQL.metrics} == {None}


def test_the_status_of_postgresql() -> None:
    state = state_of(SESSIONS, POSTGRESQL)
    assert state == ServiceState(
        kind="postgresql", address="db:5432", port=5432, connected=13, connection_limit=97, running=5, lock_waits=3
    )
    assert not state.is_full


@pytest.mark.parametrize(
    ("changes", "full"),
    [
        ({"connected": 92}, False),
        ({"connected": 93}, True),  # three of the hundred are not for ordinary users
        ({"connected": 93, "reserved": None}, False),
        ({"refuses": True, "connected": None}, True),
        ({"connected": None}, False),
        ({"max_connections": None}, False),
        ({"max_connections": 2}, False),
    ],
)
def test_a_full_postgresql(changes: dict[str, Any], full: bool) -> None:
    reading = replace(SESSIONS, **changes)
    assert state_of(reading, POSTGRESQL).is_full is full
    assert (reading.full == 100.0) is reading.refuses


def test_postgresql_in_words() -> None:
    assert str(POSTGRESQL.seen((SESSIONS,))) == "15.18, max_connections 100 (db:5432)"
    assert POSTGRESQL.brief([ServerRates(SESSIONS, {})]) == " postgresql 5 active lock waits 3"
    assert POSTGRESQL.brief([ServerRates(replace(SESSIONS, lock_waits=0), {})]) == " postgresql 5 active"
    assert POSTGRESQL.brief([ServerRates(PostgresqlStatus("a"), {})]) == ""
    assert dict(POSTGRESQL.settings((SESSIONS, PostgresqlStatus("b")))) == {"postgresql db:5432 max_connections": "100"}


def test_metrics_of_postgresql() -> None:
    view = view_of(SESSIONS, POSTGRESQL)
    found = {metric.name.partition(".")[2]: metric.read(view) for metric in POSTGRESQL.metrics}
    assert found == {
        "transactions_s": 250.0, "active": 5, "connected": 13, "idle_in_transaction": 1, "lock_waits": 3, "io_waits": 1,
    }  # fmt: skip
    assert {metric.read(host()) for metric in POSTGRESQL.metrics} == {None}
