"""This machine where there is no /proc (macOS, FreeBSD): what psutil reports."""

import asyncio
import os
import platform
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import psutil

from collectors import host_names
from collectors.errors import AbsentError
from collectors.kind import Kind
from collectors.linux.process_table import BUSIEST, group_of
from collectors.machine import Endpoint, Outcomes
from collectors.reading import Missing, Wanted
from collectors.transport import sockets
from collectors.transport.http import StatusClient
from loadtop.i18n import Message
from loadtop.model import (
    LOADTOP,
    OTHER,
    USER_HZ,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    HostFacts,
    HostSample,
    Memory,
    Network,
    Paging,
    Process,
    Scheduler,
    Swap,
)

_STATES = {
    "running": "R",
    "sleeping": "S",
    "disk-sleep": "D",
    "stopped": "T",
    "tracing-stop": "t",
    "zombie": "Z",
    "dead": "X",
    "idle": "I",
    "waiting": "S",
    "locked": "D",
    "parked": "P",
}


class PsutilMachine:
    """This machine through psutil. ``own`` and ``verify`` as for :class:`collectors.transport.local.LocalTransport`."""

    def __init__(
        self, kinds: Sequence[Kind], *, own: Callable[[], Iterable[int]] | None = None, verify: bool = True
    ) -> None:
        self._kinds = kinds
        self._own = own
        self._client = StatusClient(verify=verify)
        self.fetch, self.ask = self._client.get, sockets.exchange
        self._reader = ThreadPoolExecutor(1, "loadtop-psutil")
        self._ticks: dict[tuple[int, int], int] = {}
        self._parents: dict[int, tuple[int, str]] = {}
        self._facts: HostFacts | None = None
        self._aside: frozenset[int] = frozenset()

    async def sample(self) -> HostSample:
        own = frozenset((os.getpid(), *(self._own() if self._own else ())))
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._sample, own)

    def servers(self, group: str) -> tuple[int, ...]:
        members = {pid: parent for pid, (parent, of) in self._parents.items() if of == group}
        return tuple(pid for pid, parent in members.items() if parent not in members)

    def tested(self, group: str) -> tuple[int, ...]:
        return tuple(pid for pid in self.servers(group) if pid not in self._aside)

    def set_aside(self, pids: frozenset[int]) -> None:
        self._aside = pids

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        return await asyncio.get_running_loop().run_in_executor(self._reader, _listening, pid)

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reader, lambda: {file.path: _text(file) for file in files})

    def follow(self, path: str) -> None:
        """Nothing is read from files here with every sample."""

    def followed(self, path: str) -> str | Missing:  # noqa: ARG002 - a Machine
        return Missing("not reported by psutil")

    async def close(self) -> None:
        await self._client.close()
        self._reader.shutdown(wait=False, cancel_futures=True)

    def _sample(self, own: frozenset[int]) -> HostSample:
        began = time.perf_counter()
        at = time.monotonic()  # the uptime on all of these systems, which no change of the wall clock moves
        run = Outcomes()
        cpu = run.collect("cpu", _cpu)
        memory = run.collect("memory", _memory)
        if self._facts is None:
            self._facts = HostFacts(
                hostname=socket.gethostname(),
                source="local",
                system=platform.system(),
                kernel=platform.release(),
                cores=psutil.cpu_count() or 1,
                memory_kb=memory.total_kb if memory else None,
                page_kb=os.sysconf("SC_PAGE_SIZE") // 1024,
            )
        return HostSample(
            host="",
            at=at,
            facts=self._facts,
            cpu=cpu,
            scheduler=run.collect("scheduler", _scheduler),
            memory=memory,
            swap=run.collect("swap", _swap),
            paging=run.collect("paging", _paging),
            pressure=run.collect("pressure", lambda: _none(Message("psutil does not report pressure"))),
            disks=run.collect("disks", _disks),
            networks=run.collect("networks", _networks),
            tcp=run.collect("tcp", lambda: _none(Message("psutil does not report TCP counters"))),
            processes=run.collect("processes", lambda: self._processes(own)),
            outcomes=tuple(run.found),
            took_s=round(time.perf_counter() - began, 6),
        )

    def _processes(self, own: frozenset[int]) -> tuple[Process, ...]:
        rows: list[Process] = []
        parents: dict[int, int] = {}
        for process in psutil.process_iter():
            try:
                row, parents[process.pid] = _process(process, self._kinds)
            except psutil.Error:
                continue  # it ended, or may not be looked at
            rows.append(row)
        rows = [
            replace(row, group=LOADTOP) if row.group == OTHER and _descends_from(own, row.pid, parents) else row
            for row in rows
        ]
        self._parents = {row.pid: (parents[row.pid], row.group) for row in rows}
        rows = [replace(row, group=OTHER) if _descends_from(self._aside, row.pid, parents) else row for row in rows]
        used = {row.pid: row.cpu_ticks - self._ticks.get((row.pid, row.started_ticks), row.cpu_ticks) for row in rows}
        self._ticks = {(row.pid, row.started_ticks): row.cpu_ticks for row in rows}
        busy = sorted((row for row in rows if row.group == OTHER and used[row.pid] > 0), key=lambda row: -used[row.pid])
        return tuple(row for row in rows if row.group != OTHER) + tuple(busy[:BUSIEST])


