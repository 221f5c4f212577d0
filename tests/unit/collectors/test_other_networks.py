"""What limits a server that is in another network namespace."""

from typing import Any

import pytest

from collectors.linux.machine import SLOW_EVERY, LinuxMachine
from collectors.linux.queueing import QDISCS
from collectors.machine import Missing
from collectors.servers import KINDS
from loadtop.model import Network
from tests.unit.collectors.texts import machine_of_texts, stat_text

DEV = """Inter-|   Receive                            |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo: 800 8 0 0 0 0 0 0 800 8 0 0 0 0 0 0
  eth0: {rx} 20 0 0 0 0 0 0 2000 10 0 0 0 0 0 0
  eth1: 7000 70 0 0 0 0 0 0 70 7 0 0 0 0 0 0
"""
TBF = (
    "qdisc tbf 1: dev eth0 root refcnt 2 rate 20Mbit burst 50000b lat 80ms\n"
    " Sent 9 bytes 1 pkt (dropped 3, overlimits 4 requeues 0)\n"
)


@pytest.fixture
def transport() -> Any:
    """A machine on which an nginx serves in a network of its own."""
    found: Any = machine_of_texts("6.18")
    found.processes = {10: stat_text(10, "nginx"), 20: stat_text(20, "haproxy"), 30: stat_text(30, "bash")}
    found.files |= {
        "/proc/self/ns/": "ipc:[7]\nnet:[1]\n", "/proc/10/ns/": "net:[2]\nuts:[7]\n", "/proc/20/ns/": "net:[1]\n",
        "/proc/10/net/dev": DEV.format(rx=1000), "/proc/20/net/dev": DEV.format(rx=5), f"{QDISCS}/10": TBF,
        f"{QDISCS}/20": TBF,
    }  # fmt: skip
    return found


async def elsewhere(transport: Any, samples: int = 4, machine: LinuxMachine | None = None) -> list[Network]:
    machine, found = machine or LinuxMachine(transport, KINDS), list[Network]()
    for _ in range(samples):
        found = [each for each in (await machine.sample()).networks or () if "@" in each.name]
    return found


async def test_its_limited_interfaces_are_told(transport: Any) -> None:
    (line,) = await elsewhere(transport)
    assert (line.name, line.shaped_mbit, line.link_mbit) == ("eth0@nginx", 20.0, None)
    assert (line.rx_bytes, line.tx_bytes, line.queue_drops, line.queue_overlimits) == (1000, 2000, 3, 4)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/proc/10/ns/", "net:[1]\n"),
        ("/proc/10/ns/", "ipc:[7]\n"),
        ("/proc/10/ns/", Missing("permission denied")),
        ("/proc/self/ns/", Missing("permission denied")),
        ("/proc/10/net/dev", Missing("no such file")),
        ("/proc/10/net/dev", "torn"),
        (f"{QDISCS}/10", Missing("permission denied")),
        (f"{QDISCS}/10", "nsenter: cannot open /proc/10/ns/net: Permission denied\n"),
        (f"{QDISCS}/10", TBF.replace("rate 20Mbit", "")),
    ],
)
async def test_nothing_is_told_where_there_is_none(transport: Any, path: str, text: str | Missing) -> None:
    transport.files[path] = text
    assert await elsewhere(transport) == []


async def test_what_is_read_when(transport: Any) -> None:
    """Namespaces now and then, the interfaces with every sample, and what limits them too where there is any."""
    await elsewhere(transport, SLOW_EVERY + 4)
    asked = [{wanted.path for wanted in request.files} for request in transport.requests]
    assert [number for number, paths in enumerate(asked) if "/proc/10/ns/" in paths] == [1, SLOW_EVERY + 2]
    for path in ("/proc/10/net/dev", f"{QDISCS}/10"):
        assert [number for number, paths in enumerate(asked) if path in paths] == list(range(2, SLOW_EVERY + 4))
    assert not any(f"{QDISCS}/20" in paths for paths in asked)


async def test_a_server_that_starts_again(transport: Any) -> None:
    machine = LinuxMachine(transport, KINDS)
    assert [line.name for line in await elsewhere(transport, machine=machine)] == ["eth0@nginx"]
    transport.processes = {}
    assert await elsewhere(transport, machine=machine) == []
    transport.processes = {11: stat_text(11, "nginx")}
    transport.files |= {"/proc/11/ns/": "net:[3]\n", "/proc/11/net/dev": DEV.format(rx=6), f"{QDISCS}/11": TBF}
    assert [line.rx_bytes for line in await elsewhere(transport, machine=machine)] == [6]


async def test_two_servers_of_one_name(transport: Any) -> None:
    transport.processes[11] = stat_text(11, "nginx")
    transport.files |= {"/proc/11/ns/": "net:[3]\n", "/proc/11/net/dev": DEV.format(rx=6), f"{QDISCS}/11": TBF}
    machine = LinuxMachine(transport, KINDS)
    for _ in range(2):
        found = {line.name: line.rx_bytes for line in await elsewhere(transport, machine=machine)}
        assert sorted(found.values()) == [6, 1000]
        assert set(found) in ({"eth0@nginx", "eth0@nginx-11"}, {"eth0@nginx", "eth0@nginx-10"})


async def test_a_network_without_limits_is_looked_at_now_and_then(transport: Any) -> None:
    transport.files[f"{QDISCS}/10"] = ""
    await elsewhere(transport, SLOW_EVERY + 4)
    asked = [{wanted.path for wanted in request.files} for request in transport.requests]
    assert [number for number, paths in enumerate(asked) if "/proc/10/net/dev" in paths] == [2]
    assert [number for number, paths in enumerate(asked) if f"{QDISCS}/10" in paths] == [2, SLOW_EVERY + 2]


async def test_the_rate_of_each_connection_limits_nothing_there(transport: Any) -> None:
    transport.files[f"{QDISCS}/10"] = TBF.replace("tbf 1:", "fq 1:").replace(" rate 20Mbit", " maxrate 20Mbit")
    assert await elsewhere(transport) == []
