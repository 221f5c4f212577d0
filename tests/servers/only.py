"""This machine with some of its processes only: those of one server, whatever else runs beside it."""

import psutil
from msgspec.structs import replace

from collectors.machine import Missing, Reading, Request
from collectors.transport.local import LocalTransport


class OnlyBelow(LocalTransport):
    """Reads this machine, and passes on those processes that descend from one (it included)."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._top = pid

    async def read(self, request: Request) -> Reading:
        reading = await super().read(request)
        if isinstance(reading.processes, Missing):
            return reading
        top = psutil.Process(self._top)
        pids = {top.pid, *(child.pid for child in top.children(recursive=True))} & set(reading.pids)
        texts = {pid: text for pid, text in reading.processes.items() if pid in pids}
        return replace(reading, processes=texts, pids=frozenset(pids))
