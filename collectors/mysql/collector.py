"""The MySQL and MariaDB servers of one machine: their global status, which any account may read.

Source: the MySQL reference manual, "Server Status Variables"; MariaDB's knowledge base of the same names. User and
password come from the section ``[client]`` of ``~/.my.cnf``, as for the ``mysql`` program; without one, a unix socket
knows the user of the process that asks.
"""

import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from collectors.blocking import BLOCKED, HIDDEN, LIMIT_S, blocking
from collectors.errors import FetchError, ParseError
from collectors.kind import Kind
from collectors.machine import Page
from collectors.parsing import LONGEST_TEXT, MOST_PORT, complete_lines, counts, short
from collectors.sql_collector import STATEMENT_S, SqlCollector, status_of
from collectors.sql_session import Channel, Connection, Login
from collectors.transport import files
from loadtop.servers.mysql.record import SERVER, MysqlStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"mysqld|mariadbd", re.ASCII),
    port=3306,
    socket=re.compile(r"/(?:mysqld?|mariadbd?)[^/]{0,40}\.sock$"),
    closes_statements=True,
)

FIX = """\
CREATE USER 'USER'@'localhost' IDENTIFIED VIA unix_socket;   (MySQL: IDENTIFIED WITH auth_socket)
GRANT USAGE ON *.* TO 'USER'@'localhost';"""
"""An account that may only log in: more is needed only to see who blocks whom. USER is the user who watches."""

_TOO_MANY = (1040, 1203, 1226)  # ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
_UNSEEN = (1044, 1142, 1143, 1227)  # ER_DBACCESS_DENIED, ER_TABLEACCESS_DENIED, of a column, a privilege is missing
_LOST = range(2000, 3000)  # errors of the client: the connection is of no use any more
_DENIED = (1044, 1045, 1130, 1698)  # ER_DBACCESS_DENIED, ER_ACCESS_DENIED, ER_HOST_NOT_PRIVILEGED, no password
_MOST_LINES = 1000
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\"}

_STATUS = (
    "Connection_errors_max_connections",
    "Innodb_row_lock_current_waits",
    "Innodb_row_lock_time",
    "Questions",
    "Slow_queries",
    "Threads_connected",
    "Threads_running",
    "Uptime",
)
_SETTINGS = ("max_connections", "port", "version")

_BLOCKED = f"""\
    '{BLOCKED}', waiting.trx_mysql_thread_id, holding.trx_mysql_thread_id,
    TIMESTAMPDIFF(SECOND, waiting.trx_wait_started, NOW()) * 1000,
    IF(holding.trx_query IS NULL, 'idle', 'active'), REGEXP_SUBSTR(holding.trx_query, '^[A-Za-z]+')"""
_SESSIONS = """\
JOIN information_schema.INNODB_TRX AS waiting ON waiting.trx_id = wait.requesting
JOIN information_schema.INNODB_TRX AS holding ON holding.trx_id = wait.blocking
LIMIT 1000"""
_BLOCKING_MARIADB = f"""\
SET STATEMENT max_statement_time = {LIMIT_S} FOR SELECT {_BLOCKED}, held.lock_mode, held.lock_table
FROM (
    SELECT requesting_trx_id AS requesting, requested_lock_id AS lock_id, MIN(blocking_trx_id) AS blocking
    FROM information_schema.INNODB_LOCK_WAITS GROUP BY requesting_trx_id, requested_lock_id
) AS wait
JOIN information_schema.INNODB_LOCKS AS held ON held.lock_id = wait.lock_id
{_SESSIONS}"""  # noqa: S608 - of constants
_BLOCKING_MYSQL = f"""\
SELECT /*+ MAX_EXECUTION_TIME({LIMIT_S * 1000:.0f}) */ {_BLOCKED},
    held.LOCK_MODE, CONCAT(held.OBJECT_SCHEMA, '.', held.OBJECT_NAME)
FROM (
    SELECT REQUESTING_ENGINE_TRANSACTION_ID AS requesting, REQUESTING_ENGINE_LOCK_ID AS lock_id,
        MIN(BLOCKING_ENGINE_TRANSACTION_ID) AS blocking
    FROM performance_schema.data_lock_waits GROUP BY REQUESTING_ENGINE_TRANSACTION_ID, REQUESTING_ENGINE_LOCK_ID
) AS wait
JOIN performance_schema.data_locks AS held ON held.ENGINE_LOCK_ID = wait.lock_id
{_SESSIONS}"""  # noqa: S608 - of constants
"""Of those that block a session, one is enough: what that one waits for leads to the same end. Source: MariaDB's
knowledge base, "Information Schema INNODB_LOCK_WAITS Table"; the MySQL reference manual, "The data_lock_waits
Table"."""


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


