"""The PostgreSQL servers of one machine: sessions by their state and what they wait for, transactions, and blockers.

Source: the PostgreSQL manual, "The Cumulative Statistics System" (``pg_stat_activity``, ``pg_stat_database``) and
"Predefined Roles" (``pg_monitor``). ``wait_event_type`` is ``Client`` where a session waits for its client, which is
left out. Accounts are looked for where libpq does: see :mod:`collectors.postgresql.account`.
"""

import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any, cast

from msgspec.structs import replace

from collectors.blocking import BLOCKED, LIMIT_S, blocking
from collectors.errors import FetchError, ParseError
from collectors.kind import Kind
from collectors.machine import Page
from collectors.parsing import LONGEST_TEXT, MOST_PORT, complete_lines, count_or_none, counts, short
from collectors.postgresql.account import Account, account_for
from collectors.sql_collector import STATEMENT_S, SqlCollector, status_of
from collectors.sql_session import Channel, Connection, Login
from loadtop.servers.postgresql.record import FIX, SERVER, PostgresqlStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"postgres|postmaster", re.ASCII),
    port=5432,
    socket=re.compile(r"/\.s\.PGSQL\.\d{1,5}$"),
)

_CANCELED = "57014"  # query_canceled: the time limit
_TOO_MANY = "53300"  # too_many_connections
_DENIED = ("28000", "28P01")  # invalid_authorization_specification, invalid_password

STATEMENT = """\
WITH session AS (
    SELECT pid, state, wait_event_type, wait_event, backend_type FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND datname IS NOT NULL
        AND coalesce(backend_type, 'client backend') = 'client backend'
)
SELECT name, setting FROM pg_settings
    WHERE name IN ('server_version', 'max_connections', 'superuser_reserved_connections', 'port')
UNION ALL SELECT 'uptime', extract(epoch FROM now() - pg_postmaster_start_time())::bigint::text
UNION ALL SELECT 'transactions', sum(xact_commit + xact_rollback)::bigint::text FROM pg_stat_database
UNION ALL SELECT 'hidden', count(*)::text FROM session WHERE backend_type IS NULL
UNION ALL SELECT 'active', count(*)::text FROM session WHERE state = 'active'
UNION ALL SELECT 'idle_in_transaction', count(*)::text FROM session WHERE state LIKE 'idle in transaction%'
UNION ALL SELECT 'wait_' || lower(wait_event_type), count(*)::text FROM session
    WHERE state = 'active' AND wait_event_type IN ('Lock', 'LWLock', 'IO') GROUP BY wait_event_type
UNION ALL (
    SELECT 'event_' || wait_event_type || ':' || wait_event, count(*)::text FROM session
    WHERE state = 'active' AND wait_event_type NOT IN ('Client', 'Activity')
    GROUP BY wait_event_type, wait_event ORDER BY count(*) DESC LIMIT 1
)
UNION ALL SELECT 'sessions', count(*)::text FROM session
"""
"""Rows of a name and a value, the one without which an answer is none at the end. The type of a session is hidden from
those who may not see its state."""

BLOCKING = f"""\
WITH waiting AS (
    SELECT pid, query, query_start, (pg_blocking_pids(pid))[1] AS blocker FROM (
        SELECT pid, query, query_start FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid() ORDER BY query_start LIMIT 50
    ) AS longest
), held AS (
    SELECT DISTINCT ON (pid) pid, mode, CASE
        WHEN database IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))
        THEN relation::regclass::text END AS name
    FROM pg_locks WHERE locktype = 'tuple' OR locktype = 'relation' AND NOT granted
)
SELECT '{BLOCKED}', waiting.pid, blocker,
    (extract(epoch FROM clock_timestamp() - waiting.query_start) * 1000)::bigint,
    CASE WHEN holding.state LIKE 'idle%' THEN 'idle' ELSE 'active' END,
    substring(holding.query FROM '^[[:space:]]*([A-Za-z]{{1,20}})'), held.mode,
    coalesce(
        held.name,
        substring(waiting.query FROM '(?i)^\\s*(?:update|insert\\s+into|delete\\s+from)\\s+(?:only\\s+)?([\\w."]+)'),
        substring(waiting.query FROM '(?i)^\\s*select\\s[\\w\\s,.*"]*\\sfrom\\s+([\\w."]+)')
    )
FROM waiting
LEFT JOIN pg_stat_activity AS holding ON holding.pid = blocker
LEFT JOIN held ON held.pid = waiting.pid
WHERE blocker IS NOT NULL
"""  # noqa: S608 - of constants
"""To ask who blocks a session stops the lock table for a moment, so it is asked of few. Names of tables are known in
the own database only; elsewhere the statement has them in front of any literal."""

_EVENT = "event_"
_NAMES = (
    *("max_connections", "superuser_reserved_connections", "port", "uptime", "transactions", "sessions", "hidden"),
    *("active", "idle_in_transaction", "wait_lock", "wait_lwlock", "wait_io"),
)


