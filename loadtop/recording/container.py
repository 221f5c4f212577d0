"""The file of a recording: an SQLite database, private from its first byte, and distinguishable from other files.

Each interval is a row of ``frame`` first, written in a separate transaction. When a block is full, one row of ``block``
replaces them. Every row has a checksum. People who want SQL use ``loadtop export --sqlite``.
"""

import errno
import json
import os
import sqlite3
import stat
import time
import zlib
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from loadtop.model.secrets import blanked, without_secrets

APPLICATION_ID = 0x4C6F5470  # "LoTp" in bytes 68 to 71 of the file, by which file(1) and loadtop know a recording
VERSION = 2  # of the tables below, in PRAGMA user_version; version 1 was never released and has other tables

TABLES = (
    "CREATE TABLE session (meta TEXT, crc INTEGER)",
    "CREATE TABLE frame (number INTEGER PRIMARY KEY, at REAL, crc INTEGER, data BLOB)",
    "CREATE TABLE block (first INTEGER PRIMARY KEY, count INTEGER, crc INTEGER, times BLOB, data BLOB)",
    "CREATE TABLE event (frame INTEGER, kind TEXT, at REAL, crc INTEGER, data TEXT, PRIMARY KEY (frame, kind))",
    "CREATE TABLE totals (frame INTEGER PRIMARY KEY, program TEXT, crc INTEGER, data BLOB)",
)
"""``block.times`` is MessagePack: the time of each frame, and the length of its message in ``data``. ``event`` has the
marks and the changes of the verdict."""

MAX_ROW = 16 << 20  # bytes of a row
MAX_OPENING_STEPS = 1_000_000  # of SQLite's virtual machine: a few hundred open a recording
MAX_FRAMES = 1 << 32  # of a recording: years of them
MAX_SECONDS = 1e9  # of a session
MAX_UNIX_TIME = 253_402_300_799.0  # the end of the year 9999, the last one that calendars of programs know
MAX_WORDS = 10_000  # of a command line

JOURNAL_PAGES = 400  # pages of 4 kB in the journal before it is moved into the file: room against waiting for the disk

_REASONS = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_IOERR": "the disk refuses it (full, over quota or failing)",
    "SQLITE_READONLY": "it is not writable",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_CORRUPT": "it was altered while being written",
    "SQLITE_NOTADB": "it was altered while being written",
}
"""By the beginning of SQLite's name for the error."""


class SessionMeta(Struct, frozen=True):
    """What is known of a session before its first frame. ``started`` is seconds since the epoch. What is read from a
    file holds no secrets."""

    started: float
    command_line: tuple[str, ...]
    url: str
    version: str
    interval_s: float
    title: str = ""


class CreationError(OSError):
    """The file cannot be made or written; the message says in one line what to do."""


class SessionError(Exception):
    """The file cannot be read as a recording, or not be renamed or removed; the message says why in one line."""


class NoSessionError(SessionError):
    """There is no such file."""


def checksum(*values: Any, data: bytes = b"") -> int:
    """CRC-32 of the values as Python writes them (types and every bit of a float), and of the data."""
    return zlib.crc32(data, zlib.crc32(repr(values).encode("utf-8", "surrogatepass")))


def create(path: Path, meta: SessionMeta) -> sqlite3.Connection:
    """Make a recording that its owner alone may read; returns a connection for its one writer, which may move to
    another thread. Raises CreationError, also where there is such a file already, unless it is empty."""
    # Linked to its own name when complete. No other process has this number, and no other thread this moment.
    draft = path.with_name(f".{path.name[:80]}.{os.getpid()}-{time.monotonic_ns()}.new")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise CreationError(f"cannot record to {path}: {error.strerror}") from None
    try:
        _fill(draft, meta)
        _publish(draft, path)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=5.0)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {JOURNAL_PAGES}")
        connection.execute("PRAGMA cache_size = -1024")
    except (OSError, sqlite3.Error) as error:
        raise CreationError(f"cannot record to {path}: {reason(error)}") from None
    else:
        return connection
    finally:
        draft.unlink(missing_ok=True)


