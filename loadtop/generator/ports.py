"""How many local ports this machine still has for connections."""

import re
from pathlib import Path

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_SOCKETS = Path("/proc/net/sockstat")


class Ports:
    """Ports used and available; ``None`` where the system does not say.

    A connection to one address and port needs a local port of its own, and keeps it for a minute after it has ended
    (TIME_WAIT). Which of those in TIME_WAIT lead to the target is not known, so all count: the figure is what is used
    at most. Over the loopback they do not count, as Linux uses them again at once there (``net.ipv4.tcp_tw_reuse`` = 2,
    the default, see the kernel's ip-sysctl documentation).
    """

    def __init__(self, *, loopback: bool) -> None:
        self._loopback = loopback
        self.limit = _available()

    def used(self, connections: int) -> int | None:
        """Ports in use, with this worker's open ``connections``."""
        if self.limit is None:
            return None
        if self._loopback:
            return connections
        try:
            found = re.search(r"^TCP:.* tw (\d+)", _SOCKETS.read_text(), re.MULTILINE)
        except OSError:
            return None
        return None if found is None else connections + int(found[1])


def _available() -> int | None:
    try:
        first, last = map(int, _RANGE.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1
