"""The file of a session: made whole and private before anybody can see it, and told apart from other files."""

import os
import sqlite3
import stat
import time
from pathlib import Path

from loadtop.model.secrets import url_without_secrets, without_secrets
from loadtop.recording.definitions import checksum, stored_text, summed
from loadtop.recording.meta import SessionMeta
from loadtop.recording.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES, statements
from loadtop.recording.series import real

JOURNAL_PAGES = 400
"""Pages (of 4 kB) that the journal may hold before it is moved into the file: a compromise between room on the disk and
how often that disk has to be waited for (some 20 s)."""

_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk refuses it (full, over quota or failing)",
    "SQLITE_READONLY": "it is not writable",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_CORRUPT": "it was altered while being written",
    "SQLITE_NOTADB": "it was altered while being written",
}
"""By the beginning of SQLite's own name for the error."""


class CreationError(OSError):
    """The file cannot be made or written; the message says in one line what to do."""


def create(path: Path, meta: SessionMeta) -> None:
    """Make an empty recording, readable by its owner alone from the first byte on. Raises CreationError.

    It is made under another name and linked to its own when complete: no moment exists at which a file of this name is
    no recording, and a file that is there already is never touched (an empty one is replaced).
    """
    # No other process has this number, and no other thread this moment.
    draft = path.with_name(f".{path.name[:80]}.{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise CreationError(f"cannot record to {path}: {error.strerror}") from None
    try:
        _fill(draft, meta)
        _forget_journal(path)
        _publish(draft, path)
    except (OSError, sqlite3.Error) as error:
        raise CreationError(f"cannot record to {path}: {reason(error)}") from None
    finally:
        draft.unlink(missing_ok=True)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the one writer; it may move to another thread. Raises sqlite3.Error."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA wal_autocheckpoint = {JOURNAL_PAGES}")
    connection.execute("PRAGMA cache_size = -1024")
    return connection


def _fill(draft: Path, meta: SessionMeta) -> None:
    connection = sqlite3.connect(draft, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("BEGIN")
        for statement in statements():
            connection.execute(statement)
        row = (
            SCHEMA_VERSION,
            real(meta.started),
            stored_text(url_without_secrets(meta.url)),
            stored_text(meta.version),
            real(meta.interval_s),
            stored_text(meta.title),
            checksum(tuple(connection.execute(TABLES))),
        )
        connection.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", summed(row))
        words = enumerate(without_secrets(meta.command_line))
        rows = [summed((position, stored_text(word))) for position, word in words]
        connection.executemany("INSERT INTO word VALUES (?, ?, ?)", rows)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _forget_journal(path: Path) -> None:
    """Remove what SQLite left of a recording of that name that is gone: it would be taken for this one's."""
    if not path.exists() or _is_empty(path):
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        if not _is_empty(path):
            raise
        draft.replace(path)
    except PermissionError:
        # Some file systems know no links; then the check and the move are two steps.
        if path.exists() and not _is_empty(path):
            raise FileExistsError(17, "File exists") from None
        draft.replace(path)


def _is_empty(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def reason(error: OSError | sqlite3.Error) -> str:
    """In words what the system or SQLite has against it."""
    if isinstance(error, FileExistsError):
        return "a file of that name exists already; choose another name or move it away"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    name = getattr(error, "sqlite_errorname", "")
    known = (words for prefix, words in _REASONS.items() if name.startswith(prefix))
    return next(known, str(error))
