"""A whole Linux machine made of recorded texts: what a sample has, and what is read when."""

from typing import Any

import pytest

from collectors.linux import devices, sockets
from collectors.linux.machine import HOSTNAME, KERNEL, SYSTEM, LinuxMachine
from collectors.linux.namespaces import BOOT_ID
from collectors.machine import Endpoint, Missing
from collectors.routing import OWN_ADDRESSES
from collectors.servers import KINDS
from loadtop.model import HostFacts, State
from tests.unit.collectors.texts import machine_of_texts, stat_text
from tests.unit.known import known

VERSION = "6.12.107"
PARTS = (
    "cpu", "scheduler", "memory", "swap", "paging", "pressure", "disks", "networks", "tcp", "processes",
)  # fmt: skip
TRIE = "  +-- 0.0.0.0/0 3 0 5\n     |-- 10.0.0.7\n        /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n"


@pytest.fixture
def transport() -> Any:
    made = machine_of_texts(VERSION)
    made.files |= {
        HOSTNAME: "web1\n",
        KERNEL: "6.1.0-44-amd64\n",
        SYSTEM: 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
        BOOT_ID.path: "6f1c\n",
        OWN_ADDRESSES[0].path: TRIE,
        sockets.LISTENERS: made.files["/proc/ss-ltnH"],
        devices.BLOCKS: made.files["/proc/sys-block"],
        devices.INTERFACES: "eth0 -> ../../devices/pci0000:00/net/eth0\n",
        "/sys/class/net/eth0/speed": "1000\n",
    }
    made.processes = {7: stat_text(7, "apache2", pages=50), 9: stat_text(9, "bash")}
    return made


async def test_every_part_of_a_sample(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    sample = await machine.sample()
    states = {outcome.collector: outcome.state for outcome in sample.outcomes}
    assert states == {**dict.fromkeys(PARTS, State.OK), "cgroup": State.ABSENT}
    assert [name for name in PARTS if getattr(sample, name) is None] == []
    assert sample.host == ""
    assert sample.at == 1002.0
    assert 0 < sample.took_s < 60
    assert {disk.name for disk in known(sample.disks)} == {"vda", "vdb", "zram0"}
    assert known(sample.swap).total_kb == 64508 + 65532 + 49148
    assert [row.pid for row in known(sample.processes) if row.group == "httpd"] == [7]
    assert known(sample.tcp).listeners
    await machine.close()
    assert transport.closed


async def test_facts_are_read_once(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    for _ in range(3):
        sample = await machine.sample()
        assert sample.facts == HostFacts(
            hostname="web1",
            source="text",
            system="Debian GNU/Linux 12 (bookworm)",
            kernel="6.1.0-44-amd64",
            cores=len(known(sample.cpu).cores),
            memory_kb=known(sample.memory).total_kb,
            page_kb=4,
            boot_id="6f1c",
            addresses=("10.0.0.7",),
        )
    asked = [{HOSTNAME, SYSTEM, KERNEL, BOOT_ID.path} & paths(request) for request in transport.requests]
    assert list(map(len, asked)) == [4, 0, 0]


def paths(request: Any) -> set[str]:
    return {file.path for file in request.files}


async def test_a_machine_that_shows_nothing(transport: Any) -> None:
    transport.files.clear()
    transport.processes = Missing("not permitted")
    sample = await LinuxMachine(transport, KINDS).sample()
    assert [name for name in PARTS if getattr(sample, name)] == []
    assert sample.facts == HostFacts("", "text", "Linux", "", 1, page_kb=4)
    found = {outcome.collector: (outcome.state, str(outcome.reason)) for outcome in sample.outcomes}
    assert found["cpu"] == (State.ABSENT, "/proc/stat: no such file")
    assert found["processes"] == (State.ABSENT, "not permitted")


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("PRETTY_NAME = 'Alpine Linux v3.20'\n", "Alpine Linux v3.20"),
        ("NAME=x\nPRETTY_NAME=\n", "Linux"),
        ('PRETTY_NAME=""\nPRETTY_NAME="Second"\n', "Second"),
        ("#PRETTY_NAME=x\nPRETTY_NAME", "Linux"),
        ("PRETTY_NAME=" + "x" * 200, "x" * 100),
    ],
)
async def test_names_of_systems(transport: Any, text: str, system: str) -> None:
    transport.files[SYSTEM] = text
    assert (await LinuxMachine(transport, KINDS).sample()).facts.system == system