def _fill(draft: Path, meta: SessionMeta) -> None:
    text = json.dumps(blanked(asdict(meta)) | {"command_line": without_secrets(meta.command_line)})
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("INSERT INTO session VALUES (?, ?)", (text, checksum(text)))


def _publish(draft: Path, path: Path) -> None:
    """Give the recording its name, without what SQLite left of one of that name that is gone: it would be taken for
    this one's."""
    if not path.exists() or _is_empty(path):
        for end in ("-wal", "-shm"):
            path.with_name(f"{path.name}{end}").unlink(missing_ok=True)
    try:
        os.link(draft, path)
    except (FileExistsError, PermissionError):
        # Some file systems know no links; then the check and the move are two steps.
        if os.path.lexists(path) and not _is_empty(path):
            raise FileExistsError(errno.EEXIST, "File exists") from None
        draft.replace(path)


def _is_empty(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def reason(error: OSError | sqlite3.Error) -> str:
    """Why the system or SQLite refuses, for people."""
    if isinstance(error, FileExistsError):
        return "a file of that name exists already; choose another name or move it away"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    name = getattr(error, "sqlite_errorname", "")
    known = (words for prefix, words in _REASONS.items() if name.startswith(prefix))
    return next(known, str(error))


def connect_reader(path: Path) -> sqlite3.Connection:
    """A connection for reading that has been used once. Raises SessionError."""
    _check_file(path)
    try:
        return _connect(path, "mode=ro")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        name = getattr(error, "sqlite_errorname", "")
        problem = str(error)
    if name == "SQLITE_NOTADB":
        raise SessionError(f"{path}: not a recording of loadtop")
    if not os.access(path, os.R_OK):
        raise SessionError(f"{path}: not permitted to read it")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
        journal = path.with_name(f"{path.name}-wal")
        if journal.exists() and journal.stat().st_size:
            raise SessionError(f"{path}: copy it and {journal.name} to a writable directory, then open the copy")
        # No other program writes it and the journal is empty: the file alone can be read.
        with suppress(sqlite3.Error, UnicodeDecodeError):
            return _connect(path, "immutable=1")
    raise SessionError(f"{path}: the recording is damaged at its beginning ({problem})")


def _check_file(path: Path) -> None:
    """Raise SessionError unless the path names a regular file."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NoSessionError(f"{path}: no such file") from None
    except OSError as error:
        refused = isinstance(error, PermissionError)
        raise SessionError(f"{path}: {'not permitted to read it' if refused else error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise SessionError(f"{path}: this is a directory: give the path of a recording in it")
    if not stat.S_ISREG(mode):
        raise SessionError(f"{path}: not a recording of loadtop")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    try:
        return _open(path, how)
    except sqlite3.DatabaseError as error:
        if not getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT"):
            raise
        # SQLite reads a file that was cut off as far as it goes only with this. Rows are checked one by one.
        return _open(path, how, "writable_schema = ON")


def _open(path: Path, how: str, *settings: str) -> sqlite3.Connection:
    """A connection that reads the tables of a recording and runs nothing that the file brings along."""
    with ExitStack() as on_error:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=5.0)
        on_error.callback(connection.close)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: 1, MAX_OPENING_STEPS)  # pages can refer to each other without end
        for setting in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", *settings):
            connection.execute(f"PRAGMA {setting}")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION_ID:
            raise SessionError(f"{path}: not a recording of loadtop")
        if version < VERSION:
            raise SessionError(f"{path}: written in an older format, which this version cannot read")
        if version > VERSION:
            raise SessionError(f"{path}: written by a newer loadtop (format {version}; this one knows up to {VERSION})")
        for kind, sql in connection.execute("SELECT type, sql FROM sqlite_schema"):
            if sql not in TABLES and (kind, sql) != ("index", None):  # views would be run
                raise SessionError(f"{path}: not a recording of loadtop (it contains more than a recording's tables)")
        connection.set_progress_handler(None, 0)
        on_error.pop_all()
    return connection
