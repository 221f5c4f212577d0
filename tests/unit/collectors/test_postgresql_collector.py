"""What PostgreSQL answers, what its errors mean, and where accounts come from."""

from pathlib import Path
from typing import Any, cast

import pytest

from collectors.config_files import view_of
from collectors.errors import AbsentError, FetchError, ParseError
from collectors.machine import Endpoint, Page
from collectors.postgresql.account import Account, account_for, password_in, service_in
from collectors.postgresql.collector import BLOCKING, STATEMENT, PostgresqlCollector, parse
from collectors.sql_collector import REFUSES, status_of
from loadtop.servers.postgresql.record import FIX, PostgresqlStatus
from tests.unit.collectors.fake_machine import collector_of
from tests.unit.collectors.texts import status

ADDRESS = "db:5432"
SOCKET = "/run/postgresql/.s.PGSQL.5432"
COUNTED = PostgresqlStatus(
    ADDRESS,
    "15.18 (Debian 15.18-0+deb12u1)",
    connected=13,
    active=5,
    idle_in_transaction=1,
    lock_waits=3,
    lwlock_waits=0,
    io_waits=1,
    wait_event="Lock:transactionid",
    wait_event_sessions=2,
    blockers=0,
    max_connections=100,
    reserved=3,
    transactions=4711,
    port=5432,
    uptime_s=61,
)


async def test_each_of_its_servers_has_a_socket_of_its_own() -> None:
    collector = collector_of(PostgresqlCollector)
    view = await view_of(collector.machine, 7)
    ((found, _),) = await collector.candidates_of(7, view, (Endpoint("127.0.0.1", 5433),))
    assert list(found) == ["/run/postgresql/.s.PGSQL.5433", "127.0.0.1:5433"]
    assert [await collector.is_trusted(address) for address in found] == [True, False]


def test_an_answer() -> None:
    assert parse(status("postgresql-15.txt"), ADDRESS) == COUNTED
    assert COUNTED.usable == 97
    assert COUNTED.full == pytest.approx(100 * 13 / 97)


def test_rows_that_are_missing() -> None:
    """No session waits for I/O where a complete answer has no row for it."""
    lines = status("postgresql-15.txt").splitlines(keepends=True)
    assert parse("".join(line for line in lines if not line.startswith("wait_io"))).io_waits == 0
    assert parse("".join(lines).replace("wait_lwlock\t0", "wait_lwlock\t2")).lwlock_waits == 2


@pytest.mark.parametrize(("told", "port"), [("65535", 65535), ("65536", None)])
def test_a_port_is_at_most_65535(told: str, port: int | None) -> None:
    assert parse(f"server_version\t16.3\nsessions\t7\nport\t{told}\n").port == port


def test_sessions_that_wait_for_nothing_have_no_event() -> None:
    found = parse(status("postgresql-15.txt").replace("event_Lock:transactionid\t2\n", ""))
    assert (found.wait_event, found.wait_event_sessions) == ("", 0)


def test_hidden_states_are_not_counted() -> None:
    found = parse(status("postgresql-15.txt").replace("hidden\t0", "hidden\t4"), ADDRESS)
    unknown = (found.active, found.idle_in_transaction, found.lock_waits, found.lwlock_waits, found.io_waits)
    assert unknown == (None,) * 5
    assert (found.hidden, found.blockers, found.connected) == (True, None, 13)


