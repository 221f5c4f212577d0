"""How the place of a host is written: ``local``, ``psutil``, ``ssh://[USER@]HOST[:PORT]`` or ``exec:COMMAND``. And the
port of a server's URL."""

import shlex
from urllib.parse import urlsplit

LOCAL = "local"  # this machine, read from /proc if there is one
HERE = (LOCAL, "psutil")  # places that are this machine
EXEC = "exec:"


def exec_command(place: str) -> list[str]:
    """The words of the command in ``exec:COMMAND``; none for other places. Raises ValueError for open quotes."""
    return shlex.split(place.removeprefix(EXEC)) if place.startswith(EXEC) else []


def port_of(url: str) -> int:
    """Return the port of a URL, 0 if it is invalid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return 0
    return port or (443 if parts.scheme == "https" else 80)
