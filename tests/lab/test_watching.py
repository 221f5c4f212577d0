"""A machine that swaps, queues and waits for a disk, seen near, over SSH, and by sar and vmstat over the same seconds.

What swaps stands still while the tools and both readings take their first and their last counters, so that all of them
count the very same pages, however late each of them is.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable, Sequence
from statistics import mean

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
from tests.lab.memory import memory_group, swap_file
from tests.lab.slow_disk import slow_disk
from tests.servers.program import find_program
from tests.servers.sshd import SshdFactory

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]

SECONDS, BEFORE_S, SWAPPING_S = 5, 1.2, 2.2
SWAP_MB, HOARD_MB, LIMIT_MB = 128, 48, 24
LOOPS, WRITERS, WRITES_S = 12, 6, 25
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
OTHERS_KB, OTHERS_FAULTS = 400, 60
"""What the rest of the machine may swap and fault in meanwhile, the start of the tools included."""

HOARD = f"""
import time
hoard = bytearray({HOARD_MB} << 20)
for at in range(0, len(hoard), 4096):
    hoard[at] = 1
print("full", flush=True)
while True:
    for at in range(0, len(hoard), 4096):
        hoard[at] ^= 3
        if at % (1 << 19) == 0:
            time.sleep(0.01)
"""
BUSY = ("nice", "-n", "19", "prlimit", "--cpu=20", "sh", "-c", "while :; do :; done")
WRITING = ("dd", "if=/dev/zero", "bs=4096", "count=150", "oflag=direct", "conv=notrunc")


@contextlib.contextmanager
def running(commands: Iterable[Sequence[str]]) -> Generator[list["subprocess.Popen[bytes]"]]:
    """Programs that end with the block."""
    found = [
        subprocess.Popen(each, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for each in commands
    ]
    try:
        yield found
    finally:
        for program in found:
            program.kill()
        for program in found:
            program.communicate()


class Seen(Struct, frozen=True):
    """Both readings of the stretch: its rates, the samples during it, the newest; and what the tools printed."""

    rates: list[HostRates]
    during: list[list[HostSample]]
    newest: list[HostSample]
    sar: str
    vmstat: str
    disk: str

    def average(self, column: str, key: str = "") -> float:
        """A value of sar's averages, of the row that begins with ``key``."""
        head: list[str] = []
        for words in (line.split() for line in self.sar.splitlines()):
            if words[:1] == ["Average:"] and column in words:
                head = words
            elif words[:1] == ["Average:"] and head and (not key or words[1] == key):
                return float(words[head.index(column)])
        raise AssertionError(f"sar printed no {column}:\n{self.sar}")

    def last(self, column: str) -> float:
        """The value of sar's last reading."""
        rows = [line.split() for line in self.sar.splitlines() if not line.startswith("Average:")]
        head = max(number for number, words in enumerate(rows) if column in words)
        return float(rows[head + 1][rows[head].index(column)])

    def column(self, name: str) -> list[float]:
        """A column of vmstat, without its first row, which is since boot."""
        rows = [line.split() for line in self.vmstat.splitlines()]
        place = next(row for row in rows if "swpd" in row).index(name)
        return [float(row[place]) for row in rows if row[0].isdecimal()][1:]


async def run(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, env={**os.environ, "LC_ALL": "C"}
    )
    printed, _ = await process.communicate()
    return printed.decode()


async def watched(machines: Sequence[LinuxMachine], hoarder: int, disk: str) -> Seen:
    """One stretch of time, in whose middle the hoarder continues, while others write to a disk."""

    async def samples() -> list[HostSample]:
        return [await machine.sample() for machine in machines]

    sar, vmstat = find_program("sar", install="apt-get install sysstat"), find_program("vmstat", install="procps")
    await samples()
    before = await samples()
    tools = asyncio.gather(
        run(sar, "-B", "-W", "-S", "-d", "-q", "ALL", "1", str(SECONDS)), run(vmstat, "-n", "-w", "1", str(SECONDS + 1))
    )
    loop = asyncio.get_running_loop()
    loop.call_later(BEFORE_S, os.kill, hoarder, signal.SIGCONT)
    loop.call_later(BEFORE_S + SWAPPING_S, os.kill, hoarder, signal.SIGSTOP)
    during: list[list[HostSample]] = []
    while not tools.done():
        during.append(await samples())
        await asyncio.sleep(0.2)
    printed = await tools
    after = await samples()
    rates = [
        found for old, new in zip(before, after, strict=True) if (found := host_rates(old, new, KINDS)) is not None
    ]
    return Seen(rates, during, after, *printed, disk)


