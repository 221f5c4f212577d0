"""The accept queues of a machine's listening sockets as the kernel has them, by address."""

from collectors.linux.unix_sockets import UNIX, unix_queues
from collectors.machine import Machine
from collectors.parsing import count_or_none
from loadtop.model import HostSample


class AcceptQueues:
    """The queues of one sample. A TCP port stands for all of its addresses. Unix sockets are read from the next sample
    on when one is first asked for."""

    def __init__(self, machine: Machine, sample: HostSample) -> None:
        self._machine = machine
        self._ports = {each.port: each.queue for each in (sample.tcp.listeners if sample.tcp is not None else ())}

    def at(self, address: str) -> int | None:
        """Connections waiting at ``HOST:PORT`` or at the path of a socket; ``None`` if unknown."""
        if not address.startswith("/"):
            port = count_or_none(address.rpartition(":")[2])
            return None if port is None else self._ports.get(port)
        self._machine.follow(UNIX.path)
        return unix_queues(self._machine.followed(UNIX.path)).get(address)
