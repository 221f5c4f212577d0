"""The user's state directory, and the key in it by which totals of this user's own recordings are known.

Reports take the totals of a recording as they are, so those that someone else put there could say anything. A
recording from elsewhere has none that this key signed: its frames are added up again.
"""

import hashlib
import os
from contextlib import suppress
from functools import cache
from pathlib import Path

KEY, KEY_BYTES = "totals.key", 32


def directory() -> Path:
    """``$XDG_STATE_HOME/loadtop``, or ``~/.local/state/loadtop`` (XDG Base Directory Specification 0.8). The current
    directory stands for a home that is not known, as in a container without ``HOME`` and without an entry in passwd."""
    given = os.environ.get("XDG_STATE_HOME", "")
    if given.startswith("/"):
        return Path(given) / "loadtop"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path.cwd()
    return home / ".local" / "state" / "loadtop"


def signature(program: str, frames: int, totals: bytes) -> str:
    """The signature of totals of a number of frames, which only this user's loadtop can create."""
    return hashlib.blake2b(f"{program} {frames} ".encode() + totals, key=own_key(), digest_size=16).hexdigest()


@cache
def own_key() -> bytes:
    """The user's key; one that only this process knows where none can be kept."""
    path, fresh = directory() / KEY, os.urandom(KEY_BYTES)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            _write(path, fresh)
        except FileExistsError:
            kept = _read(path)
            return kept if len(kept) == KEY_BYTES else fresh
    return fresh


def _write(path: Path, key: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, key)
    finally:
        os.close(descriptor)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
