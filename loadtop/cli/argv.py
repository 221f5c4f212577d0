"""The command line as other users see it in ``ps``: overwritten, so that it shows no secret of a running test."""

import os
from collections.abc import Sequence
from pathlib import Path

_PROCESS = Path("/proc/self")
_ARG_START, _ARG_END = 45, 46  # fields of /proc/PID/stat after the name of the program: see proc_pid_stat(5)


def overwrite(words: Sequence[str], shown: Sequence[str]) -> None:
    """Replace ``words``, the last ones of this process's command line, by ``shown``. Do nothing if they are not at its
    end, or if the system does not report its place in memory: only Linux does."""
    old, new = (b"".join(os.fsencode(word) + b"\0" for word in each) for each in (words, shown))
    if new == old:
        return
    try:
        fields = (_PROCESS / "stat").read_bytes().rpartition(b")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        line = (_PROCESS / "cmdline").read_bytes()
    except OSError:
        return
    if end - start == len(line) and line.endswith(old):
        import ctypes

        # Without its last zero byte, the kernel would take what follows for a part of it.
        ctypes.memmove(end - len(old), new[: len(old) - 1].ljust(len(old), b"\0"), len(old))
