"""loadtop as a program: run to its end or in the background, what it printed, and its processes."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.loads import prepared

LOADTOP = (sys.executable, "-m", "loadtop")


def loadtop(*words: str, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    """Run it to its end, without anything on standard input."""
    return prepared.run(words, os.environ if env is None else env, timeout=90)


@contextlib.contextmanager
def started(
    *words: str, before: Sequence[str] = (), env: Mapping[str, str] | None = None, group: int | None = None
) -> "Generator[subprocess.Popen[str]]":
    """loadtop in the background, by the command ``before``; killed at the end if it still runs. ``group`` 0: in its own
    process group, because SIGTSTP does not stop a group without a parent in its session (setpgid(2))."""
    with subprocess.Popen(
        [*before, *LOADTOP, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=env, process_group=group,
    ) as program:  # fmt: skip
        try:
            yield program
        finally:
            program.kill()


def summary_of(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def wait_until(holds: Callable[[], bool], seconds: float = 30.0) -> bool:
    """Whether it holds within that time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def children(pid: int) -> list[int]:
    """The processes that this one started."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(stat.parent.name))
    return found


def lives(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except OSError:
        return False
