"""Ends the connections of loadtop where it dies, hangs or is stopped: ``python -I -S guard_process.py HUNG_S``.

Lines on standard input: ``GROUP DIRECTORY`` is a connection, the group of processes of its ssh (0 as long as there is
none) and the directory of its sockets; ``- DIRECTORY`` is one that was closed; an empty line says that loadtop lives.
When nothing comes for HUNG_S, the groups are killed. When the input ends, the directories are removed too.
"""

import os
import select
import shutil
import signal
import sys
from contextlib import suppress


def main() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # its input alone ends it
    silence_s = float(sys.argv[1])
    groups: dict[str, int] = {}
    rest = ""
    while True:
        ready, _, _ = select.select([0], [], [], silence_s if any(groups.values()) else None)
        if not ready:
            end(groups)
            continue
        data = os.read(0, 65536)
        if not data:
            break
        *lines, rest = (rest + os.fsdecode(data)).split("\n")
        for line in lines:
            group, _, directory = line.partition(" ")
            if group == "-":
                groups.pop(directory, None)
            elif directory:
                groups[directory] = int(group)
    end(groups)
    for directory in groups:
        shutil.rmtree(directory, ignore_errors=True)


def end(groups: dict[str, int]) -> None:
    """Kill these groups of processes. loadtop may go on later, and remove their directories itself."""
    for directory, group in groups.items():
        groups[directory] = 0
        if group:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
