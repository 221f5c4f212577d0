"""This machine, read from /proc, agrees with psutil and with its own tools within their rounding."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from collectors.linux.machine import LinuxMachine
from collectors.linux.sockets import has_connections, parse_listeners, parse_table
from collectors.linux.unix_sockets import parse_streams
from collectors.machine import Endpoint, Machine
from collectors.parsing import MOST_DEVICES
from collectors.psutil_machine import PsutilMachine
from collectors.servers import KINDS
from collectors.transport.local import LocalTransport
from collectors.transport.shell.frames import reading_programs
from collectors.transport.sock_diag import listeners, open_sockets
from collectors.transport.unix_diag import streams
from loadtop.model import LOADTOP, OTHER, USER_HZ, HostSample, Process, State
from tests.servers.program import find_program, server_directory


@pytest.fixture
async def machine() -> AsyncIterator[LinuxMachine]:
    local = LinuxMachine(LocalTransport(), KINDS)
    yield local
    await local.close()


@pytest.fixture
async def sample(machine: LinuxMachine) -> HostSample:
    await machine.sample()
    return await machine.sample()


def test_the_clock_is_the_uptime(sample: HostSample) -> None:
    assert sample.at == pytest.approx(time.time() - psutil.boot_time(), abs=5.0)
    assert sample.at == pytest.approx(time.clock_gettime(time.CLOCK_BOOTTIME), abs=5.0)


def test_processor_time(sample: HostSample) -> None:
    assert sample.cpu is not None
    oracle: Any = psutil.cpu_times()
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
    for name in names:
        assert getattr(sample.cpu.total, name) / USER_HZ == pytest.approx(getattr(oracle, name), abs=3.0), name
    assert len(sample.cpu.cores) == psutil.cpu_count() == sample.facts.cores


def test_memory_and_swap(sample: HostSample) -> None:
    assert sample.memory is not None
    assert sample.swap is not None
    oracle: Any = psutil.virtual_memory()
    assert sample.memory.total_kb == oracle.total // 1024
    for ours, theirs in ((sample.memory.free_kb, oracle.free), (sample.memory.available_kb, oracle.available)):
        assert ours == pytest.approx(theirs / 1024, abs=500_000)
    assert sample.memory.buffers_kb == pytest.approx(oracle.buffers / 1024, abs=100_000)
    assert sample.swap.total_kb == psutil.swap_memory().total // 1024


def test_paging(sample: HostSample) -> None:
    assert sample.paging is not None
    assert sample.paging.swap_in_kb == pytest.approx(psutil.swap_memory().sin / 1024, abs=4096)
    assert sample.paging.swap_out_kb == pytest.approx(psutil.swap_memory().sout / 1024, abs=4096)


def test_load_and_switches(sample: HostSample) -> None:
    assert sample.scheduler is not None
    assert sample.scheduler.load1 == pytest.approx(psutil.getloadavg()[0], abs=3.0)
    assert sample.scheduler.context_switches == pytest.approx(psutil.cpu_stats().ctx_switches, rel=0.05)


def test_disks(sample: HostSample) -> None:
    assert sample.disks
    oracle: dict[str, Any] = psutil.disk_io_counters(perdisk=True)
    for disk in sample.disks:
        theirs = oracle[disk.name]
        assert disk.read_kb == pytest.approx(theirs.read_bytes / 1024, rel=0.02, abs=4096)
        assert disk.write_kb == pytest.approx(theirs.write_bytes / 1024, rel=0.02, abs=16384)
        assert disk.busy_ms == pytest.approx(theirs.busy_time, rel=0.02, abs=2000)


def test_networks(sample: HostSample) -> None:
    assert sample.networks
    oracle: dict[str, Any] = psutil.net_io_counters(pernic=True)
    speeds = psutil.net_if_stats()
    assert {line.name for line in sample.networks} == set(oracle)
    for line in sample.networks:
        assert line.rx_bytes == pytest.approx(oracle[line.name].bytes_recv, rel=0.05, abs=1_000_000)
        assert line.link_mbit == (speeds[line.name].speed or None)


def test_listening_sockets_and_their_queues() -> None:
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=5))
        six = opened.enter_context(socket.create_server(("::1", 0), family=socket.AF_INET6, backlog=7))
        for _ in range(3):
            opened.enter_context(socket.create_connection(server.getsockname()))
        lines = listeners().splitlines()
        assert f"LISTEN 3 5 127.0.0.1:{server.getsockname()[1]} 0.0.0.0:*" in lines
        assert f"LISTEN 0 7 [::1]:{six.getsockname()[1]} [::]:*" in lines
        ss = find_program("ss", install="apt-get install iproute2")
        theirs = subprocess.run([ss, "-ltnH"], capture_output=True, text=True, check=True).stdout
        ours = {line.split()[3]: line.split()[1:3] for line in listeners().splitlines()}
        for line in theirs.splitlines():
            _, queue, limit, local, *_ = line.split()
            if local.endswith(f":{server.getsockname()[1]}"):
                assert ours[local] == [queue, limit]


def test_so_many_listening_sockets_are_reported_here_and_there() -> None:
    """Anyone can open 100,000 of them."""
    _, perl = reading_programs()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as opened:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        opened.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(MOST_DEVICES + 10):
            opened.enter_context(socket.create_server(("127.0.0.9", 0)))
        orders = "p - m1\np - m2\nm .\n"
        program = find_program("perl", install="apt-get install perl")
        there = subprocess.run([program, "-e", perl], input=orders, capture_output=True, text=True, check=True).stdout
        _, first, second, _ = there.split("\n#")
        ours = [line for line in listeners().splitlines() if " 0.0.0.0:*" in line]
        assert len(ours) == MOST_DEVICES
        for told in (first, second):
            assert MOST_DEVICES <= told.count("LISTEN") <= 2 * MOST_DEVICES


def inode(end: socket.socket) -> int:
    return os.fstat(end.fileno()).st_ino


def test_unix_sockets_and_whom_they_are_connected_to() -> None:
    with contextlib.ExitStack() as opened:
        path = str(opened.enter_context(server_directory()) / "s")
        server, first, second = (opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(3))
        server.bind(path)
        server.listen(5)
        first.connect(path)
        second.connect(path)
        opened.enter_context(server.accept()[0])
        listening, connected = parse_streams(streams(), 16)
        place = Endpoint(path, 0)
        assert (inode(server), place) in listening
        assert [number for number, each in connected if each == place] == [inode(first)]  # the second waits


@pytest.mark.parametrize(
    ("table", "address", "family"),
    [("/proc/net/tcp", "127.0.0.1", socket.AF_INET), ("/proc/net/tcp6", "::1", socket.AF_INET6)],
)
def test_open_sockets_are_as_in_proc_but_those_in_time_wait(table: str, address: str, family: int) -> None:
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server((address, 0), family=family))
        ours = opened.enter_context(socket.create_connection(server.getsockname()[:2]))
        theirs = server.accept()[0]
        opened.enter_context(theirs)
        ours.send(b"five!")
        with socket.create_connection(server.getsockname()[:2]) as closed_first:
            port_of_closed = closed_first.getsockname()[1]
            accepted = server.accept()[0]
        accepted.close()
        rows = [line.split() for line in Path(table).read_text(encoding="ascii").splitlines()[1:]]
        assert f"{port_of_closed:04X}" in {words[1][-4:] for words in rows if words[3] == "06"}
        ports = {f"{port.getsockname()[1]:04X}" for port in (server, ours)}
        expected = {words[9]: words for words in rows if words[1][-4:] in ports and words[3] != "06"}
        found = {words[9]: words for words in map(str.split, open_sockets(table, 1 << 20).splitlines()[1:])}
        assert len(expected) == 3
        for inode, words in expected.items():
            alike = 4 if words[3] == "0A" else 5  # of a socket that listens, sock_diag has the limit of its queue
            assert found[inode][1:alike] == words[1:alike]
        assert "06" not in {words[3] for words in found.values()}
        assert open_sockets(table, 200) == open_sockets(table, 1 << 20)[:200]


def test_the_tested_ports_come_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anyone can open more sockets than are read."""
    monkeypatch.setattr("collectors.transport.sock_diag.MOST_DEVICES", 0)
    for table, address, family in (
        ("/proc/net/tcp", "127.0.0.1", socket.AF_INET),
        ("/proc/net/tcp6", "::1", socket.AF_INET6),
    ):
        with socket.create_server((address, 0), family=family) as server:
            port = server.getsockname()[1]
            assert listeners() == ""
            assert [found.port for found in parse_listeners(listeners((port,)))] == [port]
            with socket.create_connection((address, port)):
                text = open_sockets(table, 1 << 18, (port,))
                assert [row.port for row in parse_table(text)] == [port]
                few = open_sockets(table, 400, (port,))
                assert has_connections(few, (port,)), few