@pytest.mark.parametrize("number", ["-1", "", "nan", "1e9", "9" * 20, "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_value_that_is_not_a_number_is_not_measured(number: str) -> None:
    names = (line.partition("\t")[0] for line in status("postgresql-15.txt").splitlines())
    text = "".join(f"{name}\t{number}\n" for name in names)
    found = parse(f"server_version\t16.3\nsessions\t7\n{text}", ADDRESS)
    assert found == PostgresqlStatus(ADDRESS, "16.3", connected=8, blockers=0)


@pytest.mark.parametrize("text", ["", "nothing\n", "server_version\t15\nsessions\tmany\n", "sessions\t5\n"])
def test_other_answers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
    with pytest.raises(AbsentError, match="PostgreSQL"):
        status_of(Page(ADDRESS, 200, text, 0.0), PostgresqlStatus, parse)


def test_too_many_connections_are_a_reading() -> None:
    status = status_of(Page(ADDRESS, REFUSES, "", 0.0), PostgresqlStatus, parse)
    assert (status, status.full) == (PostgresqlStatus(ADDRESS, refuses=True), 100.0)
    assert "max_connections" in str(PostgresqlCollector.lacks(status))


def test_the_meaning_of_errors() -> None:
    collector = collector_of(PostgresqlCollector)
    denied = collector.refusal(RuntimeError({"C": "28P01", "M": "password authentication failed"}))
    assert isinstance(denied, FetchError)
    assert "~/.pgpass" in str(denied)
    assert denied.fix == FIX
    for other in (RuntimeError({"C": "57P03"}), RuntimeError("network error"), RuntimeError()):
        assert collector.refusal(other) is None
        assert not collector.is_full(other)
    starting = RuntimeError({"C": "57P03", "M": "the database system is starting up"})
    assert str(collector.refusal(starting)) == "PostgreSQL reports an error: the database system is starting up"
    assert collector.is_full(RuntimeError({"C": "53300"}))


@pytest.mark.parametrize("statement", [STATEMENT, BLOCKING])
def test_the_statements_only_read(statement: str) -> None:
    assert statement.startswith("WITH ")
    assert ";" not in statement


@pytest.mark.parametrize(
    ("line", "password"),
    [
        ("db:5432:postgres:me:Hu5h", "Hu5h"),
        ("*:*:*:*:a\\:b\\\\c", "a:b\\c"),
        ("db:5433:postgres:me:Hu5h", ""),
        ("db:5432:other:me:Hu5h", ""),
        ("db:5432:postgres:you:Hu5h\n*:*:*:me:second", "second"),
        ("#*:*:*:*:Hu5h", ""),
        ("# the shop\n*:*:*:*:Hu5h", "Hu5h"),
        ("\n" * 999 + "*:*:*:*:Hu5h", "Hu5h"),
        ("\n" * 1000 + "*:*:*:*:Hu5h", ""),
        ("*:*:*:*", ""),
        ("\x00\\", ""),
        ("*:" * 5000, "*"),
    ],
)
def test_lines_of_a_password_file(line: str, password: str) -> None:
    assert password_in(line, ADDRESS, "postgres", "me") == password


@pytest.mark.parametrize(("host", "fits"), [("localhost", True), ("/run/postgresql", True), ("db", False)])
def test_the_host_of_a_socket(host: str, fits: bool) -> None:
    assert password_in(f"{host}:5432:*:*:Hu5h", SOCKET, "postgres", "me") == ("Hu5h" if fits else "")


def test_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGUSER", "PGPASSWORD", "PGDATABASE", "PGSERVICE", "PGPASSFILE", "PGSERVICEFILE"):
        monkeypatch.delenv(name, raising=False)
    assert account_for(ADDRESS, "alice", {}) == Account("alice")
    (Path.home() / ".pg_service.conf").write_text("[shop]\nuser=watcher\npassword=a=b\ndbname=shop\n")
    (Path.home() / ".pgpass").write_text("*:*:shop:watcher:c\n*:*:postgres:alice:d\n")
    assert account_for(ADDRESS, "alice", {}) == Account("alice", "d")
    assert account_for(ADDRESS, "alice", {"PGSERVICE": "shop"}) == Account("watcher", "a=b", "shop")
    elsewhere = Path.home() / "services"
    elsewhere.write_text("# the shop\n[shop]\nuser=carol\npassword=f\n")
    assert account_for(ADDRESS, "alice", {"PGSERVICE": "shop", "PGSERVICEFILE": str(elsewhere)}) == Account(
        "carol", "f"
    )
    named = {"PGSERVICE": "shop", "PGUSER": "bob", "PGPASSWORD": "e", "PGDATABASE": "x"}
    assert account_for(ADDRESS, "alice", named) == Account("bob", "e", "x")
    assert account_for(ADDRESS, "alice", {"PGSERVICE": "other", "PGPASSFILE": "/nowhere"}) == Account("alice")


@pytest.mark.parametrize("text", ["user=me\n", "[shop\n", "", "\x00"])
def test_not_a_service_file(text: str) -> None:
    assert service_in(text, "shop") == {}


def test_a_service_that_is_defined_twice() -> None:
    assert service_in("[shop]\nuser=a\n# user=b\n[shop]\nuser=c\nuser=d\n", "shop") == {"user": "d"}


def test_a_password_file_that_is_none() -> None:
    (Path.home() / ".pgpass").mkdir()
    assert account_for(ADDRESS, "alice", {}) == Account("alice")


class Library:
    """As much of pg8000 as is used."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        library = self

        class Connection:
            def __init__(self, user: str, **options: Any) -> None:
                library.options = {"user": user, **options}

            def run(self, statement: str) -> list[list[str]]:
                library.said.append(statement)
                if library.error and "pg_blocking_pids" in statement:
                    raise library.DatabaseError({"C": library.error})
                return [[statement]]

            def close(self) -> None:
                library.options.clear()

        self.Connection = Connection
        self.DatabaseError = type("DatabaseError", (Exception,), {})
        self.said: list[str] = []
        self.error = ""  # of the statement that asks who blocks whom


class Silent:
    timeout_s = 0.0

    def settimeout(self, seconds: float) -> None:
        self.timeout_s = seconds


@pytest.mark.parametrize(
    ("address", "trusted", "password", "encrypted"),
    [
        (ADDRESS, True, "Hu5h", None),
        (ADDRESS, False, "", False),
        (SOCKET, True, "Hu5h", False),
        (SOCKET, False, "", False),
    ],
)
def test_who_gets_the_password(
    monkeypatch: pytest.MonkeyPatch, address: str, trusted: bool, password: str, encrypted: bool | None
) -> None:
    monkeypatch.setenv("PGPASSWORD", "Hu5h")
    library: Any = Library()
    channel = Silent()
    connection = collector_of(PostgresqlCollector).login(library, address, "alice", trusted=trusted)(
        cast("Any", channel)
    )
    assert channel.timeout_s == 10.0
    assert (library.options["user"], library.options["password"]) == ("alice", password)
    assert library.options["ssl_context"] is encrypted
    assert library.options["application_name"] == "loadtop"  # which pg_stat_activity shows
    limits = {"statement_timeout": "5000", "lock_timeout": "5000"}
    assert library.options["startup_params"] == {"default_transaction_read_only": "on", **limits}
    assert connection.rows("SELECT 1") == [["SELECT 1"]]
    connection.close()
    assert library.options == {}


def test_who_blocks_whom_is_asked_only_while_sessions_wait() -> None:
    library: Any = Library()
    connection = collector_of(PostgresqlCollector).login(library, SOCKET, "alice", trusted=False)(cast("Any", Silent()))
    assert connection.blocking("wait_lock\t0\n") == connection.blocking("") == ()
    assert library.said == []
    assert connection.blocking("wait_lock\t2\n") == [[BLOCKING]]
    limits = ["SET statement_timeout = 300", BLOCKING, "SET statement_timeout = 5000"]
    assert library.said == limits
    library.error = "57014"
    assert connection.blocking("wait_lock\t2\n") == ()
    assert library.said == limits * 2
    library.error = "XX000"
    with pytest.raises(library.DatabaseError):
        connection.blocking("wait_lock\t2\n")