class MysqlCollector(SqlCollector[MysqlStatus]):
    kind = KIND
    sockets = ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock")
    library = "pymysql"
    package = "PyMySQL"
    statements = (
        f"SHOW GLOBAL STATUS WHERE Variable_name IN ({_names(_STATUS)})",
        f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_names(_SETTINGS)})",
    )

    def login(self, library: ModuleType, address: str, user: str, *, trusted: bool) -> Login:
        account = account_in(files.of_user("~/.my.cnf")) if trusted else ("", "")
        through_socket = address.startswith("/")

        def log_in(channel: Channel) -> Connection:
            return _Connection(library, channel, account[0] or user, account[1], through_socket=through_socket)

        return log_in

    def refusal(self, error: Exception) -> FetchError | None:
        if _code(error) not in _DENIED:
            return None
        return FetchError(
            "MySQL denied the login. On the machine where loadtop runs, put user and password into the [client] "
            "section of ~/.my.cnf and set the server with {option}. Or create an account for the user who runs "
            "loadtop (over SSH: the remote user), to log in through the unix socket.",
            option="--mysql ADDRESS",
            fix=FIX,
        )

    def is_full(self, error: Exception) -> bool:
        return _code(error) in _TOO_MANY

    def records(self, page: Page, at: float) -> Sequence[MysqlStatus]:
        return (replace(status_of(page, MysqlStatus, parse), at=at),)


class _Connection:
    """PyMySQL's, in a session that only reads."""

    def __init__(
        self, library: ModuleType, channel: Channel, user: str, password: str, *, through_socket: bool
    ) -> None:
        self._error: type[Exception] = library.err.MySQLError
        known = library.connections.Connection
        # To a library that did not make the socket itself, one that no other user can listen on counts as open.
        kind = type("SocketConnection", (known,), {"_secure": True}) if through_socket else known
        self._library: Any = kind(
            user=user,
            password=password,
            read_timeout=2 * STATEMENT_S,
            write_timeout=2 * STATEMENT_S,
            ssl_disabled=through_socket,
            program_name="loadtop",
            autocommit=True,
            defer_connect=True,
        )
        self._library.connect(channel)
        mariadb = "MariaDB" in str(self._library.get_server_info())
        limit = f"max_statement_time = {STATEMENT_S}" if mariadb else f"max_execution_time = {STATEMENT_S * 1000}"
        self.rows("SET SESSION TRANSACTION READ ONLY")
        self.rows(f"SET SESSION {limit}")
        self._blocking = _BLOCKING_MARIADB if mariadb else _BLOCKING_MYSQL
        self._is_hidden = self._blocked() is None

    def rows(self, statement: str) -> Sequence[Sequence[object]]:
        with self._library.cursor() as cursor:
            cursor.execute(statement)
            found: Sequence[Sequence[object]] = cursor.fetchall()
            return found

    def blocking(self, status: str) -> Sequence[Sequence[object]]:
        if self._is_hidden:
            return ((HIDDEN, 1),)
        waits = counts(status, ("Innodb_row_lock_current_waits",), "\t")
        return (self._blocked() or ()) if any(waits.values()) else ()

    def _blocked(self) -> Sequence[Sequence[object]] | None:
        """Who blocks whom: nothing where the server takes too long or does not know; ``None``: not permitted."""
        try:
            return self.rows(self._blocking)
        except self._error as error:
            if _code(error) in _LOST:
                raise
            return None if _code(error) in _UNSEEN else ()

    def close(self) -> None:
        self._library.close()


def account_in(text: str) -> tuple[str, str]:
    """User and password in the section ``[client]`` of an option file. What is no such file has none.

    Source: the MySQL reference manual, "Using Option Files": blanks around names and values do not count, ``#`` begins
    a comment outside quotes, the last value of a name counts.
    """
    found: dict[str, str] = {}
    section = ""
    for line in map(str.strip, text.splitlines()[:_MOST_LINES]):
        if line.startswith("["):
            section = line
        elif section == "[client]":
            name, _, value = line.partition("=")  # of a comment, a name that is never asked for
            found[name.strip()] = _unquoted(value.strip())
    return found.get("user", ""), found.get("password", "")


def _unquoted(value: str) -> str:
    if value[:1] in ("'", '"') and value.find(value[0], 1) > 0:
        value = value[1 : value.find(value[0], 1)]
    else:
        value = value.partition("#")[0].rstrip()
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[0]), value)


def _code(error: Exception) -> object:
    return error.args[0] if error.args else None


def parse(text: str, address: str = "") -> MysqlStatus:
    """Rows of names and values. Raises :class:`ParseError` where they are no status of MySQL."""
    found = counts(text, (*_STATUS, "max_connections", "port", HIDDEN), "\t")
    rows = (line.partition("\t") for line in complete_lines(text))
    version = next((short(value, LONGEST_TEXT) for name, _, value in rows if name == "version"), "")
    if "Threads_connected" not in found or not version:
        raise ParseError("not MySQL status data: Threads_connected or the version is missing")
    running = found.get("Threads_running")  # this question's own session too
    blocker, _ = blocking(text)
    return MysqlStatus(
        address=address,
        version=version,
        running=None if running is None else max(0, running - 1),
        connected=found.get("Threads_connected"),
        max_connections=found.get("max_connections"),
        lock_waits=found.get("Innodb_row_lock_current_waits"),
        questions=found.get("Questions"),
        slow_queries=found.get("Slow_queries"),
        lock_ms=found.get("Innodb_row_lock_time"),
        refused=found.get("Connection_errors_max_connections"),
        port=found["port"] if found.get("port", MOST_PORT + 1) <= MOST_PORT else None,
        uptime_s=found.get("Uptime"),
        blocker=blocker,
        blockers_hidden=HIDDEN in found,
    )
