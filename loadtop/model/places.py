"""How the place of a host is written: ``local``, ``psutil``, ``ssh://[USER@]HOST[:PORT]`` or ``exec:COMMAND``."""

import shlex

LOCAL = "local"  # this machine, read from /proc if there is one
HERE = (LOCAL, "psutil")  # places that are this machine
EXEC = "exec:"


def exec_command(place: str) -> list[str]:
    """The words of the command in ``exec:COMMAND``; none for other places. Raises ValueError for open quotes."""
    return shlex.split(place.removeprefix(EXEC)) if place.startswith(EXEC) else []
