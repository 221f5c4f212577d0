"""One stretch of time, seen near, over SSH, and by the tools of sysstat and procps: they agree within rounding."""

import asyncio
import os
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import Struct

from collectors.linux.machine import LinuxMachine
from collectors.servers import KINDS as SERVER_KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import HostSample
from loadtop.rates.compute import host_rates
from loadtop.rates.records import HostRates
from loadtop.servers.registry import KINDS
from tests.servers.reference import Reference
from tests.servers.sshd import SshdFactory

SECONDS = 4
TOOLS = {
    "sar": ("-u", "-P", "ALL", "-q", "ALL", "-B", "-W", "-r", "-S", "-d", "-n", "DEV,TCP,ETCP", str(SECONDS), "1"),
    "vmstat": ("-n", "-w", str(SECONDS), "2"),
    "mpstat": ("-P", "ALL", str(SECONDS), "1"),
    "iostat": ("-d", "-x", "-k", "-y", str(SECONDS), "1"),
    "pidstat": ("-u", "-r", "-h", "-p", str(os.getpid()), str(SECONDS), "1"),
}


class Seen(Struct, frozen=True):
    """The two readings of one stretch of time, and what the tools printed of it."""

    near: HostRates
    far: HostRates
    newest: HostSample
    printed: Mapping[str, str]

    def average(self, column: str, key: str = "", tool: str = "sar") -> float:
        """The value of a column in the averages that a tool prints last, of the row that begins with ``key``."""
        head: list[str] = []
        for line in self.printed[tool].splitlines():
            words = line.split()
            if words[:1] != ["Average:"]:
                continue
            if column in words:
                head = words
            elif head and (not key or words[1] == key):
                return float(words[head.index(column)])
        raise AssertionError(f"{tool} printed no {column} {key}:\n{self.printed[tool]}")

    def last(self, tool: str, column: str, key: str = "") -> float:
        """The value of a column in the last row of a tool's only table, or in that which begins with ``key``."""
        rows = [line.removeprefix("#").split() for line in self.printed[tool].splitlines()]
        head = next(row for row in rows if column in row)
        return float(next(row for row in reversed(rows) if row and key in ("", row[0]))[head.index(column)])


async def run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    printed, _ = await process.communicate()
    return printed.decode()


@pytest.fixture
async def seen(sshd: SshdFactory, tmp_path: Path, reference: Reference) -> Seen:
    """Something happens meanwhile: half a core of this process, and 4 MB/s that go to a disk."""
    server = sshd()
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(server.config)))
    await transport.connect()
    near, far = LinuxMachine(LocalTransport(), SERVER_KINDS), LinuxMachine(transport, SERVER_KINDS)
    commands = [(reference.program(name), *options) for name, options in TOOLS.items()]
    end = threading.Event()
    on_a_disk = os.environ.get("PYTHONPYCACHEPREFIX", tmp_path)  # temporary files may be in memory
    worker = threading.Thread(target=_work, args=(end, Path(on_a_disk) / "written"))
    worker.start()
    try:
        for machine in (near, far):
            await machine.sample()
        tools = asyncio.gather(*(run(*command) for command in commands))
        before = await asyncio.gather(near.sample(), far.sample())
        printed = await tools
        after = await asyncio.gather(near.sample(), far.sample())
    finally:
        end.set()
        await asyncio.to_thread(worker.join)
        await near.close()
        await far.close()
    rates = [host_rates(old, new, KINDS) for old, new in zip(before, after, strict=True)]
    assert rates[0] is not None
    assert rates[1] is not None
    return Seen(rates[0], rates[1], after[0], dict(zip(TOOLS, printed, strict=True)))


def _work(end: threading.Event, file: Path) -> None:
    written = 0
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb", buffering=0) as sink:
        while not end.wait(0.01):
            until = time.thread_time() + 0.01
            while time.thread_time() < until:
                pass
            written += sink.write(b"x" * 80_000)
            if written % 800_000 == 0:
                os.fsync(sink.fileno())
    file.unlink()