@pytest.mark.parametrize(
    ("name", "shown"), [("web1\n", "web1"), ("a" * 255, "a" * 255), ("a\x1b[2Jb\n", "'a\\x1b[2Jb'"), ("", "")]
)
async def test_names_of_machines(transport: Any, name: str, shown: str) -> None:
    transport.files[HOSTNAME] = name
    assert (await LinuxMachine(transport, KINDS).sample()).facts.hostname == shown


async def test_devices_are_read_again_ever_more_rarely_and_when_one_appears(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    for _ in range(100):
        await machine.sample()
    slow = [n for n, request in enumerate(transport.requests) if devices.BLOCKS in paths(request)]
    assert slow == [0, 1, 32, 93]  # after the first sample the interfaces are known
    assert known((await machine.sample()).networks)[-1].link_mbit == 1000
    transport.requests.clear()
    transport.files[devices.DEV] += "  eth1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
    transport.files["/sys/class/net/eth1/speed"] = "100\n"
    await machine.sample()
    speeds = {line.name: line.link_mbit for line in known((await machine.sample()).networks)}
    assert (speeds["eth0"], speeds["eth1"]) == (1000, 100)
    assert [devices.BLOCKS in paths(request) for request in transport.requests] == [False, True]


async def test_the_speed_of_an_interface_that_is_gone_is_forgotten(transport: Any) -> None:
    """Every container that starts brings another name."""
    machine = LinuxMachine(transport, KINDS)
    for _ in range(3):
        await machine.sample()
    table = transport.files[devices.DEV]
    transport.files[devices.DEV] = table.replace("eth0:", "eth9:")
    for _ in range(3):
        await machine.sample()
    transport.files[devices.DEV] = table
    speeds = [known((await machine.sample()).networks)[-1].link_mbit for _ in range(2)]
    assert speeds == [None, 1000]


async def test_what_is_followed_comes_with_every_sample(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    assert machine.followed("/proc/net/unix") == Missing("not requested")
    machine.follow("/proc/net/unix")
    assert machine.followed("/proc/net/unix") == Missing("not read yet")
    transport.files["/proc/net/unix"] = "first\n"
    await machine.sample()
    machine.follow("/proc/net/unix")
    assert machine.followed("/proc/net/unix") == "first\n"
    transport.files["/proc/net/unix"] = "then\n"
    await machine.sample()
    assert machine.followed("/proc/net/unix") == "then\n"


async def test_which_process_listens_where(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    found = {
        (each.address, each.port): each.inode
        for table in sockets.TABLES
        for each in sockets.parse_table(transport.files[table.path])
    }
    transport.files |= {
        sockets.held_by((7, 8, 9)).path: "".join(
            f"{pid} socket:[{inode}]\n" for pid, inode in ((7, found["127.0.0.1", 8080]), (7, found["::", 80]), (9, 5))
        ),
        **{f"@listening{table.path}": transport.files[table.path] for table in sockets.TABLES},
    }
    assert await machine.listening(()) == {}
    assert transport.requests == []
    listening = await machine.listening((7, 8, 9))
    assert {pid: set(places) for pid, places in listening.items()} == {
        7: {Endpoint("127.0.0.1", 8080), Endpoint("::", 80)}
    }


async def test_a_table_of_sockets_that_is_none(transport: Any) -> None:
    transport.files[sockets.LISTENING_TABLES[0].path] = "what\nis this\n"
    assert await LinuxMachine(transport, KINDS).listening((7,)) == {}


async def test_only_one_reading_at_a_time_and_of_the_control_group_of_the_server(transport: Any) -> None:
    transport.files["/proc/7/cgroup"] = "0::/web/apache\n"
    machine = LinuxMachine(transport, KINDS)
    await machine.sample()
    await machine.sample()
    assert "/proc/7/cgroup" in paths(transport.requests[-1])
    assert "/proc/9/cgroup" not in paths(transport.requests[-1])
    assert transport.requests[-1].processes
