"""What MySQL answers, what its errors mean, and which servers get the password."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from collectors.blocking import HIDDEN
from collectors.errors import AbsentError, FetchError, ParseError
from collectors.machine import Page
from collectors.mysql.collector import FIX, MysqlCollector, account_in, parse
from collectors.sql_collector import REFUSES, status_of
from collectors.transport import files
from loadtop.servers.mysql.record import MysqlStatus
from tests.unit.collectors.fake_machine import collector_of
from tests.unit.collectors.texts import status

ADDRESS = "db:3306"
SOCKET = "/run/mysqld/mysqld.sock"


def test_an_answer() -> None:
    assert parse(status("mariadb-10.11.txt"), ADDRESS) == MysqlStatus(
        ADDRESS,
        "10.11.19-MariaDB-0+deb12u1",
        running=4,  # one more asks
        connected=12,
        max_connections=151,
        lock_waits=3,
        questions=4711,
        slow_queries=5,
        lock_ms=6012,
        refused=2,
        port=3306,
        uptime_s=61,
    )


@pytest.mark.parametrize("number", ["-1", "", "nan", "1e9", "9" * 20, "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_value_that_is_not_a_number_is_not_measured(number: str) -> None:
    lines = status("mariadb-10.11.txt").splitlines()
    text = "".join(f"{line.partition(chr(9))[0]}\t{number}\n" for line in lines)
    found = parse(f"version\t8.0.43\nThreads_connected\t7\n{text}", ADDRESS)
    assert found == MysqlStatus(ADDRESS, "8.0.43", connected=7)


@pytest.mark.parametrize(
    "text", ["", "nothing\n", "version\t8\nThreads_connected\tmany\n", "version\t8\nThreads_connected\t5"]
)
def test_other_answers(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
    with pytest.raises(AbsentError, match="Threads_connected"):
        status_of(Page(ADDRESS, 200, text, 0.0), MysqlStatus, parse)


def test_too_many_connections_are_a_reading() -> None:
    status = status_of(Page(ADDRESS, REFUSES, "", 0.0), MysqlStatus, parse)
    assert (status, status.full) == (MysqlStatus(ADDRESS, refuses=True), 100.0)
    assert "max_connections" in str(MysqlCollector.lacks(status))


@pytest.mark.parametrize("code", [1044, 1045, 1130, 1698])
def test_advice_if_the_login_is_denied(code: int) -> None:
    denied = collector_of(MysqlCollector).refusal(RuntimeError(code, "Access denied for user"))
    assert isinstance(denied, FetchError)
    assert "~/.my.cnf" in str(denied)
    assert denied.fix == FIX


def test_other_errors() -> None:
    collector = collector_of(MysqlCollector)
    assert collector.refusal(RuntimeError(2013, "Lost connection")) is None
    assert collector.refusal(RuntimeError()) is None
    assert [collector.is_full(RuntimeError(code)) for code in (1040, 1203, 1226, 1045)] == [True, True, True, False]


@pytest.mark.parametrize(("told", "port"), [("65535", 65535), ("65536", None)])
def test_a_port_is_at_most_65535(told: str, port: int | None) -> None:
    assert parse(f"version\t8\nThreads_connected\t5\nport\t{told}\n").port == port


def test_the_session_that_asks_does_not_count() -> None:
    for told, running in [("0", 0), ("1", 0), ("2", 1)]:
        assert parse(f"version\t8\nThreads_connected\t5\nThreads_running\t{told}\n").running == running


@pytest.mark.parametrize(
    ("text", "account"),
    [
        ("[client]\nuser=me\npassword=Hu5h # a comment\n", ("me", "Hu5h")),
        ("[client]\npassword = 'Hu5h # 1' # a comment\n", ("", "Hu5h # 1")),
        ("!includedir /etc/x\n[client]\n  user = 'me'\npassword = \"a'b\"\n", ("me", "a'b")),
        ("[client]\npassword=a\\sb\\\\c\\d\n", ("", "a b\\c\\d")),
        ("[client]\nuser=a\n#user=b\n;user=c\n!user=d\n", ("a", "")),
        ("[client]\n# user=b\n; user=c\n", ("", "")),
        ("[client]\npassword=''#b\n", ("", "")),
        ("[client]\n" + "\n" * 998 + "user=a\nuser=b\n", ("a", "")),
        ("[mysqld]\nuser=mysql\n", ("", "")),
        ("[client]\npassword\n  no-beep\n", ("", "")),
        ("[client]\nuser=a\n[client]\nuser=b\n", ("b", "")),
        ("[client]\nuser='\npassword=''\n", ("'", "")),
        ("user=me\n", ("", "")),
        ("[client\nuser=me", ("", "")),
        ("\x00", ("", "")),
    ],
)
def test_accounts_in_option_files(text: str, account: tuple[str, str]) -> None:
    assert account_in(text) == account


class Library:
    """As much of PyMySQL as is used."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.said: list[str] = []
        library = self

        class Connection:
            _secure = False

            def __init__(self, **options: Any) -> None:
                library.options = {**options, "secure": self._secure}

            def connect(self, channel: object) -> None:
                library.said.append(f"connect {channel}")

            def get_server_info(self) -> str:
                return library.version

            def cursor(self) -> Any:
                return Cursor()

            def close(self) -> None:
                library.said.append("close")

        class Cursor:
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...

            def execute(self, statement: str) -> None:
                library.said.append(statement)
                if "INNODB_TRX" in statement and library.error:
                    raise library.err.MySQLError(library.error, "no")

            def fetchall(self) -> list[tuple[str, ...]]:
                return [("blocked",)] if "INNODB_TRX" in library.said[-1] else []

        self.err = SimpleNamespace(MySQLError=type("MySQLError", (Exception,), {}))
        self.error = 0  # of a statement that asks who blocks whom
        self.version = "11.4-MariaDB"
        self.connections = SimpleNamespace(Connection=Connection)


