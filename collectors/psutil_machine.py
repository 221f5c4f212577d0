"""This machine where there is no /proc (macOS, FreeBSD): what psutil reports."""

import asyncio
import contextlib
import os
import platform
import socket
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
from msgspec.structs import replace

from collectors.errors import AbsentError, TransportError
from collectors.kind import Kind
from collectors.linux.processes import ProcessTable
from collectors.machine import Endpoint, Missing, Outcomes, ProcessStat, Reading, Wanted
from collectors.parsing import short
from collectors.routing import shown_addresses
from collectors.transport.exchange import exchange, itself, no_other_way
from collectors.transport.local import text_of
from collectors.transport.status_client import StatusClient
from loadtop import model
from loadtop.i18n import Message
from loadtop.model.places import LOCAL

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
_NOT_REPORTED = {
    "pressure": Message("psutil does not report pressure"),
    "tcp": Message("psutil does not report TCP counters"),
}


class PsutilMachine:
    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._client = StatusClient()
        self.fetch, self.ask, self.ask_again, self.reach = self._client.get, exchange, no_other_way, itself
        self._reader = ThreadPoolExecutor(1, "loadtop-psutil")
        self._table = ProcessTable(kinds)
        self.servers, self.tested, self.lineage = self._table.roots, self._table.tested, self._table.lineage
        self.set_aside = self._table.set_aside
        self._page_kb = os.sysconf("SC_PAGE_SIZE") // 1024
        self._facts: model.HostFacts | None = None

    async def sample(self) -> model.HostSample:
        sample, stats = await asyncio.get_running_loop().run_in_executor(self._reader, self._sample)
        reading = Reading(sample.at, {}, self._page_kb, stats, frozenset(stats), own=frozenset((os.getpid(),)))
        return replace(sample, processes=self._table.update(reading))

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:
        loop = asyncio.get_running_loop()
        found = {pid: await loop.run_in_executor(self._reader, _listening, pid) for pid in pids}
        return {pid: places for pid, places in found.items() if places}

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        return await asyncio.to_thread(lambda: {file.path: text_of(file) for file in files})

    def prefer(self, ports: frozenset[int]) -> None:
        """psutil reads all sockets of a process."""

    def follow(self, path: str) -> None:
        """Nothing is read from files here with every sample."""

    def followed(self, path: str) -> str | Missing:  # noqa: ARG002 - a Machine
        return Missing("not reported by psutil")

    async def profile(self, pids: Sequence[int]) -> str:  # noqa: ARG002 - a Machine
        raise TransportError("only Linux hosts can be profiled")

    async def close(self) -> None:
        await self._client.close()
        self._reader.shutdown(wait=False, cancel_futures=True)

    def _sample(self) -> tuple[model.HostSample, Mapping[int, ProcessStat]]:
        began = time.perf_counter()
        at = time.monotonic()  # the uptime on all of these systems, which no change of the wall clock moves
        run = Outcomes()
        cpu = run.collect("cpu", _cpu)
        memory = run.collect("memory", _memory)
        if self._facts is None:
            self._facts = model.HostFacts(
                hostname=socket.gethostname(),
                source=LOCAL,
                system=platform.system(),
                kernel=platform.release(),
                cores=psutil.cpu_count() or 1,
                memory_kb=memory.total_kb if memory else None,
                page_kb=self._page_kb,
                addresses=shown_addresses(_own_addresses()),
            )
        swap = psutil.swap_memory()
        sample = model.HostSample(
            host="",
            at=at,
            facts=self._facts,
            cpu=cpu,
            scheduler=run.collect(
                "scheduler",
                lambda: model.Scheduler(*psutil.getloadavg(), context_switches=psutil.cpu_stats().ctx_switches),
            ),
            memory=memory,
            swap=run.collect("swap", lambda: model.Swap(swap.total // 1024, swap.free // 1024)),
            paging=run.collect("paging", lambda: model.Paging(swap.sin // 1024, swap.sout // 1024)),
            disks=run.collect("disks", _disks),
            networks=run.collect("networks", _networks),
        )
        for name, reason in _NOT_REPORTED.items():
            run.found.append(model.Outcome(name, model.State.ABSENT, reason))
        stats = run.collect("processes", self._stats) or {}
        return replace(sample, outcomes=tuple(run.found), took_s=round(time.perf_counter() - began, 6)), stats

    def _stats(self) -> Mapping[int, ProcessStat]:
        found: dict[int, ProcessStat] = {}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error), process.oneshot():  # it ended, or may not be looked at
                times = process.cpu_times()
                found[process.pid] = ProcessStat(
                    pid=process.pid,
                    name=short(process.name()),
                    state=_STATES.get(process.status(), "?"),
                    parent=process.ppid(),
                    threads=process.num_threads(),
                    cpu_ticks=round((times.user + times.system) * model.USER_HZ),
                    started_ticks=round(process.create_time() * model.USER_HZ),
                    rss_pages=process.memory_info().rss // 1024 // self._page_kb,
                )
        return found


def _times(times: Any) -> model.CpuTimes:
    names = [name for name in model.CpuTimes.__struct_fields__ if hasattr(times, name)]
    ticks = {name: round(getattr(times, name) * model.USER_HZ) for name in names}
    return model.CpuTimes(**dict.fromkeys(("user", "nice", "system", "idle"), 0) | ticks)


def _cpu() -> model.Cpu:
    cores = tuple(model.Core(number, _times(times)) for number, times in enumerate(psutil.cpu_times(percpu=True)))
    return model.Cpu(_times(psutil.cpu_times()), cores)


def _memory() -> model.Memory:
    sizes: dict[str, Any] = psutil.virtual_memory()._asdict()
    names = ("total", "free", "available", "buffers", "cached", "shared")
    return model.Memory(**{f"{name}_kb": sizes[name] // 1024 for name in names if name in sizes})


def _disks() -> tuple[model.Disk, ...]:
    counters: dict[str, Any] = psutil.disk_io_counters(perdisk=True) or {}
    if not counters:
        raise AbsentError("psutil reports no disk")
    return tuple(
        model.Disk(
            name,
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


def _networks() -> tuple[model.Network, ...]:
    speeds = {name: stats.speed or None for name, stats in psutil.net_if_stats().items()}
    return tuple(
        model.Network(
            name,
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


def _listening(pid: int) -> tuple[Endpoint, ...]:
    try:
        sockets: list[Any] = psutil.Process(pid).net_connections(kind="tcp")
    except (psutil.Error, AttributeError):
        return ()
    return tuple(Endpoint(found.laddr.ip, found.laddr.port) for found in sockets if found.status == "LISTEN")


def _own_addresses() -> Iterator[str]:
    for addresses in psutil.net_if_addrs().values():
        for each in addresses:
            if each.family in (socket.AF_INET, socket.AF_INET6):
                yield each.address.partition("%")[0]
