"""What Debian's kernels 5.10 and 6.12 printed on machines with known disks, swap areas and control groups."""

from pathlib import Path

import pytest

from collectors.linux import devices, memory, processes, sockets
from collectors.linux.machine import LinuxMachine
from collectors.servers import KINDS
from loadtop.model import HostSample
from tests.unit.collectors.texts import machine_of_texts, proc
from tests.unit.known import known

CAPTURED = ("5.10.262", "6.12.107")
captured = pytest.mark.parametrize("version", CAPTURED)
TREES = Path(__file__).parents[2] / "fixtures" / "proc"


@captured
def test_disks_and_which_of_them_carry_swap(version: str) -> None:
    """One disk with a partition of data and one of swap, one that is a swap area as a whole, and swap in zram."""
    for blocks in (None, devices.parse_blocks(proc(version, "sys-block"))):
        found = devices.parse_disks(proc(version, "diskstats"), proc(version, "swaps"), blocks)
        assert {disk.name: disk.swap for disk in found} == {"vda": False, "vdb": True, "zram0": True}


@captured
def test_swap_is_used(version: str) -> None:
    swap = memory.parse_swap(proc(version, "meminfo"))
    assert swap.total_kb == 64508 + 65532 + 49148
    found = memory.parse_paging(proc(version, "vmstat"), 4)
    assert found.swap_out_kb > 0
    assert None not in (found.refaults_anon_pages, found.refaults_file_pages, found.oom_kills)


@captured
def test_pressure(version: str) -> None:
    found = memory.parse_pressure(*(proc(version, f"pressure/{name}") for name in ("cpu", "memory", "io")))
    assert known(found.cpu_some_us) > 5_000_000
    assert (found.memory_some_us or 0) >= (found.memory_full_us or 0) > 0


@captured
def test_memory_of_a_worker(version: str) -> None:
    pss = processes.parse_pss(proc(version, "httpd-smaps_rollup"))
    worker = processes.parse_stat(proc(version, "httpd-stat"))
    assert 0 < known(pss) < 4 * worker.rss_pages


@captured
def test_accept_queues(version: str) -> None:
    """Only one of the machines had the module that tells the limits; ss prints 0 without it, which is none."""
    found = {queue.port: queue.backlog for queue in sockets.parse_listeners(proc(version, "ss-ltnH"))}
    limit = 511 if version == "6.12.107" else None
    assert found == {80: limit, 8080: limit}
    tables = [socket for name in ("net/tcp", "net/tcp6") for socket in sockets.parse_table(proc(version, name))]
    assert sorted((socket.address, socket.port) for socket in tables) == [("127.0.0.1", 8080), ("::", 80)]


def machine_at(version: str, layout: str) -> LinuxMachine:
    transport = machine_of_texts(version)
    top = TREES / version / layout
    transport.files |= {f"/{path.relative_to(top)}": path.read_text() for path in top.rglob("*") if path.is_file()}
    parent, worker = (processes.parse_stat((top / name).read_text()) for name in ("parent-stat", "worker-stat"))
    transport.processes = {parent.pid: (top / "parent-stat").read_text(), worker.pid: (top / "worker-stat").read_text()}
    return LinuxMachine(transport, KINDS)


async def sampled(machine: LinuxMachine) -> HostSample:
    for _ in range(3):
        await machine.sample()
    return await machine.sample()


@captured
async def test_limits_of_version_2(version: str) -> None:
    """Half a core and 96 MB for /web, and a soft limit of 64 MB for Apache's own group in it."""
    found = known((await sampled(machine_at(version, "cgroup-v2"))).cgroup)
    assert (found.path, found.version) == ("/web/apache", 2)
    assert (found.cpu_quota_us, found.cpu_period_us) == (50000, 100000)
    assert found.memory_limit_kb == 64 << 10
    assert found.memory_used_kb is not None
    assert found.memory_failures
    assert 0 < known(found.throttled_periods) <= known(found.periods)
    assert known(found.throttled_us) > 1_000_000
    assert known(known(found.pressure).cpu_some_us) > 1_000_000


@captured
async def test_limits_of_version_1(version: str) -> None:
    """Half a core and 64 MB for /web; Debian's 6.12 has no memory controller of version 1 any more."""
    found = known((await sampled(machine_at(version, "cgroup-v1"))).cgroup)
    assert found.version == 1
    assert found.path == "/web/apache"
    assert (found.cpu_quota_us, found.cpu_period_us) == (50000, 100000)
    assert (found.throttled_us or 0) > 1_000_000
    assert found.memory_limit_kb == (None if version == "6.12.107" else 64 << 10)
    assert (found.memory_failures is None) == (version == "6.12.107")


@captured
async def test_the_whole_machine(version: str) -> None:
    machine = machine_at(version, "cgroup-v2")
    sample = await sampled(machine)
    rows = known(sample.processes)
    assert {row.group for row in rows} == {"httpd"}
    assert machine.servers("httpd")
    assert sample.facts.cores == 2
    assert sample.facts.kernel.startswith(version.rpartition(".")[0])