async def test_one_stretch_of_time(seen: Seen) -> None:
    for rates in (seen.near, seen.far):
        assert rates.seconds == pytest.approx(SECONDS, abs=1.0)
        assert rates.cpu is not None
        assert rates.cpu.idle == pytest.approx(seen.average("%idle", "all"), abs=6.0)
        assert rates.cpu.idle == pytest.approx(seen.last("vmstat", "id"), abs=6.0)
        assert rates.cpu.user + (rates.cpu.nice or 0.0) == pytest.approx(
            seen.average("%user", "all") + seen.average("%nice", "all"), abs=6.0
        )
        assert rates.cpu.steal == pytest.approx(seen.average("%steal", "all"), abs=3.0)
        assert rates.paging is not None
        assert rates.paging.major_faults == pytest.approx(seen.average("majflt/s"), rel=0.3, abs=20)
        assert rates.paging.swap_in_kb == pytest.approx(4 * seen.average("pswpin/s"), rel=0.3, abs=100)
        assert rates.paging.swap_in_kb == pytest.approx(seen.last("vmstat", "si"), rel=0.3, abs=100)
        assert rates.networks is not None
        loopback = next(line for line in rates.networks if line.name == "lo")
        assert loopback.rx_kb == pytest.approx(seen.average("rxkB/s", "lo"), rel=0.3, abs=40)
        assert rates.tcp is not None
        assert rates.tcp.passive_opens == pytest.approx(seen.average("passive/s"), rel=0.3, abs=10)
        assert rates.tcp.retransmits == pytest.approx(seen.average("retrans/s"), rel=0.3, abs=5)
        assert rates.disks
        assert sum(disk.write_kb for disk in rates.disks) > 100
        for disk in rates.disks:
            assert disk.util == pytest.approx(seen.average("%util", disk.name), abs=15.0)
            assert disk.write_kb == pytest.approx(seen.average("wkB/s", disk.name), rel=0.4, abs=2000)
        for core in rates.cores:
            assert core.shares.idle == pytest.approx(seen.average("%idle", str(core.id)), abs=10.0)
        if rates.pressure is not None:
            for name, column in (("cpu_some", "%scpu"), ("io_some", "%sio"), ("memory_some", "%smem")):
                assert getattr(rates.pressure, name) == pytest.approx(seen.average(column), abs=12.0), column
    assert seen.newest.scheduler is not None
    assert seen.newest.scheduler.load1 == pytest.approx(seen.average("ldavg-1"), abs=1.0)
    memory, swap = seen.newest.memory, seen.newest.swap
    assert memory is not None
    assert swap is not None
    assert memory.available_kb == pytest.approx(seen.average("kbavail"), abs=300_000)
    assert swap.total_kb - swap.free_kb == pytest.approx(seen.average("kbswpused"), abs=20_000)
    assert {disk.name for disk in seen.near.disks or ()} == {disk.name for disk in seen.far.disks or ()}
    for ours, theirs in zip(seen.near.cores, seen.far.cores, strict=True):
        assert ours.shares.idle == pytest.approx(theirs.shares.idle, abs=8.0)

    _as_mpstat_sees_it(seen)
    _as_iostat_sees_it(seen)
    _as_pidstat_sees_it(seen)


def _as_mpstat_sees_it(seen: Seen) -> None:
    assert seen.near.cpu is not None
    columns = {"nice": "%nice", "system": "%sys", "iowait": "%iowait", "irq": "%irq", "softirq": "%soft"}
    for name, column in columns.items():
        shares = seen.average(column, "all", "mpstat")
        assert getattr(seen.near.cpu, name) == pytest.approx(shares, abs=6.0), column
    for core in seen.near.cores:
        assert core.shares.idle == pytest.approx(seen.average("%idle", str(core.id), "mpstat"), abs=10.0)


def _as_iostat_sees_it(seen: Seen) -> None:
    for disk in seen.near.disks or ():
        reads, writes, read_ms, write_ms, read_kb, write_kb, queue = (
            seen.last("iostat", column, disk.name)
            for column in ("r/s", "w/s", "r_await", "w_await", "rkB/s", "wkB/s", "aqu-sz")
        )
        assert disk.requests == pytest.approx(reads + writes, rel=0.4, abs=20)
        assert disk.read_kb == pytest.approx(read_kb, rel=0.4, abs=2000)
        assert disk.write_kb == pytest.approx(write_kb, rel=0.4, abs=2000)
        assert disk.queue == pytest.approx(queue, rel=0.5, abs=1.0)
        if disk.await_ms is not None and reads + writes > 10:
            theirs = (reads * read_ms + writes * write_ms) / (reads + writes)
            assert disk.await_ms == pytest.approx(theirs, rel=0.5, abs=5.0)


def _as_pidstat_sees_it(seen: Seen) -> None:
    """Of this process, which is at work in :func:`_work`."""
    ours = next(row for row in seen.near.processes or () if row.process.pid == os.getpid())
    assert ours.cpu == pytest.approx(seen.last("pidstat", "%CPU"), abs=12.0)
    assert ours.process.rss_kb == pytest.approx(seen.last("pidstat", "RSS"), rel=0.1)


async def test_memory_in_use_as_free_prints_it(reference: Reference) -> None:
    machine = LinuxMachine(LocalTransport(), SERVER_KINDS)
    printed = await run(reference.program("free"), "-k")
    sample = await machine.sample()
    await machine.close()
    head, memory, swap = (line.split() for line in printed.splitlines())
    free = dict(zip(head, map(int, memory[1:]), strict=True))
    assert sample.memory is not None
    assert sample.swap is not None
    assert sample.memory.total_kb == free["total"]
    assert sample.memory.available_kb == pytest.approx(free["available"], abs=500_000)
    assert sample.memory.free_kb == pytest.approx(free["free"], abs=500_000)
    assert sample.swap.total_kb == int(swap[1])
    assert sample.swap.free_kb == pytest.approx(int(swap[3]), abs=20_000)


async def test_sockets_as_ss_counts_them(reference: Reference) -> None:
    machine = LinuxMachine(LocalTransport(), SERVER_KINDS)
    printed = await run(reference.program("ss"), "-s")
    found = (await machine.sample()).tcp
    await machine.close()
    counted = re.search(r"^TCP: .*estab (\d+),.* timewait (\d+)", printed, re.MULTILINE)
    assert counted is not None
    assert found is not None
    assert found.established == pytest.approx(int(counted[1]), abs=3)
    assert found.time_wait == pytest.approx(int(counted[2]), rel=0.1, abs=10)