@pytest.fixture
async def seen(sshd: SshdFactory) -> Seen:
    server = await asyncio.to_thread(sshd)
    transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(server.config)))
    await transport.connect()
    machines = [LinuxMachine(LocalTransport(), SERVER_KINDS), LinuxMachine(transport, SERVER_KINDS)]
    with contextlib.ExitStack() as stack:
        stack.enter_context(swap_file(SWAP_MB))
        group = stack.enter_context(memory_group(LIMIT_MB))
        disk = stack.enter_context(slow_disk(WRITES_S, size_mb=16))
        (hoarder,) = stack.enter_context(running([[*group.launcher, sys.executable, "-c", HOARD]]))
        assert hoarder.stdout is not None
        assert hoarder.stdout.readline() == b"full\n"
        hoarder.send_signal(signal.SIGSTOP)
        writers = [[*disk.launcher, *WRITING, f"of={disk.directory}/{number}"] for number in range(WRITERS)]
        stack.enter_context(running([*writers, *[BUSY] * LOOPS]))
        await asyncio.sleep(0.5)
        try:
            return await watched(machines, hoarder.pid, disk.name)
        finally:
            for machine in machines:
                await machine.close()


async def test_swapping_queueing_and_waiting_as_the_tools_tell_them(seen: Seen) -> None:
    assert len(seen.rates) == 2
    swapped_kb = {"in": sum(seen.column("si")), "out": sum(seen.column("so"))}
    assert min(swapped_kb.values()) > 4096, "there was swap traffic"
    assert seen.average("majflt/s") > 50
    for rates, newest in zip(seen.rates, seen.newest, strict=True):
        assert rates.paging is not None
        for ours, way in ((rates.paging.swap_in_kb, "in"), (rates.paging.swap_out_kb, "out")):
            assert ours is not None
            by_sar = seen.average(f"pswp{way}/s") * PAGE_KB * SECONDS
            assert ours * rates.seconds == pytest.approx(swapped_kb[way], abs=OTHERS_KB + SECONDS)
            assert ours * rates.seconds == pytest.approx(by_sar, rel=0.03, abs=OTHERS_KB)
        assert rates.paging.major_faults is not None
        faults = rates.paging.major_faults * rates.seconds
        assert faults == pytest.approx(seen.average("majflt/s") * SECONDS, rel=0.03, abs=OTHERS_FAULTS)
        assert rates.pressure is not None
        assert rates.pressure.memory_some is not None
        stalled_s = rates.pressure.memory_some * rates.seconds / 100
        assert stalled_s == pytest.approx(seen.average("%smem") * SECONDS / 100, abs=0.2)
        (disk,) = [each for each in rates.disks or () if each.name == seen.disk]
        for ours, column in ((disk.await_ms, "await"), (disk.queue, "aqu-sz"), (disk.requests, "tps")):
            assert ours == pytest.approx(seen.average(column, seen.disk), rel=0.2), column
        assert disk.util == pytest.approx(seen.average("%util", seen.disk), abs=10.0)
        assert newest.swap is not None
        assert newest.swap.total_kb - newest.swap.free_kb == pytest.approx(seen.last("kbswpused"), abs=OTHERS_KB)
    assert mean(seen.column("r")) > LOOPS / 2
    assert mean(seen.column("b")) > WRITERS / 2
    for samples in zip(*seen.during, strict=True):
        running_now = mean(sample.scheduler.running or 0 for sample in samples if sample.scheduler is not None)
        blocked_now = mean(sample.scheduler.blocked or 0 for sample in samples if sample.scheduler is not None)
        assert running_now == pytest.approx(mean(seen.column("r")), rel=0.3)
        assert running_now == pytest.approx(seen.average("runq-sz"), rel=0.3)
        assert blocked_now == pytest.approx(mean(seen.column("b")), abs=2.0)
        assert blocked_now == pytest.approx(seen.average("blocked"), abs=2.0)