async def test_queues_in_a_sample_with_and_without_sock_diag(machine: LinuxMachine) -> None:
    with contextlib.ExitStack() as opened:
        server = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=5))
        for _ in range(2):
            opened.enter_context(socket.create_connection(server.getsockname()))
        sample = await machine.sample()
        port = server.getsockname()[1]
        assert sample.tcp is not None
        assert [(found.queue, found.backlog) for found in sample.tcp.listeners if found.port == port] == [(2, 5)]


@pytest.fixture
def busy() -> Iterator[int]:
    """A process that uses a core and is no descendant of this one: the one that started it has ended."""
    loop = "import time\nend = time.monotonic() + 60\nwhile time.monotonic() < end: pass"
    quiet = "stdout=s.DEVNULL, stderr=s.DEVNULL"
    start = f"import subprocess as s, sys; print(s.Popen([sys.executable, '-c', {loop!r}], {quiet}).pid)"
    pid = int(subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=True).stdout)
    yield pid
    os.kill(pid, signal.SIGKILL)


async def test_this_process_and_a_busy_other(machine: LinuxMachine, busy: int) -> None:
    rows: dict[int, Process] = {}
    async with asyncio.timeout(20):
        while busy not in rows or rows[busy].state != "R":
            rows = {row.pid: row for row in (await machine.sample()).processes or ()}
            await asyncio.sleep(0.05)
    assert rows[os.getpid()].group == LOADTOP
    ours, oracle = rows[os.getpid()], psutil.Process()
    assert ours.rss_kb == pytest.approx(oracle.memory_info().rss / 1024, rel=0.2)
    assert ours.threads == pytest.approx(oracle.num_threads(), abs=2)
    assert ours.started_ticks / USER_HZ == pytest.approx(oracle.create_time() - psutil.boot_time(), abs=2.0)
    assert rows[busy].group == OTHER
    assert rows[busy].state == "R"
    assert sum(row.group == OTHER for row in rows.values()) <= 5


