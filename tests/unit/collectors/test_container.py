"""The memory of a container is what its control group may use, whatever /proc/meminfo says."""

import pytest

from collectors.linux.cgroup import UNLIMITED_BYTES
from collectors.linux.machine import LinuxMachine
from collectors.linux.namespaces import same_network
from collectors.machine import Missing
from collectors.servers import KINDS
from loadtop.model import HostSample, Memory, Swap
from tests.unit.collectors.texts import TextTransport
from tests.unit.known import known

MB = 1 << 20
MEMINFO = (
    "MemTotal: 8000000 kB\nMemFree: 5000000 kB\nMemAvailable: 6000000 kB\nSwapTotal: 900000 kB\nSwapFree: 900000 kB\n"
)
STAT = f"anon {90 * MB}\nfile {100 * MB + 1}\nactive_file {30 * MB + 1023}\ninactive_file {50 * MB}\nshmem 0\n"
V2 = {
    "/proc/1/cgroup": "0::/\n",
    "/proc/self/mountinfo": "31 30 0:27 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
    "/sys/fs/cgroup/memory.max": f"{256 * MB}\n",
    "/sys/fs/cgroup/memory.current": f"{200 * MB}\n",
    "/sys/fs/cgroup/memory.stat": STAT,
    "/sys/fs/cgroup/memory.swap.max": f"{64 * MB + 1}\n",
    "/sys/fs/cgroup/memory.swap.current": f"{16 * MB + 1}\n",
    "/sys/fs/cgroup/cpu.max": "max 100000\n",
}
V1_AT = "/sys/fs/cgroup/memory/memory."
V1 = {
    "/proc/1/cgroup": "4:memory:/docker/abc\n1:cpu:/docker/abc\n",
    "/proc/self/mountinfo": "31 30 0:27 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
    f"{V1_AT}limit_in_bytes": f"{256 * MB}\n",
    f"{V1_AT}usage_in_bytes": f"{200 * MB}\n",
    f"{V1_AT}memsw.limit_in_bytes": f"{320 * MB}\n",
    f"{V1_AT}stat": f"total_cache {100 * MB}\ntotal_active_file {30 * MB}\ntotal_inactive_file {50 * MB}\n"
    f"total_swap {16 * MB}\ntotal_shmem 0\n",
}
QUOTA = {"/sys/fs/cgroup/cpu.max": "30000 100000\n", "/sys/fs/cgroup/cpu.stat": "nr_periods 9\nnr_throttled 4\n"}


async def first(files: dict[str, str]) -> HostSample:
    return await LinuxMachine(TextTransport({"/proc/meminfo": MEMINFO, **files}), KINDS).sample()


@pytest.mark.parametrize("files", [V1, V2], ids=["v1", "v2"])
async def test_the_limit_is_the_memory_of_the_machine_from_the_first_sample_on(files: dict[str, str]) -> None:
    sample = await first(files)
    assert known(sample.facts).memory_kb == 256 * 1024
    assert sample.memory == Memory(256 * 1024, 56 * 1024, (56 + 80) * 1024, cached_kb=100 * 1024, shared_kb=0)
    assert sample.swap == Swap(64 * 1024, 48 * 1024)


@pytest.mark.parametrize(
    ("change", "memory", "swap"),
    [
        ({"/proc/meminfo": MEMINFO.replace("MemAvailable: 6", "MemAvailable: 0")}, (57344, 0), (65536, 49152)),
        ({"/proc/meminfo": MEMINFO.replace("MemAvailable", "MemOther")}, (57344, 139264), (65536, 49152)),
        ({"/proc/meminfo": MEMINFO.replace("MemFree: 500", "MemFree: ")}, (0, 81920), (65536, 49152)),
        ({"/sys/fs/cgroup/memory.current": f"{300 * MB}\n"}, (0, 81920), (65536, 49152)),
        ({"/sys/fs/cgroup/memory.swap.max": f"{8 * MB}\n"}, (57344, 139264), (8192, 0)),
        ({"/sys/fs/cgroup/memory.swap.max": "max\n"}, (57344, 139264), (900000, 883616)),
        ({"/sys/fs/cgroup/memory.swap.current": ""}, (57344, 139264), (900000, 900000)),
        ({**V1, f"{V1_AT}memsw.limit_in_bytes": f"{UNLIMITED_BYTES}\n"}, (57344, 139264), (900000, 883616)),
        ({**V1, f"{V1_AT}memsw.limit_in_bytes": ""}, (57344, 139264), (900000, 883616)),
        ({**V1, f"{V1_AT}memsw.limit_in_bytes": f"{200 * MB}\n"}, (57344, 139264), (0, 0)),
    ],
)
async def test_what_is_free(change: dict[str, str], memory: tuple[int, int], swap: tuple[int, int]) -> None:
    """Free and available memory; all and free swap space, in kB."""
    sample = await first({**V2, **change})
    assert (known(sample.memory).free_kb, known(sample.memory).available_kb) == memory
    assert sample.swap == Swap(*swap)


@pytest.mark.parametrize(
    "change",
    [
        {"/sys/fs/cgroup/memory.max": "max\n"},
        {"/sys/fs/cgroup/memory.max": f"{8000000 * 1024}\n"},
        {"/sys/fs/cgroup/memory.max": "x" * 9999},
        {"/sys/fs/cgroup/memory.high": "0\n"},
        {"/sys/fs/cgroup/memory.current": ""},
        {"/proc/1/cgroup": "no group\n"},
        {"/proc/self/mountinfo": "31 30 0:27 /other /sys/fs/cgroup ro - cgroup2 cgroup rw\n"},
    ],
)
async def test_without_a_tighter_limit_memory_is_that_of_the_machine(change: dict[str, str]) -> None:
    sample = await first({**V2, **change})
    assert sample.memory == Memory(8000000, 5000000, 6000000)


async def test_a_limit_is_followed_and_a_machine_without_one_is_left_alone() -> None:
    for limited in (True, False):
        limit = V2["/sys/fs/cgroup/memory.max"] if limited else "max\n"
        transport = TextTransport({"/proc/meminfo": MEMINFO, **V2, "/sys/fs/cgroup/memory.max": limit})
        machine = LinuxMachine(transport, KINDS)
        for _ in range(3):
            await machine.sample()
        wanted = {file.path for file in transport.requests[-1].files}
        assert ("/sys/fs/cgroup/memory.current" in wanted) is limited
        transport.files["/sys/fs/cgroup/memory.current"] = f"{250 * MB}\n"
        assert known((await machine.sample()).memory).free_kb == (6 * 1024 if limited else 5000000)


async def test_a_quota_holds_for_a_container_without_a_web_server() -> None:
    machine = LinuxMachine(TextTransport({"/proc/meminfo": MEMINFO, **V2, **QUOTA}), KINDS)
    for _ in range(2):
        await machine.sample()
    found = known((await machine.sample()).cgroup)
    assert (found.cpu_quota_us, found.periods, found.throttled_periods) == (30000, 9, 4)


def test_one_network_of_one_kernel() -> None:
    boot, links = "/proc/sys/kernel/random/boot_id", "/proc/self/ns/"
    one = {boot: "a-b\n", links: "mnt:[1]\nnet:[4026531840]\n"}
    assert same_network(one, dict(one))
    assert not same_network(one, {**one, boot: "c-d\n"})
    assert not same_network(one, {**one, links: "mnt:[1]\nnet:[4026531999]\n"})
    assert not same_network({}, {})
    unknown: dict[str, str | Missing] = {boot: "a-b\n", links: Missing("not permitted")}
    assert not same_network(unknown, unknown)