@pytest.mark.parametrize(
    ("address", "trusted", "password", "secure"),
    [
        (ADDRESS, True, "Hu5h", False),
        (ADDRESS, False, "", False),
        (SOCKET, True, "Hu5h", True),
        (SOCKET, False, "", True),
    ],
)
def test_who_gets_the_password(address: str, trusted: bool, password: str, secure: bool) -> None:
    (Path.home() / ".my.cnf").write_text("[client]\nuser=watcher\npassword=Hu5h\n")
    library: Any = Library()
    connection = collector_of(MysqlCollector).login(library, address, "alice", trusted=trusted)(cast("Any", "channel"))
    assert library.options["password"] == password
    assert library.options["user"] == ("watcher" if password else "alice")
    assert (library.options["secure"], library.options["ssl_disabled"]) == (secure, secure)
    assert library.options["read_timeout"] == library.options["write_timeout"] == 10.0
    assert library.options["program_name"] == "loadtop"  # which the server's list of sessions shows
    assert library.options["autocommit"]
    assert library.options["defer_connect"]
    assert library.said[:-1] == [
        "connect channel", "SET SESSION TRANSACTION READ ONLY", "SET SESSION max_statement_time = 5",
    ]  # fmt: skip
    connection.close()
    assert library.said[-1] == "close"


WAITS = "Innodb_row_lock_current_waits\t{}\n"


@pytest.mark.parametrize(
    ("version", "table"),
    [("10.11-MariaDB", "information_schema.INNODB_LOCKS"), ("8.0.43", "performance_schema.data_locks")],
)
def test_who_blocks_whom_is_asked_only_while_sessions_wait(version: str, table: str) -> None:
    library: Any = Library()
    library.version = version
    connection = collector_of(MysqlCollector).login(library, SOCKET, "alice", trusted=False)(cast("Any", "channel"))
    statement = library.said.pop()
    assert table in statement
    assert ";" not in statement
    assert connection.blocking(WAITS.format(0)) == connection.blocking("") == ()
    assert library.said[-1] != statement
    assert connection.blocking(WAITS.format(1)) == [("blocked",)]
    assert library.said[-1] == statement
    library.error = 1969  # it took too long
    assert connection.blocking(WAITS.format(1)) == ()
    library.error = 2013  # the connection is lost
    with pytest.raises(library.err.MySQLError):
        connection.blocking(WAITS.format(1))


@pytest.mark.parametrize(("error", "rows"), [(1227, ((HIDDEN, 1),)), (1142, ((HIDDEN, 1),)), (1109, ())])
def test_an_account_that_may_not_ask_who_blocks_whom(error: int, rows: tuple[tuple[object, ...], ...]) -> None:
    library: Any = Library()
    library.error = error
    connection = collector_of(MysqlCollector).login(library, SOCKET, "alice", trusted=False)(cast("Any", "channel"))
    assert connection.blocking(WAITS.format(0)) == rows
    assert parse(f"version\t8\nThreads_connected\t5\n{HIDDEN}\t1\n").blockers_hidden


def test_without_an_option_file_there_is_no_account() -> None:
    assert account_in(files.of_user("~/.my.cnf")) == ("", "")
    (Path.home() / ".my.cnf").mkdir()
    assert account_in(files.of_user("~/.my.cnf")) == ("", "")