@pytest.mark.quiet("measures delays")
async def test_reading_blocks_no_event_loop(machine: LinuxMachine) -> None:
    """The loop continues while this machine is read: a timer of 1 ms comes in time."""
    await machine.sample()
    delays: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            delays.append(time.perf_counter() - began)

    ticking = asyncio.create_task(tick())
    while len(delays) < 20:
        await machine.sample()
    ticking.cancel()
    assert sorted(delays)[len(delays) // 2] < 0.02


async def test_psutil_gives_the_same_values(sample: HostSample) -> None:
    other: Machine = PsutilMachine(KINDS)
    try:
        await other.sample()
        found = await other.sample()
    finally:
        await other.close()
    assert found.cpu is not None
    assert sample.cpu is not None
    assert found.cpu.total.idle == pytest.approx(sample.cpu.total.idle, rel=0.05)
    assert found.at == pytest.approx(sample.at, abs=5.0)
    assert found.memory is not None
    assert sample.memory is not None
    assert found.memory.total_kb == sample.memory.total_kb
    disks = {disk.name for disk in sample.disks or () if not disk.name.startswith(("loop", "zram"))}
    assert disks <= {disk.name for disk in found.disks or ()}
    assert {line.name for line in found.networks or ()} == {line.name for line in sample.networks or ()}
    assert found.processes is not None
    assert os.getpid() in [row.pid for row in found.processes if row.group == LOADTOP]
    reasons = {outcome.collector: outcome for outcome in found.outcomes}
    assert reasons["pressure"].state is State.ABSENT
    assert reasons["tcp"].reason
