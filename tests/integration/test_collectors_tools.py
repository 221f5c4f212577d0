"""One stretch of time, seen near, over SSH, and by sar, vmstat and ss: within the tools' rounding they agree."""

import asyncio
import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from collectors.linux.machine import LinuxMachine
from collectors.servers import KINDS as SERVER_KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import HostSample
from loadtop.rates.compute import host_rates
from loadtop.rates.records import HostRates
from loadtop.servers.registry import KINDS
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

SECONDS = 4
SAR = ("-u", "-P", "ALL", "-q", "ALL", "-B", "-W", "-r", "-S", "-d", "-n", "DEV,TCP,ETCP")
SYSSTAT = "apt-get install sysstat"
PROCPS = "apt-get install procps"


@dataclass(frozen=True, slots=True)
class Seen:
    """The two readings of one stretch of time, and what the tools printed of it."""

    near: HostRates
    far: HostRates
    newest: HostSample
    sar: str
    vmstat: str

    def average(self, column: str, key: str = "") -> float:
        """The value of a column in sar's averages, of the row that begins with ``key``."""
        head: list[str] = []
        for line in self.sar.splitlines():
            words = line.split()
            if words[:1] != ["Average:"]:
                continue
            if column in words:
                head = words
            elif head and (not key or words[1] == key):
                return float(words[head.index(column)])
        raise AssertionError(f"sar printed no {column} {key}:\n{self.sar}")

    def column(self, name: str) -> float:
        """A value of vmstat's last row."""
        rows = [line.split() for line in self.vmstat.splitlines()]
        return float(rows[-1][next(row for row in rows if "swpd" in row).index(name)])


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
async def seen(sshd: SshdFactory, tmp_path: Path) -> Seen:
    """Something happens meanwhile: half a core of this process, and 4 MB/s that go to a disk."""
    server = sshd()
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(server.config)))
    await transport.connect()
    near, far = LinuxMachine(LocalTransport(), SERVER_KINDS), LinuxMachine(transport, SERVER_KINDS)
    sar, vmstat = find_program("sar", install=SYSSTAT), find_program("vmstat", install=PROCPS)
    end = threading.Event()
    worker = threading.Thread(target=_work, args=(end, tmp_path / "written"))
    worker.start()
    try:
        for machine in (near, far):
            await machine.sample()
        tools = asyncio.gather(
            run(sar, *SAR, str(SECONDS), "1"),
            run(vmstat, "-n", "-w", str(SECONDS), "2"),
        )
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
    return Seen(rates[0], rates[1], after[0], *printed)


def _work(end: threading.Event, file: Path) -> None:
    written = 0
    with file.open("wb", buffering=0) as sink:
        while not end.wait(0.01):
            until = time.thread_time() + 0.01
            while time.thread_time() < until:
                pass
            written += sink.write(b"x" * 80_000)
            if written % 4_000_000 == 0:
                os.fsync(sink.fileno())


async def test_one_stretch_of_time(seen: Seen) -> None:
    for rates in (seen.near, seen.far):
        assert rates.seconds == pytest.approx(SECONDS, abs=1.0)
        assert rates.cpu is not None
        assert rates.cpu.idle == pytest.approx(seen.average("%idle", "all"), abs=6.0)
        assert rates.cpu.idle == pytest.approx(seen.column("id"), abs=6.0)
        assert rates.cpu.user + (rates.cpu.nice or 0.0) == pytest.approx(
            seen.average("%user", "all") + seen.average("%nice", "all"), abs=6.0
        )
        assert rates.cpu.steal == pytest.approx(seen.average("%steal", "all"), abs=3.0)
        assert rates.paging is not None
        assert rates.paging.major_faults == pytest.approx(seen.average("majflt/s"), rel=0.3, abs=20)
        assert rates.paging.swap_in_kb == pytest.approx(4 * seen.average("pswpin/s"), rel=0.3, abs=100)
        assert rates.paging.swap_in_kb == pytest.approx(seen.column("si"), rel=0.3, abs=100)
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


async def test_sockets_as_ss_counts_them() -> None:
    machine = LinuxMachine(LocalTransport(), SERVER_KINDS)
    printed = await run(find_program("ss", install="apt-get install iproute2"), "-s")
    found = (await machine.sample()).tcp
    await machine.close()
    counted = re.search(r"^TCP: .*estab (\d+),.* timewait (\d+)", printed, re.MULTILINE)
    assert counted is not None
    assert found is not None
    assert found.established == pytest.approx(int(counted[1]), abs=3)
    assert found.time_wait == pytest.approx(int(counted[2]), rel=0.1, abs=10)