def _text(wanted: Wanted) -> str | Missing:
    """A file, or the entries of a directory, one a line; addresses of a name."""
    if name := host_names.name_of(wanted.path):
        return host_names.resolved_here(name)
    path = Path(wanted.path)
    try:
        if wanted.path.endswith("/"):
            return "".join(f"{entry}\n" for entry in sorted(path.iterdir()))
        with path.open("rb") as file:
            return file.read(wanted.limit).decode("utf-8", "replace")
    except OSError as error:
        return Missing((error.strerror or type(error).__name__).lower())


def _none(reason: Message) -> Any:
    raise AbsentError(reason)


def _times(times: Any) -> CpuTimes:
    names = [field.name for field in fields(CpuTimes) if hasattr(times, field.name)]
    ticks = {name: round(getattr(times, name) * USER_HZ) for name in names}
    return CpuTimes(**dict.fromkeys(("user", "nice", "system", "idle"), 0) | ticks)


def _cpu() -> Cpu:
    cores = tuple(Core(number, _times(times)) for number, times in enumerate(psutil.cpu_times(percpu=True)))
    return Cpu(_times(psutil.cpu_times()), cores)


def _scheduler() -> Scheduler:
    load1, load5, load15 = psutil.getloadavg()
    return Scheduler(load1, load5, load15, context_switches=psutil.cpu_stats().ctx_switches)


def _memory() -> Memory:
    sizes: dict[str, Any] = psutil.virtual_memory()._asdict()
    names = ("total", "free", "available", "buffers", "cached", "shared")
    return Memory(**{f"{name}_kb": sizes[name] // 1024 for name in names if name in sizes})


def _swap() -> Swap:
    swap = psutil.swap_memory()
    return Swap(total_kb=swap.total // 1024, free_kb=swap.free // 1024)


def _paging() -> Paging:
    swap = psutil.swap_memory()
    return Paging(swap_in_kb=swap.sin // 1024, swap_out_kb=swap.sout // 1024)


def _disks() -> tuple[Disk, ...]:
    counters: dict[str, Any] = psutil.disk_io_counters(perdisk=True) or {}
    if not counters:
        raise AbsentError("psutil reports no disk")
    return tuple(
        Disk(
            name=name,
            reads=disk.read_count,
            read_kb=disk.read_bytes // 1024,
            read_ms=getattr(disk, "read_time", 0),
            writes=disk.write_count,
            write_kb=disk.write_bytes // 1024,
            write_ms=getattr(disk, "write_time", 0),
            busy_ms=getattr(disk, "busy_time", None),
        )
        for name, disk in counters.items()
        if not name.startswith(("loop", "ram"))
    )


def _networks() -> tuple[Network, ...]:
    speeds = {name: stats.speed or None for name, stats in psutil.net_if_stats().items()}
    return tuple(
        Network(
            name=name,
            rx_bytes=net.bytes_recv,
            tx_bytes=net.bytes_sent,
            rx_packets=net.packets_recv,
            tx_packets=net.packets_sent,
            rx_errors=net.errin,
            tx_errors=net.errout,
            rx_drops=net.dropin,
            tx_drops=net.dropout,
            link_mbit=speeds.get(name),
        )
        for name, net in psutil.net_io_counters(pernic=True).items()
    )


def _process(process: psutil.Process, kinds: Sequence[Kind]) -> tuple[Process, int]:
    with process.oneshot():
        name = process.name()
        times = process.cpu_times()
        return Process(
            pid=process.pid,
            name=name,
            group=group_of(kinds, name) or OTHER,
            state=_STATES.get(process.status(), "?"),
            threads=process.num_threads(),
            cpu_ticks=round((times.user + times.system) * USER_HZ),
            started_ticks=round(process.create_time() * USER_HZ),
            rss_kb=process.memory_info().rss // 1024,
        ), process.ppid()


def _descends_from(pids: frozenset[int], pid: int, parents: dict[int, int]) -> bool:
    """Whether a process is one of ``pids``, or was started by one of them, directly or not."""
    for _ in range(64):
        if not pids or pid not in parents:
            break
        if pid in pids:
            return True
        pid = parents[pid]
    return False


def _listening(pid: int) -> tuple[Endpoint, ...]:
    try:
        sockets: list[Any] = psutil.Process(pid).net_connections(kind="tcp")
    except (psutil.Error, AttributeError):
        return ()
    return tuple(Endpoint(found.laddr.ip, found.laddr.port) for found in sockets if found.status == "LISTEN")
