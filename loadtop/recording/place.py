"""Where recordings are kept: the user's state directory, one file per session, named by time and host."""

import os
import re
import time
from pathlib import Path

SUFFIX = ".loadtop"


def directory() -> Path:
    """``$XDG_STATE_HOME/loadtop``, or ``~/.local/state/loadtop`` (XDG Base Directory Specification 0.8)."""
    given = os.environ.get("XDG_STATE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "loadtop"


def default_path(target_host: str, now: float) -> Path:
    """A free name for a session that starts ``now`` (seconds since the epoch) against ``target_host``.

    Local time, so that people find their recordings; the recorder itself makes sure that the name is still free.
    """
    stamp = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now))
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", target_host).strip("-.")[:80] or "session"
    folder = directory()
    path = folder / f"{stamp}-{host}{SUFFIX}"
    number = 1
    while os.path.lexists(path):
        number += 1
        path = folder / f"{stamp}-{host}-{number}{SUFFIX}"
    return path