class PostgresqlCollector(SqlCollector[PostgresqlStatus]):
    kind = KIND
    sockets = ("/run/postgresql/.s.PGSQL.{port}",)
    library = "pg8000.native"
    package = "pg8000"
    statements = (STATEMENT,)

    def login(self, library: ModuleType, address: str, user: str, *, trusted: bool) -> Login:
        account = account_for(address, user) if trusted else Account(user)
        encrypt = trusted and not address.startswith("/")

        def log_in(channel: Channel) -> Connection:
            return _Connection(library, channel, account, encrypt=encrypt)

        return log_in

    def refusal(self, error: Exception) -> FetchError | None:
        if _code(error) not in _DENIED:
            said = _said(error, "M")
            text = short(str(said), LONGEST_TEXT)
            return FetchError("PostgreSQL reports an error: {error}", error=text) if said else None
        return FetchError(
            "PostgreSQL denied the login. On the machine where loadtop runs, put the password into ~/.pgpass and set "
            "the server with {option}. Or create a role named after the user who runs loadtop (over SSH: the remote "
            "user), to log in through the unix socket.",
            option="--postgresql ADDRESS",
            fix=FIX,
        )

    def is_full(self, error: Exception) -> bool:
        return _code(error) == _TOO_MANY

    def records(self, page: Page, at: float) -> Sequence[PostgresqlStatus]:
        return (replace(status_of(page, PostgresqlStatus, parse), at=at),)


class _Connection:
    """pg8000's, in a session that only reads."""

    def __init__(self, library: ModuleType, channel: Channel, account: Account, *, encrypt: bool) -> None:
        channel.settimeout(2.0 * STATEMENT_S)
        self._error: type[Exception] = library.DatabaseError
        self._library: Any = library.Connection(
            account.user,
            password=account.password,
            database=account.database,
            sock=channel,
            ssl_context=None if encrypt else False,  # None: encrypted where the server can, as libpq does
            application_name="loadtop",
            startup_params={
                "default_transaction_read_only": "on",
                "statement_timeout": str(STATEMENT_S * 1000),
                "lock_timeout": str(STATEMENT_S * 1000),
            },
        )

    def rows(self, statement: str) -> Sequence[Sequence[object]]:
        found: Sequence[Sequence[object]] = self._library.run(statement)
        return found

    def blocking(self, status: str) -> Sequence[Sequence[object]]:
        if not counts(status, ("wait_lock",), "\t").get("wait_lock"):
            return ()
        self.rows(f"SET statement_timeout = {LIMIT_S * 1000:.0f}")
        try:
            return self.rows(BLOCKING)
        except self._error as error:
            if _code(error) != _CANCELED:
                raise
            return ()
        finally:
            self.rows(f"SET statement_timeout = {STATEMENT_S * 1000}")

    def close(self) -> None:
        self._library.close()


def _code(error: Exception) -> object:
    return _said(error, "C")


def _said(error: Exception, field: str) -> object:
    """A field of the server's error response: ``C`` is its code, ``M`` its message."""
    told = error.args[0] if error.args else None
    return cast("dict[str, object]", told).get(field) if isinstance(told, dict) else None


def parse(text: str, address: str = "") -> PostgresqlStatus:
    """Rows of names and values. Raises :class:`ParseError` where they are no status of PostgreSQL."""
    found = counts(text, _NAMES, "\t")
    rows: dict[str, str] = {}
    for name, _, value in (line.partition("\t") for line in complete_lines(text)):
        rows.setdefault(name, value)
    version = short(rows.get("server_version", ""), LONGEST_TEXT)
    if "sessions" not in found or not version:
        raise ParseError("not PostgreSQL status data: the number of sessions or the version is missing")
    hidden = bool(found.get("hidden"))

    def seen(name: str) -> int | None:
        """A count of sessions in a state, which is not known while the states of some are hidden. Without a row for a
        kind of wait, no session waits for it."""
        none = 0 if name.startswith("wait_") and name not in rows else None
        return None if hidden else found.get(name, none)

    blocker, blockers = blocking(text)
    event = next((name for name in rows if name.startswith(_EVENT)), "")
    waiting = count_or_none(rows[event]) if event else 0
    return PostgresqlStatus(
        address=address,
        version=version,
        connected=found["sessions"] + 1,
        active=seen("active"),
        idle_in_transaction=seen("idle_in_transaction"),
        lock_waits=seen("wait_lock"),
        lwlock_waits=seen("wait_lwlock"),
        io_waits=seen("wait_io"),
        blockers=None if hidden else blockers,
        max_connections=found.get("max_connections"),
        reserved=found.get("superuser_reserved_connections"),
        transactions=found.get("transactions"),
        hidden=hidden,
        wait_event=short(event.removeprefix(_EVENT), LONGEST_TEXT) if waiting and not hidden else "",
        wait_event_sessions=None if hidden else waiting,
        port=found["port"] if found.get("port", MOST_PORT + 1) <= MOST_PORT else None,
        uptime_s=found.get("uptime"),
        blocker=None if hidden else blocker,
    )
